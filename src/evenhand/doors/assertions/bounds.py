"""Assertions on what an answer took: time and money."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import label_of
from evenhand.doors.assertions.assertion import Assertion, Kind
from evenhand.scorers.limits import Cost, FirstToken, Latency

GROUP = "bounds"


class AtMost(Record, frozen=True):
    """A number that is measured, held to a bound: 1 where it keeps it, else 0, as the other bounds have it."""

    scorer: Any
    most: float | None = None
    least: float | None = None

    def score(self, output: Any, trial: Trial) -> Score:
        score: Score = self.scorer.score(output, trial)
        value = score.value
        if value is None:
            return score
        passed = (self.most is None or value <= self.most) and (
            self.least is None or value >= self.least
        )
        reason = f"{value:,.6g}: {score.reason}"
        metadata = {"measured": value, **score.metadata}
        return replace(score, value=float(passed), passed=passed, reason=reason, metadata=metadata)

    def __str__(self) -> str:
        bounds = [f"≥ {self.least:g}"] if self.least is not None else []
        bounds += [f"≤ {self.most:g}"] if self.most is not None else []
        return f"{label_of(self.scorer)} {', '.join(bounds)}"


def _bound(assertion: Assertion) -> float:
    if assertion.threshold is None:
        raise ScoreError(f"'{assertion.written}' has no threshold")
    return assertion.threshold


KINDS = (
    Kind(
        "latency",
        "the model answered within threshold milliseconds",
        lambda a, _cell, _value: Latency(_bound(a)),
        "none; threshold",
        optional=True,
        needs_threshold="milliseconds",
    ),
    Kind(
        "first-token",
        "the answer began within threshold seconds",
        lambda a, _cell, _value: AtMost(FirstToken(), _bound(a)),
        "none; threshold",
        optional=True,
        needs_threshold="seconds",
    ),
    Kind(
        "cost",
        "the answer cost at most threshold US dollars",
        lambda a, _cell, _value: Cost(_bound(a)),
        "none; threshold",
        optional=True,
        needs_threshold="US dollars",
    ),
)
