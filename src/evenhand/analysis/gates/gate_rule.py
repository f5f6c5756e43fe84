"""What a gate decides: whether the second of two became worse by more than is accepted.

It is the rule of non-inferiority with one addition. By that rule alone, a drop that is shown, but not shown to be
larger than the margin, is undecided; a gate that lets *undecided* pass would let it through. So here it is *worse*
unless it is shown to stay within the margin. Where nothing changed, a drop is shown at most once in forty.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from evenhand.stats.extremes import Extremes
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.paired_difference import FEWEST, LEVEL, Differences, Word, verdict
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.power import POWER

ONE_SIDED = 2 * CONFIDENCE - 1
"""The two-sided confidence of an interval of which one end is a one-sided limit of 95 %."""
_FINE = 0.25
"""To that part of a case."""
STEADY = "results that don't vary from run to run"
VARYING = "results that vary from run to run"
"""What a number of cases is for: a margin of a gate takes the fewest of the first, `info power` goes by the second."""
MARGINS = (0.05, 0.1, 0.15, 0.2, 0.3)
_UNLIKELY = 0.1
"""With a p-value of at most that, a drop larger than the margin is no longer taken for chance."""
MOST = 100
"""More than so many times the cases that there are, and "more cases" is no advice."""


def gate_rule(
    differences: Differences,
    p: float,
    *,
    of: int = 1,
    margin: float | None = None,
    level: float = LEVEL,
    raised: float = 1,
) -> Word:
    """What a gate says of differences: *better*, *non-inferior*, *worse* or *undecided*.

    Args:
        differences: Turned so that more is better.
        p: Their p-value, corrected for the number of tests.
        of: How many tests there are.
        margin: How much worse is accepted, in the scores' unit; None for 0.
        level: Of each test.
        raised: How many times the correction raised the p-value.

    Returns:
        *worse* where the upper limit is below −margin, or a drop is shown and the lower limit isn't above −margin.
    """
    accepted = margin or 0.0
    rule = partial(verdict, differences, p, of=of, level=level, raised=raised)
    word = rule(margin=accepted)
    if word == "undecided" and rule() == "worse":
        return "worse"
    return word


def least_margin(cases: int) -> float:
    """The narrowest usual margin of a rate that an unchanged system keeps with so many cases, or else the widest.

    >>> least_margin(60), least_margin(42), least_margin(8)
    (0.05, 0.1, 0.3)
    """
    low = paired_rates(cases, 0, 0, ONE_SIDED).low
    return next((margin for margin in MARGINS if low > -margin), MARGINS[-1])


def fewest_cases(margin: float) -> int:
    """How many cases it takes until an unchanged system is known to keep this margin of a rate.

    >>> fewest_cases(0.05), fewest_cases(0.1)
    (52, 25)
    >>> fewest_cases(0.0001)
    27053
    """

    def keeps(n: int) -> bool:
        return paired_rates(n, 0, 0, ONE_SIDED).low > -margin

    most = next(2**i for i in itertools.count() if keeps(2**i))
    return bisect_left(range(most), True, lo=1, key=keeps)


def more_cases(
    data: Extremes,
    margin: float,
    *,
    lower: bool = False,
    level: Callable[[int], float] = lambda _: LEVEL,
    of: int = 1,
) -> int | None:
    """About how many more cases, or clusters, would decide it four times in five; with very few, the least it takes.

    That is if they come out as these did, and also if nothing changed, as long as these don't speak against it. Where
    all of these differ by the same, or none does, nothing is known of how much others would: then it takes so many if
    they come out alike.

    Args:
        margin: How much worse is accepted.
        lower: Whether less is better.
        level: Of each test, with so many units: a gate that looks several times has a stricter one.
        of: How many tests there are. That others are decided as well, which makes this one easier, is not counted on.

    Returns:
        None where more cases are no advice: errors leave it open, there is none to go by, or the difference is too near
        to the margin.
    """
    if data.open or not data.n:
        return None
    differences = data.least.turned() if lower else data.least
    n = len(differences.units)
    if n < FEWEST:
        return FEWEST - n
    times = _times(differences, margin, level, of)
    return None if times is None or times > MOST else max(1, math.ceil(n * times) - n)


def _times(
    differences: Differences, margin: float, level: Callable[[int], float], of: int
) -> float | None:
    """How many times as many cases it takes: until the lower limit is above −margin, or a drop is shown."""
    n, mean = len(differences.units), differences.mean or 0.0
    ahead, behind = differences.directions
    varies = len(set(differences.units)) > 1
    shows_no_drop = mean > -margin
    may_be_equal = margin > 0 and (shows_no_drop or differences.p() > _UNLIKELY)

    def beyond(reach: float, confidence: float) -> float:
        """How far a limit is from the true difference four times in five, with what the estimate strays from it."""
        return reach * (1 + z_of(2 * POWER - 1) / z_of(confidence)) if varies else reach

    def reaches(times: float, confidence: float, *, equal: bool = False) -> tuple[float, float]:
        """How far below and above the mean the limits are; of an equal one as many cases differ, both ways."""
        if not differences.plain:
            return differences.reaches(math.ceil(n * times), confidence)
        both = (ahead + behind) / 2
        table = (both, both) if equal else (ahead, behind)
        rates = paired_rates(n * times, table[0] * times, table[1] * times, confidence)
        return rates.difference - rates.low, rates.high - rates.difference

    def decided(times: float) -> bool:
        error = level(math.ceil(n * times))
        # What isn't worse takes no correction for the number of tests; a drop does.
        one_sided, two_sided = 1 - 2 * error, 1 - error / of
        if may_be_equal and beyond(reaches(times, one_sided, equal=True)[0], one_sided) >= margin:
            return False
        if shows_no_drop:
            return beyond(reaches(times, one_sided)[0], one_sided) < mean + margin
        if differences.plain and mcnemar(round(ahead * times), round(behind * times)) > error / of:
            return False
        return beyond(reaches(times, two_sided)[1], two_sided) < -mean

    return _fewest(decided, n)


def _fewest(decided: Callable[[float], bool], units: int) -> float | None:
    """How many times as many cases decide it, by bisection; None for more than MOST times."""
    if not decided(MOST):
        return None
    least, most = 1.0, float(MOST)
    while (most - least) * units > _FINE:
        middle = (least + most) / 2
        least, most = (least, middle) if decided(middle) else (middle, most)
    return most
