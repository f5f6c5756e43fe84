"""Means over the cases of a column: on which scale they are, and how far they can be from what was seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evenhand.core.score import SHARES, Scale
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.interval import mean_of_sums
from evenhand.stats.paired import FEWEST
from evenhand.store.sums import CaseSum


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over cases, each of which counts once, in its own unit.

    Attributes:
        value: Over the trials that have one.
        low: The lower end of its 95 % interval, had all errors been as low as can be; None where it is not known.
        high: The upper end, had they been as high as can be.
        cases: How many cases have a value.
        on_scale: Whether the interval is that of a known scale, and so lies on it; otherwise it is Student's.
    """

    value: float
    low: float | None
    high: float | None
    cases: int
    on_scale: bool = False

    def cell(self, text: Callable[[float], str] = "{:.2f}".format) -> str:
        """The mean for a table: `4.67 [3.81–4.95]` on a known scale, otherwise `104 ±8`, or `±?` where nobody knows."""
        if self.low is None or self.high is None:
            return f"{text(self.value)} ±?"
        if self.on_scale:
            return f"{text(self.value)} [{text(self.low)}–{text(self.high)}]"
        return f"{text(self.value)} ±{text(self.high - self.value)}"


def mean_cell(found: Mean | None, text: Callable[[float], str] = "{:.2f}".format) -> str:
    """A mean for a table; a dash for none."""
    return "–" if found is None else found.cell(text)


def known_scale(declared: Scale | None, least: float, most: float) -> Scale | None:
    """The lowest and the highest value a metric can have; None where nobody knows.

    That is what its scorers say. Values that all lie between 0 and 1 are taken to be on that scale, and values some of
    which lie there and the others on the scale that scorers say to be on a scale that holds both.

    Args:
        declared: What the scorers say, if any does.
        least: The lowest value there is.
        most: The highest.
    """
    either = declared and (min(declared[0], SHARES[0]), max(declared[1], SHARES[1]))
    for scale in (declared, SHARES, either):
        if scale and scale[0] <= least and most <= scale[1]:
            return scale
    return None


def mean_of(cases: Sequence[CaseSum], scale: Scale | None = None) -> Mean | None:
    """A mean over cases with its interval, 95 %; None where no trial has a value.

    On a known scale a trial in error may have had any value on it. Otherwise it may have had any that a case has.

    Args:
        cases: For each case the sum over its trials, how many have a value, and how many are in error.
        scale: The lowest and the highest value there can be; None where nobody knows.
    """
    means = [total / n for total, n, _ in cases if n]
    if not means:
        return None
    value = math.fsum(means) / len(means)
    if scale is None:
        return _students(cases, value, means)
    ends = [
        [((total + errors * end) / (n + errors), 1.0) for total, n, errors in cases if n + errors]
        for end in scale
    ]
    least, most = (mean_on_scale(units, scale) for units in ends)
    return Mean(value, least and least[1], most and most[2], len(means), on_scale=True)


def _students(cases: Sequence[CaseSum], value: float, means: Sequence[float]) -> Mean:
    """Student's interval: of fewer than FEWEST cases, or of such as are all alike, it says nothing."""
    range_ = min(means), max(means)
    if len(means) < FEWEST or range_[0] == range_[1]:
        return Mean(value, None, None, len(means))
    low, high = (
        mean_of_sums(
            [((total + errors * end) / (n + errors), 1) for total, n, errors in cases if n + errors]
        )
        for end in range_
    )
    return Mean(value, low and low[1], high and high[2], len(means))
