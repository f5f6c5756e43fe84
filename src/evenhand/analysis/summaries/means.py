"""Means over the cases of a column: on which scale they are, and how far they can be from what was seen."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from evenhand.core.record import Record
from evenhand.core.score import SHARES, Scale
from evenhand.core.wording.words import rounded
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.interval import mean_of_sums
from evenhand.stats.paired_difference import FEWEST

OfCase = tuple[float, float, float]
"""The sum over a case's trials, how many have a value, and how many are in error; of a cluster, parts of trials."""


def hundredths(value: float) -> str:
    """A score for a table, rounded as rates are: `0.89` where they say `89 %`."""
    return rounded(value, 2)


class Mean(Record, frozen=True):
    """A mean over cases, each of which counts once, in its own unit.

    Attributes:
        value: Over the trials that have one.
        low: The lower end of its 95 % interval, had all errors been as low as can be; None where it is not known.
        high: The upper end, had they been as high as can be.
        cases: How many cases, or clusters of them, have a value.
        on_scale: Whether the interval is that of a known scale, and so lies on it; otherwise it is Student's.
    """

    value: float
    low: float | None
    high: float | None
    cases: int
    on_scale: bool = False

    def cell(self, text: Callable[[float], str], unknown: str) -> str:
        """The mean for a table: `4.67 [3.81–4.95]` on a known scale, otherwise `104 ±8`.

        Args:
            text: Writes a number.
            unknown: Stands in the place of an interval that nobody knows.
        """
        if self.low is None or self.high is None:
            return text(self.value) + unknown
        if self.on_scale:
            return f"{text(self.value)} [{text(self.low)}–{text(self.high)}]"
        return f"{text(self.value)} ±{text(self.high - self.value)}"


def mean_cell(
    mean: Mean | None, text: Callable[[float], str] = hundredths, unknown: str = " ±?"
) -> str:
    """A mean for a table; a dash for none. Arguments as `Mean.cell` has them."""
    return "–" if mean is None else mean.cell(text, unknown)


def known_scale(declared: Scale | None, least: float, most: float) -> Scale | None:
    """The lowest and the highest value a metric can have; None where nobody knows.

    That is what its scorers say. Values that all lie between 0 and 1 are taken to be on that scale, and values some of
    which lie there and the others on the scale that scorers say to be on a scale that holds both.

    Args:
        declared: What the scorers say, if any does.
        least: The lowest value there is.
        most: The highest.
    """
    # Some scorers of a metric may say their scale while others, from 0 to 1, say nothing.
    either = declared and (min(declared[0], SHARES[0]), max(declared[1], SHARES[1]))
    for scale in (declared, SHARES, either):
        if scale and scale[0] <= least and most <= scale[1]:
            return scale
    return None


def mean_of(cases: Iterable[OfCase], scale: Scale | None = None) -> Mean | None:
    """A mean over cases with its interval, 95 %; None where no trial has a value.

    On a known scale a trial in error may have had any value on it. Otherwise it may have had any that a case has, and
    of fewer than FEWEST cases, or of such as are all alike, nobody knows how far off the mean may be.

    Args:
        cases: For each case, or cluster of cases, the sum over its trials, how many have a value, and how many are in
            error.
        scale: The lowest and the highest value there can be; None where nobody knows.
    """
    sums = _Sums(cases)
    means = sums.means()
    if not means:
        return None
    value, n = math.fsum(means) / len(means), len(means)
    ends = scale or (min(means), max(means))
    # A million floats, of which nothing is needed from here on.
    del means
    # Student's interval of values that are all alike has no width: it would claim to be sure.
    if scale is None and (n < FEWEST or ends[0] == ends[1]):
        return Mean(value, None, None, n)
    interval = mean_of_sums if scale is None else partial(mean_on_scale, scale=scale)
    least = interval(sums.units(ends[0]))
    # Without errors both are the same, and the second costs as much as the first.
    most = interval(sums.units(ends[1])) if any(sums.errors) else least
    return Mean(value, least and least[1], most and most[2], n, scale is not None)


class _Sums:
    """The sums of cases that have a value, or may have one. Arrays: a large run has a million of them."""

    def __init__(self, cases: Iterable[OfCase]) -> None:
        self.totals, self.values, self.errors = array("d"), array("d"), array("d")
        for total, values, errors in cases:
            if values or errors:
                self.totals.append(total)
                self.values.append(values)
                self.errors.append(errors)

    def means(self) -> array[float]:
        """The mean of each case that has a value."""
        sums = zip(self.totals, self.values, strict=True)
        return array("d", (total / values for total, values in sums if values))

    def units(self, end: float) -> Iterator[tuple[float, int]]:
        """Each case's mean, its errors having this value, and its weight."""
        for total, values, errors in zip(self.totals, self.values, self.errors, strict=True):
            yield (total + errors * end) / (values + errors), 1
