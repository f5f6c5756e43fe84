"""How large a difference so many cases can be expected to show, and how many cases it takes to show one."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from evenhand.stats.distributions import beta_share
from evenhand.stats.interval import CONFIDENCE, wilson, z_of
from evenhand.stats.paired_rates import mcnemar

POWER = 0.8
_POINTS = 400
"""Numbers of differing cases over which the chance is summed up: all of them up to thousands of cases."""


def cases_needed(
    difference: float, differing: float, confidence: float = CONFIDENCE, power: float = POWER
) -> float:
    """How many cases a paired comparison of pass rates needs, before rounding up.

    Args:
        difference: Between the two pass rates, from −1 to 1, not 0.
        differing: The share of cases on which the two disagree, from the size of the difference to 1.
        confidence: Of the interval, two-sided.
        power: The chance to see a difference of this size.

    Raises:
        ValueError: The difference is 0, or larger than the share that differs.

    Source: Connor, Biometrics 43 (1987), doi:10.2307/2531961.

    >>> round(cases_needed(0.05, 0.2), 2)
    625.55
    """
    if not 0 < abs(difference) <= differing <= 1:
        msg = f"a difference of {difference} with {differing} of the cases differing"
        raise ValueError(msg)
    reach = z_of(confidence) * math.sqrt(differing)
    reach += NormalDist().inv_cdf(power) * math.sqrt(differing - difference**2)
    return (reach / difference) ** 2


def disagreement(first: float, second: float, alike: float) -> float:
    """The share of cases on which two variants disagree.

    Args:
        first: The pass rate of one, from 0 to 1.
        alike: The correlation of their verdicts on a case, from −1 to 1. Two pass rates may allow for less of it: then
            they disagree on no more cases than they have to, or on no fewer.

    >>> round(disagreement(0.9, 0.8, 0.5), 2), round(disagreement(0.9, 1.0, 0.5), 2)
    (0.14, 0.1)
    """
    apart = first * (1 - second) + second * (1 - first)
    together = 2 * alike * math.sqrt(first * (1 - first) * second * (1 - second))
    most = min(first + second, 2 - first - second)
    return min(most, max(abs(first - second), apart - together))


def correlation(first: float, second: float, differing: float) -> float | None:
    """The correlation of the verdicts of two variants that disagree on this share of cases, from −1 to 1.

    None where one of them passes all cases, or none.

    >>> round(correlation(0.9, 0.8, 0.14), 2)
    0.5
    """
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    if spread <= 0:
        return None
    apart = first * (1 - second) + second * (1 - first)
    return min(1.0, max(-1.0, (apart - differing) / (2 * spread)))


def cases_needed_exact(
    difference: float, differing: float, level: float = 1 - CONFIDENCE, power: float = POWER
) -> int:
    """How many cases McNemar's exact test needs to show a difference of pass rates with this power.

    `cases_needed` is off by a few cases: its normal approximation reaches 76 to 79 % where 80 are asked for.

    Args:
        difference: Between the two pass rates, from −1 to 1, not 0.
        differing: The share of cases on which the two disagree, from the size of the difference to 1.
        level: The p-value that it takes, two-sided.
        power: The chance to reach it.

    Raises:
        ValueError: The difference is 0, or larger than the share that differs.

    >>> cases_needed_exact(0.1, 0.14)
    114
    """
    size = abs(difference)
    about = cases_needed(size, differing, 1 - level, power)
    low, high = math.floor(about * 0.8), math.ceil(about * 1.1) + 4
    while chance_to_show(high, size, differing, level) < power:
        low, high = high, math.ceil(high * 1.2)
    while high - low > 1:
        middle = (low + high) // 2
        if chance_to_show(middle, size, differing, level) >= power:
            high = middle
        else:
            low = middle
    return high


def labels_needed(
    half_width: float,
    rate: float,
    rho2: float = 0.0,
    judged: int | None = None,
) -> float | None:
    """How many labels bring a corrected pass rate to within this, before rounding up.

    Args:
        half_width: Half of the interval, from 0 to 1.
        rate: The pass rate that is expected, from 0 to 1.
        rho2: The share of labels that the judge replaces; 0 without a judge.
        judged: How many outputs it judged; None for more than anybody counts.

    Returns:
        None where not even a label for each of them is enough.

    Raises:
        ValueError: A number is out of its range.

    Source: the variance of PPI++ with its best λ, arXiv:2311.01453: σ²/n · (1 − ρ² · (N − n)/N). Near its ends it
        promises too much: labels that all say the same, or with which the judge always agrees, say nothing for sure. So
        no fewer are named than `wilson` and `corrected_rate` take then.

    >>> [round(labels_needed(0.05, 0.7, rho2)) for rho2 in (0, 0.2, 0.62)]
    [323, 258, 123]
    >>> [labels_needed(0.05, rate, rho2) for rate, rho2 in ((1, 0), (0.5, 1))]
    [35.0, 42.0]
    """
    if not 0 < half_width < 1 or not 0 <= rate <= 1 or not 0 <= rho2 <= 1:
        msg = f"±{half_width} at a rate of {rate} with ρ² {rho2}"
        raise ValueError(msg)
    alone = max(
        z_of() ** 2 * rate * (1 - rate) / half_width**2,
        _fewest(half_width, lambda n: wilson(rate * n, n)),
    )
    left = 1 - rho2 * alone / judged if judged else 1.0
    labels = (1 - rho2) * alone / left if left > 0 else math.inf
    if rho2:
        from evenhand.stats.correction import corrected_counts  # noqa: PLC0415 (where labels are counted only)

        def agreeing(n: float) -> tuple[float, float]:
            counts, items = (rate * n, 0.0, 0.0, (1 - rate) * n), _MANY * round(n)
            estimate = corrected_counts(counts, round(rate * items), items)
            return estimate.low, estimate.high

        labels = max(labels, min(alone, _fewest(half_width, agreeing)))
    return labels if judged is None or labels <= judged else None


_MANY = 10_000
"""So many judged outputs for each label add nothing to what isn't known."""


