"""Metrics of Ragas, of both generations: `Ragas(Faithfulness(llm=llm), contexts=pages)`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.evaluators.answers import (
    Answer,
    ask_evaluator,
    library_object,
    need_methods,
    number_of,
    optional_text,
)
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of


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
    """The arguments that a metric takes, out of all that are known.

    Raises:
        ScoreError: One that it cannot do without is not known.
    """
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
