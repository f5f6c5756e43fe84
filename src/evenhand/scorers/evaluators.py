"""Other libraries' evaluators as scorers: an object of theirs goes in, a score of ours comes out.

Each library is imported when its evaluator is asked. What an evaluator asks of a model through a recording client
(`evenhand.recording`) is recorded as a judge's: journaled, budgeted and replayed like all else.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of


class Answer(Record, frozen=True):
    """An output with its case.

    Attributes:
        question: What was asked: the case's input, or its variables where it has none.
        expected: The right answer; None where the case has none.
        contexts: The passages that were retrieved, or else the case's own.
    """

    output: Any
    question: Any
    expected: Any
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, output: Any, trial: Trial, contexts: Sequence[str] | None) -> Answer:
        """The answer of a trial.

        Args:
            contexts: The passages that were retrieved; None for those of the case.
        """
        case = trial.case
        question = case.input if case.input is not None else dict(case.vars) or None
        passages = case.context if contexts is None else tuple(contexts)
        return cls(output, question, case.expected, passages)


def optional_text(value: Any) -> str | None:
    """A text as it is, JSON of anything else, and None for None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


async def ask_evaluator(
    trial: Trial, function: Callable[..., Any], name: str, /, **arguments: Any
) -> Any:
    """What a method of an evaluator returns: awaited where it is async, off the event loop where it is not."""

    def call() -> Any:
        return function(**arguments)

    async def call_async() -> Any:
        return await function(**arguments)

    # A decorator can hide that a function is async: taken for a plain one, it would be called in a thread.
    plain = not inspect.iscoroutinefunction(inspect.unwrap(function))
    result = await trial.call(call if plain else call_async, name=name)
    return await result if inspect.isawaitable(result) else result


def library_object(module: str, kind: str, /, **fields: Any) -> Any:
    """What a library's evaluators take: an object of its class, or one with the same fields where it is not installed.

    An evaluator that somebody writes after a library's protocol needs no library.
    """
    try:
        of: Any = getattr(importlib.import_module(module), kind)
    except ImportError:
        of = SimpleNamespace
    return of(**fields)


