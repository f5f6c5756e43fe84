"""Evaluators of pydantic-evals: `PydanticEvals(EqualsExpected())`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.evaluators.answers import Answer, ask_evaluator, library_object, need_methods
from evenhand.scorers.opposite import Question

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
