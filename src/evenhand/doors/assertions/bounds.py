"""Assertions on what an answer took: time and money."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import label_of
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
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


def _latency(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell, value
    return Latency(_bound(assertion))


def _first_token(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell, value
    return AtMost(FirstToken(), _bound(assertion))


def _cost(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell, value
    return Cost(_bound(assertion))


def _bound(assertion: Assertion) -> float:
    if assertion.threshold is None:
        raise ScoreError(f"'{assertion.written}' has no threshold")
    return assertion.threshold


KINDS = (
    Kind(
        name="latency",
        group=GROUP,
        about="the model answered within threshold milliseconds",
        make=_latency,
        takes="none; threshold",
        optional=True,
        needs_threshold="milliseconds",
    ),
    Kind(
        name="first-token",
        group=GROUP,
        about="the answer began within threshold seconds",
        make=_first_token,
        takes="none; threshold",
        optional=True,
        needs_threshold="seconds",
    ),
    Kind(
        name="cost",
        group=GROUP,
        about="the answer cost at most threshold US dollars",
        make=_cost,
        takes="none; threshold",
        optional=True,
        needs_threshold="US dollars",
    ),
)