def _fewest(half_width: float, interval: Callable[[float], tuple[float, float]]) -> float:
    """The fewest labels whose interval is no wider."""

    def enough(n: int) -> bool:
        low, high = interval(n)
        return high - low <= 2 * half_width

    most = 1
    while not enough(most):
        most *= 2
    return float(bisect_left(range(most), True, lo=1, key=enough))


def detectable_exact(
    n: int, differing: float, level: float = 1 - CONFIDENCE, power: float = POWER
) -> float | None:
    """The smallest difference of pass rates that McNemar's exact test shows with this power; None where none is.

    Args:
        n: Paired cases.
        differing: The share of cases on which the two disagree, from 0 to 1. A larger difference takes more of them.
        level: The p-value that it takes, two-sided.
        power: The chance to reach it.

    >>> round(detectable_exact(50, 0.2), 2)
    0.18
    """
    fewest = next((m for m in range(1, n + 1) if 2 ** (1 - m) <= level), None)
    if fewest is None:
        return None
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        if chance_to_show(n, middle, max(middle, differing), level) >= power:
            high = middle
        else:
            low = middle
    return high


def chance_to_show(
    n: int, difference: float, differing: float, level: float = 1 - CONFIDENCE
) -> float:
    """How likely McNemar's exact test is to show a difference: over how many cases may differ, how they may divide.

    Args:
        n: Paired cases.
        difference: Of the pass rates, from 0 up to `differing`.
        differing: The share of cases on which the two disagree, from 0 to 1.
        level: The p-value that it takes, two-sided.
    """
    mean, spread = n * differing, math.sqrt(n * differing * (1 - differing))
    numbers = range(max(0, math.floor(mean - 5 * spread)), min(n, math.ceil(mean + 5 * spread)) + 1)
    numbers = numbers[:: max(1, len(numbers) // _POINTS)]
    ahead = (1 + difference / differing) / 2 if differing else 0.5
    total = weight = 0.0
    chances = _ChancesOfEnough(ahead)
    for m in numbers:
        likely = _binomial(n, m, differing)
        weight += likely
        needed = _needed(m, level)
        if needed is not None:
            total += likely * chances.of(m, needed)
    # The numbers that were skipped are made up for by dividing by what the others weigh.
    return total / weight if weight else 0.0


class _ChancesOfEnough:
    """How likely so many or more of the differing cases are ahead, for one number of them after the other.

    From one number to the next, that changes by a term or two. Each by itself takes a continued fraction.
    """

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead
        self._m = self._k = -1
        self._at = self._tail = 0.0  # exactly k of m, and k or more

    def of(self, m: int, k: int) -> float:
        """Of m cases k or more; m and k only rise."""
        p = self._ahead
        if not k or p >= 1:
            return 1.0
        if self._m < 0:
            self._m, self._k = m, k
            self._at, self._tail = _binomial(m, k, p), beta_share(k, m - k + 1, p)
        while self._m < m or self._k < k:
            if self._k < min(k, self._m):
                self._tail -= self._at
                self._at *= (self._m - self._k) / (self._k + 1) * p / (1 - p)
                self._k += 1
            else:
                # Of one case more: it is ahead, and k − 1 of the others are.
                before = self._at * self._k / (self._m - self._k + 1) * (1 - p) / p
                self._tail += before * p
                self._at = self._at * (1 - p) + before * p
                self._m += 1
        return self._tail


def _binomial(n: int, m: int, share: float) -> float:
    if share in (0.0, 1.0):
        return float(m == n * share)
    return math.exp(
        math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
        + m * math.log(share) + (n - m) * math.log1p(-share)
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _needed(m: int, level: float) -> int | None:
    """Of so many differing cases, the fewest on one side that the test takes for a difference; None for no number."""
    if 2 ** (1 - m) > level:
        return None
    # The normal distribution is off by one or two at most, so a step or two from there replace a search.
    needed = min(m, math.ceil((m + z_of(1 - level) * math.sqrt(m)) / 2))
    while mcnemar(m - needed, needed) > level:
        needed += 1
    while 2 * (needed - 1) > m and mcnemar(m - needed + 1, needed - 1) <= level:
        needed -= 1
    return needed
