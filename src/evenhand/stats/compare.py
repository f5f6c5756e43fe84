"""Whether one variant is better than another on the same cases: paired, so that easy and hard cases cancel out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from evenhand.stats.interval import CONFIDENCE, mean_of_clusters, z_of
from evenhand.stats.student import t_tail


@dataclass(frozen=True, slots=True)
class PairedRates:
    """Two pass rates on the same cases.

    Attributes:
        n: Cases that both have a verdict on.
        only_first: Cases that the first alone passed; with repeats, how much more often it did, summed over cases.
        only_second: The same of the second.
        difference: First minus second, from −1 to 1.
        low: Lower end of its interval.
        high: Upper end.
    """

    n: int
    only_first: float
    only_second: float
    difference: float
    low: float
    high: float

    @property
    def detected(self) -> bool:
        """Whether the interval leaves no difference out."""
        return self.low > 0 or self.high < 0


def paired_rates(
    n: int, only_first: float, only_second: float, confidence: float = CONFIDENCE
) -> PairedRates:
    """The difference of two pass rates on the same cases, with Tango's score interval.

    Cases with repeats count once, with their own pass rates: `only_first` is then the sum of the cases' differences in
    favour of the first, and `only_second` that of the others. The interval is a little wide then, never narrow: it
    takes the variance of a difference d for that of one that is always 0 or 1, and d² is never more than |d|.

    Args:
        n: Pairs. With none: a difference of 0, from −1 to 1.
        only_first: Pairs in which only the first passed.
        only_second: Pairs in which only the second passed.
        confidence: Of the interval, two-sided.

    Raises:
        ValueError: More differing pairs than pairs.

    Source: Tango, Statistics in Medicine 17 (1998), 891–908,
        doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B.

    >>> found = paired_rates(50, 12, 2)
    >>> round(found.low, 6), round(found.high, 6)
    (0.061112, 0.344709)
    """
    if only_first < 0 or only_second < 0 or only_first + only_second > n + 1e-9:
        msg = f"{only_first} and {only_second} differing pairs of {n}"
        raise ValueError(msg)
    if n == 0:
        return PairedRates(0, 0, 0, 0.0, -1.0, 1.0)
    z = z_of(confidence)
    difference = (only_first - only_second) / n

    def score(delta: float) -> float:
        b, c = only_first, only_second
        a2 = 2 * n
        b2 = (2 * n - b + c) * delta - b - c
        c2 = -c * delta * (1 - delta)
        q = (math.sqrt(max(0.0, b2 * b2 - 4 * a2 * c2)) - b2) / (2 * a2)
        variance = n * (2 * q + delta * (1 - delta))
        distance = b - c - n * delta
        if variance <= 0:
            return math.copysign(math.inf, distance) if distance else 0.0
        return distance / math.sqrt(variance)

    low = _root(lambda d: score(d) - z, -1.0, difference)
    high = _root(lambda d: score(d) + z, difference, 1.0)
    return PairedRates(n, only_first, only_second, difference, low, high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value that two pass rates on the same cases are equal; 1 where no pair differs.

    Source: McNemar, Psychometrika 12 (1947), doi:10.1007/BF02295996, in its exact binomial form.

    >>> round(mcnemar(10, 2), 7)
    0.0385742
    """
    differing = only_first + only_second
    if not differing:
        return 1.0
    tail = term = 1
    for k in range(min(only_first, only_second)):
        term = term * (differing - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / 2**differing)


def mcnemar_mid(only_first: int, only_second: int) -> float:
    """The same with half the weight on what was seen itself: closer to the nominal error rate, not always below it.

    Source: Lancaster, J. Am. Stat. Assoc. 56 (1961), doi:10.1080/01621459.1961.10482105; recommended by Fagerland,
        Lydersen and Laake, BMC Med. Res. Methodol. 13:91 (2013), doi:10.1186/1471-2288-13-91.

    >>> round(mcnemar_mid(10, 2), 7)
    0.0224609
    """
    differing = only_first + only_second
    if only_first == only_second:
        return 1.0
    seen = math.comb(differing, min(only_first, only_second)) / 2**differing
    return mcnemar(only_first, only_second) - seen


def smallest_shown(n: int, confidence: float = CONFIDENCE) -> float | None:
    """The smallest difference of pass rates, from 0 to 1, that so many cases can show.

    It is the difference at which the interval of `paired_rates` just leaves 0 out when no case goes the other way; None
    where no difference could, however large. (At a difference of 0 Tango's statistic is (b − c)/√(b + c).)

    >>> smallest_shown(8)
    0.5
    """
    differing = math.floor(z_of(confidence) ** 2) + 1
    return differing / n if differing <= n else None


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """Two mean scores on the same cases, in the scores' own unit.

    Attributes:
        n: Cases that both have a score on.
        difference: First minus second; None for no cases.
        low: Lower end of its interval; infinite where one case leaves the spread unknown.
        high: Upper end.
        p: The two-sided p-value that there is no difference; 1 where nothing can be said.
    """

    n: int
    difference: float | None
    low: float
    high: float
    p: float


def paired_means(
    pairs: Sequence[tuple[float, float]], confidence: float = CONFIDENCE
) -> PairedMeans:
    """The difference of two mean scores on the same cases, with the paired t interval and p-value.

    Where all differences are the same the spread is not known, and the interval is that one point; p is then the exact
    one of flipping signs, 2/2ⁿ, or 1 where they are all 0.

    Args:
        pairs: For each case its score by the first and by the second; with repeats, its mean scores.
        confidence: Of the interval, two-sided.

    Source: Student, Biometrika 6 (1908), doi:10.1093/biomet/6.1.1; for evals Miller (2024), arXiv:2411.00640, §4.

    >>> found = paired_means([(5, 3), (4, 4), (5, 2), (3, 2)])
    >>> found.difference, round(found.low, 2), round(found.high, 2), round(found.p, 3)
    (1.5, -0.55, 3.55, 0.103)
    """
    differences = [first - second for first, second in pairs]
    n = len(differences)
    found = mean_of_clusters([[d] for d in differences], confidence)
    if found is None:
        return PairedMeans(0, None, -math.inf, math.inf, 1.0)
    mean, low, high = found
    if n == 1:
        return PairedMeans(1, mean, low, high, 1.0)
    squares = math.fsum((d - fmean(differences)) ** 2 for d in differences)
    if squares == 0:
        return PairedMeans(n, mean, mean, mean, min(1.0, 2 / 2**n) if mean else 1.0)
    error = math.sqrt(squares / (n - 1) / n)
    return PairedMeans(n, mean, low, high, t_tail(mean / error, n - 1))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses 0 between two points; the nearer end where it does not."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