def number_of(value: Any, name: str) -> float:
    """A number that an evaluator gave.

    Raises:
        ScoreError: It is none, or NaN, which is how some say that they failed.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ScoreError(f"{name} gave {value!r:.80}, not a number") from None
    if number != number:  # noqa: PLR0124 (NaN is not itself)
        raise ScoreError(f"{name} gave NaN: it has no score for this output")
    return number


def need_methods(kind: str, what: object, methods: Sequence[str], example: str) -> None:
    """Refuses what is no evaluator of a library.

    Raises:
        UsageError: It has none of these methods, or is a class and no object.
    """
    if isinstance(what, type):
        raise UsageError(
            f"{kind}: {what.__name__} is a class", hint=f"Write {kind}({what.__name__}(…))."
        )
    if not any(callable(getattr(what, method, None)) for method in methods):
        raise UsageError(
            f"{kind}: {what!r:.80} has no {' or '.join(methods)}", hint=f"Write {example}."
        )


_NO_SPANS = "Evenhand records steps, not spans: use CallsTool and the like"


@dataclass(frozen=True, slots=True)
class PydanticEvals(Question):
    """An evaluator of pydantic-evals looks at the output.

    Its truth values are the verdict: all must be true. Its only number is the score; further ones, and numbers beside
    a verdict, are kept by name. Labels are in the metadata. What it returns nothing of is not applicable.

    Args:
        evaluator: Any object with `evaluate(ctx)`, plain or async.
        duration: The seconds that the answer took, for evaluators that look at it.

    Raises:
        UsageError: It is no such object.
    """

    traits: ClassVar[Traits] = Traits(counted=False)
    evaluator: Any
    duration: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        example = "PydanticEvals(EqualsExpected())"
        need_methods("PydanticEvals", self.evaluator, ("evaluate",), example)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer = Answer.of(output, trial, None)
        context = library_object(
            "pydantic_evals.evaluators",
            "EvaluatorContext",
            name=trial.case.id,
            inputs=answer.question,
            metadata=dict(trial.case.metadata) or None,
            expected_output=answer.expected,
            output=output,
            duration=self.duration,
            # An evaluator that asks for spans gets this error: an empty tree would say that no such span was made.
            _span_tree=library_object(
                "pydantic_evals.otel", "SpanTreeRecordingError", message=_NO_SPANS
            ),
            attributes={},
            metrics={},
        )
        result = await ask_evaluator(trial, self.evaluator.evaluate, str(self), ctx=context)
        return _score_of(result, str(self))

    def __str__(self) -> str:
        name = getattr(self.evaluator, "get_default_evaluation_name", None)
        return str(name()) if callable(name) else type(self.evaluator).__name__


def _score_of(result: Any, name: str) -> Score:
    parts: Mapping[str, Any] = result if isinstance(result, Mapping) else {name: result}
    verdicts: dict[str, bool] = {}
    numbers: dict[str, float] = {}
    labels: dict[str, str] = {}
    reasons: list[str] = []
    for key, part in parts.items():
        value, reason = getattr(part, "value", part), getattr(part, "reason", None)
        # Asked before numbers, because True is an int in Python.
        if isinstance(value, bool):
            verdicts[key] = value
        elif isinstance(value, (int, float)):
            numbers[key] = float(value)
        elif isinstance(value, str):
            labels[key] = value
        else:
            raise ScoreError(f"{name} gave {value!r:.80}, which is not a score, verdict or label")
        if reason:
            reasons.append(str(reason) if len(parts) == 1 else f"{key}: {reason}")
    passed = all(verdicts.values()) if verdicts else None
    only = next(iter(numbers.values())) if len(numbers) == 1 and not verdicts else None
    value = float(passed) if passed is not None else only
    notes = [f"{key}: {label}" for key, label in labels.items()] if value is None else []
    failed = [key for key, ok in verdicts.items() if not ok] if len(verdicts) > 1 else []
    return Score(
        value,
        passed,
        "; ".join([*reasons, *notes, *failed]),
        {
            **({"labels": labels} if labels else {}),
            **({"verdicts": verdicts} if len(verdicts) > 1 else {}),
        },
        {
            key: number
            for key, number in numbers.items()
            if value is None or number != only or passed is not None
        },
    )


@dataclass(frozen=True, slots=True)
class DeepEval(Question):
    """A metric of DeepEval measures the output, and decides with its own threshold.

    The test case that it is given is made of the case: `input`, `actual_output`, `expected_output` and `context`. Each
    measurement has a copy of the metric, as metrics keep what they measured last.

    Args:
        metric: Any object with `measure(test_case)` or `a_measure(test_case)`.
        contexts: The passages that were retrieved, for `retrieval_context`; the case's by default.
        more: Further fields of the test case: `{"tools_called": […]}`.

    Raises:
        UsageError: It is no such object.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict", counted=False)
    metric: Any
    contexts: Sequence[str] | None = field(default=None, kw_only=True)
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True, hash=False)

    def __post_init__(self) -> None:
        example = "DeepEval(AnswerRelevancyMetric(threshold=0.7))"
        need_methods("DeepEval", self.metric, ("a_measure", "measure"), example)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer = Answer.of(output, trial, self.contexts)
        case = library_object(
            "deepeval.test_case",
            "LLMTestCase",
            input=optional_text(answer.question) or "",
            actual_output=text_of(output),
            expected_output=optional_text(answer.expected),
            context=list(trial.case.context) or None,
            retrieval_context=list(answer.contexts) or None,
            **self.more,
        )
        metric = copy.copy(self.metric)
        # Metrics have both methods; async_mode=False is DeepEval's own way to ask for the plain one.
        use_async = callable(getattr(metric, "a_measure", None)) and getattr(
            metric, "async_mode", True
        )
        measure = metric.a_measure if use_async else metric.measure
        await ask_evaluator(trial, measure, str(self), test_case=case)
        if getattr(metric, "error", None):
            raise ScoreError(f"{self}: {metric.error}")
        if getattr(metric, "skipped", False):
            return Score(None, None, "DeepEval skipped it")
        value = number_of(metric.score, str(self))
        known = {
            "threshold": getattr(metric, "threshold", None),
            "evaluation_model": getattr(metric, "evaluation_model", None),
            "evaluation_cost": getattr(metric, "evaluation_cost", None),
        }
        return Score(
            value,
            bool(metric.is_successful()),
            str(getattr(metric, "reason", None) or ""),
            {key: one for key, one in known.items() if one is not None},
        )

    def __str__(self) -> str:
        name = getattr(self.metric, "__name__", None)
        return name if isinstance(name, str) and name else type(self.metric).__name__


