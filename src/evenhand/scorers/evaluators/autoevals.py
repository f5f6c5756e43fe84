"""Scorers of Braintrust's autoevals: `Autoevals(Factuality())`, `Autoevals(Levenshtein())`."""

from __future__ import annotations

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
    need_methods,
    number_of,
    optional_text,
)
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of


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
