"""Metrics of DeepEval: `DeepEval(FaithfulnessMetric(threshold=0.8), contexts=pages)`."""

from __future__ import annotations

import copy
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
