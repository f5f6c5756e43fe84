"""Assertions on the spans of a trace: how many, how long, how many failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import as_mapping, is_number
from evenhand.core.score import Score, check
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, MakeScorer
from evenhand.doors.assertions.spans import Span, matches, trace_of, wrong_value
from evenhand.scorers.known_outcomes import Answered

GROUP = "what an agent did"


def _count(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    settings = as_mapping(value)
    pattern = settings.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise assertion.misvalued(
            value, ", without a pattern", hint="Write {pattern: 'llm.*', max: 3}, say."
        )
    least, most = (_number(assertion, settings, key) for key in ("min", "max"))
    count = len(_matching(assertion, cell, pattern))
    passed = (least is None or count >= least) and (most is None or count <= most)
    return Answered(f"{assertion.type} {pattern}", check(passed, f"{count} spans match {pattern}"))


def _duration(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    settings = as_mapping(value)
    most = _number(assertion, settings, "max")
    if most is None:
        raise assertion.misvalued(
            value, ", without a max", hint="Write {pattern: '*', max: 2000}, in milliseconds."
        )
    percentile = _number(assertion, settings, "percentile")
    if percentile is not None and not 0 <= percentile <= 100:
        raise ScoreError(f"'{assertion.written}': percentile is {percentile:g}, not 0 to 100")
    pattern = str(settings.get("pattern") or "*")
    took = sorted(
        span.end - span.start
        for span in _matching(assertion, cell, pattern)
        if span.start is not None and span.end is not None
    )
    return Answered(f"{assertion.type} {pattern} ≤ {most:g} ms", _within(took, most, percentile))


def _within(took: Sequence[float], most: float, percentile: float | None) -> Score:
    """Whether the slowest of these, or a percentile of them (nearest rank), is within a bound."""
    if not took:
        return check(True, "no finished span matches")
    rank = len(took) if percentile is None else math.ceil(percentile / 100 * len(took))
    # The 0th percentile has rank 0, and is the fastest span.
    slowest = took[max(0, rank - 1)]
    what = "the slowest of" if percentile is None else f"the {percentile:g}th percentile of"
    return check(slowest <= most, f"{what} {len(took)} spans took {slowest:g} ms")


def _errors(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    settings = as_mapping(value)
    most, share = (_number(assertion, settings, key) for key in ("max_count", "max_percentage"))
    if is_number(value):
        most = value
    if most is None and share is None:
        most = 0.0
    pattern = str(settings.get("pattern") or "*")
    label = f"{assertion.type} {pattern}"
    spans = _matching(assertion, cell, pattern)
    failed = [span for span in spans if span.failed]
    # Without a span nothing has failed, and there is no share to be worked out.
    passed = not spans or (
        (most is None or len(failed) <= most)
        and (share is None or len(failed) / len(spans) * 100 <= share)
    )
    named = f": {', '.join(span.name for span in failed[:3])}" if failed else ""
    return Answered(label, check(passed, f"{len(failed)} of {len(spans)} spans failed{named}"))


def _matching(assertion: Assertion, cell: Cell, pattern: str) -> Sequence[Span]:
    return [span for span in trace_of(assertion, cell).spans if matches(span.name, pattern)]


def _number(assertion: Assertion, settings: Mapping[str, object], key: str) -> float | None:
    number = settings.get(key)
    if number is None:
        return None
    if is_number(number):
        return number
    raise ScoreError(f"'{assertion.written}': {key} is {number!r}, not a number")


def _kind(name: str, about: str, make: MakeScorer, takes: str, *, optional: bool = False) -> Kind:
    return Kind(
        name,
        about,
        make,
        takes,
        optional=optional,
        of_each_cell=True,
        negation="ignored",
        check=wrong_value(make),
    )


KINDS = (
    _kind(
        "trace-span-count",
        "this many spans of the trace have names that match",
        _count,
        "{pattern, min, max}",
    ),
    _kind(
        "trace-span-duration",
        "the spans that match, or a percentile of them, took at most max milliseconds",
        _duration,
        "{max, pattern, percentile}",
    ),
    _kind(
        "trace-error-spans",
        "at most this many spans that match failed (0)",
        _errors,
        "number, or {max_count, max_percentage, pattern}; optional",
        optional=True,
    ),
)