@dataclass(frozen=True, slots=True)
class Ragas(Question):
    """A metric of Ragas measures the output.

    It is given `user_input`, `response`, `reference`, `retrieved_contexts` and `reference_contexts`, as far as it takes
    them. A text that it returns, as discrete metrics do, is a label: it is kept, and is not applicable as a number.

    Args:
        metric: Any object with `single_turn_ascore(sample)`, or with `ascore(…)` of named arguments.
        contexts: The passages that were retrieved; the case's by default.
        more: Further arguments: `{"llm": llm}`.

    Raises:
        UsageError: It is no such object.
    """

    traits: ClassVar[Traits] = Traits(counted=False)
    metric: Any
    contexts: Sequence[str] | None = field(default=None, kw_only=True)
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True, hash=False)

    def __post_init__(self) -> None:
        need_methods(
            "Ragas", self.metric, ("single_turn_ascore", "ascore"), "Ragas(Faithfulness(llm=llm))"
        )

    async def score(self, output: Any, trial: Trial) -> Score:
        answer = Answer.of(output, trial, self.contexts)
        fields = {
            "user_input": optional_text(answer.question),
            "response": text_of(output),
            "reference": optional_text(answer.expected),
            "retrieved_contexts": list(answer.contexts) or None,
            "reference_contexts": list(trial.case.context) or None,
            **self.more,
        }
        known = {key: value for key, value in fields.items() if value is not None}
        if callable(getattr(self.metric, "single_turn_ascore", None)):
            sample = library_object("ragas.dataset_schema", "SingleTurnSample", **known)
            result = await ask_evaluator(
                trial, self.metric.single_turn_ascore, str(self), sample=sample
            )
        else:
            taken = _taken(self.metric.ascore, known)
            result = await ask_evaluator(trial, self.metric.ascore, str(self), **taken)
        value, reason = getattr(result, "value", result), getattr(result, "reason", None)
        if isinstance(value, str):
            return Score(None, None, f"{value}: {reason}" if reason else value, {"label": value})
        if isinstance(value, bool):
            return Score(float(value), value, str(reason or ""))
        return Score(number_of(value, str(self)), None, str(reason or ""))

    def __str__(self) -> str:
        name = getattr(self.metric, "name", None)
        return name if isinstance(name, str) and name else type(self.metric).__name__


def _taken(function: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a metric takes, out of all that are known; raises ScoreError."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(known)
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.name not in known and one.kind is not one.VAR_POSITIONAL
    ]
    if needed:
        raise ScoreError(
            f"the metric needs {', '.join(needed)}, which the case does not have",
            hint="Pass contexts=…, or more={…}.",
        )
    names = {one.name for one in parameters}
    return {key: value for key, value in known.items() if key in names}


@dataclass(frozen=True, slots=True)
class Autoevals(Question):
    """A scorer of autoevals measures the output, from 0 to 1.

    It is given `output`, `expected` and `input`, and `context` where there are passages.

    Args:
        scorer: Any object with `eval_async(output, expected, …)` or `eval(…)`.
        contexts: The passages that were retrieved; the case's by default.
        more: Further arguments: `{"criteria": "…"}`.

    Raises:
        UsageError: It is no such object.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=(0.0, 1.0))
    scorer: Any
    contexts: Sequence[str] | None = field(default=None, kw_only=True)
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True, hash=False)

    def __post_init__(self) -> None:
        need_methods("Autoevals", self.scorer, ("eval_async", "eval"), "Autoevals(Factuality())")

    async def score(self, output: Any, trial: Trial) -> Score:
        answer = Answer.of(output, trial, self.contexts)
        arguments: dict[str, Any] = {
            "output": text_of(output),
            "expected": optional_text(answer.expected),
            "input": optional_text(answer.question),
            **({"context": list(answer.contexts)} if answer.contexts else {}),
            **self.more,
        }
        method = getattr(self.scorer, "eval_async", None) or self.scorer.eval
        result = await ask_evaluator(trial, method, str(self), **arguments)
        error = getattr(result, "error", None)
        if error is not None:
            raise ScoreError(f"{self}: {error}")
        metadata = dict(getattr(result, "metadata", None) or {})
        reason = str(metadata.get("rationale") or "")
        if result.score is None:
            return Score(None, None, reason or "autoevals skipped it", metadata)
        return Score(number_of(result.score, str(self)), None, reason, metadata)

    def __str__(self) -> str:
        name = getattr(self.scorer, "_name", None)
        return str(name()) if callable(name) else type(self.scorer).__name__
