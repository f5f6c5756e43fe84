"""Assertions on what an answer took: time and money."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.scorers.limits import Cost, Latency

GROUP = "bounds"


def _latency(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    del cell, value
    return Latency(_bound(assertion))


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
        name="cost",
        group=GROUP,
        about="the answer cost at most threshold US dollars",
        make=_cost,
        takes="none; threshold",
        optional=True,
        needs_threshold="US dollars",
    ),
)
