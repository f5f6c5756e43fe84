"""How far a rate or a mean can be from what was seen: intervals, with repeats taken for what they are."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from statistics import NormalDist

from evenhand.stats.distributions import beta_quantile, t_quantile

CONFIDENCE = 0.95


def z_of(confidence: float = CONFIDENCE) -> float:
    """The two-sided normal quantile, e.g. 1.96 for 0.95.

    Raises:
        ValueError: The confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}, not between 0 and 1"
        raise ValueError(msg)
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(successes: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of a proportion, on the scale from 0 to 1.

    Args:
        successes: How many of `n`; need not be whole (effective counts).
        n: How many in all. With none nothing is known: (0, 1).
        confidence: Of the interval, two-sided.

    Raises:
        ValueError: More successes than trials, or fewer than none.

    Source: Wilson, J. Am. Stat. Assoc. 22 (1927), doi:10.1080/01621459.1927.10502953.

    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    z = z_of(confidence)
    if not 0 <= successes <= n:
        msg = f"{successes} of {n} is not a proportion"
        raise ValueError(msg)
    if n == 0:
        return 0.0, 1.0
    p = successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At both ends the formula is exact only up to rounding, and 1e-17 would not read as 0.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == n else min(1.0, middle + half)


def clopper_pearson(
    successes: float, n: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The exact interval of a proportion, on the scale from 0 to 1: wider than Wilson's, and never wrong more often.

    For gates, where a promise is made of one end; what is shown to people has Wilson's.

    Args:
        successes: How many of `n`; need not be whole (effective counts, as in Korn and Graubard, Survey Methodology 24
            (1998), 193–201).
        n: How many in all. With none nothing is known: (0, 1).
        confidence: Of the interval, two-sided. The lower end alone has (1 + confidence)/2.

    Raises:
        ValueError: More successes than trials, or fewer than none; no confidence between 0 and 1.

    Source: Clopper and Pearson, Biometrika 26 (1934), doi:10.1093/biomet/26.4.404.

    >>> low, high = clopper_pearson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    # Only for its check of the confidence.
    z_of(confidence)
    if not 0 <= successes <= n:
        msg = f"{successes} of {n} is not a proportion"
        raise ValueError(msg)
    tail = (1 - confidence) / 2
    low = beta_quantile(successes, n - successes + 1, tail) if successes else 0.0
    high = beta_quantile(successes + 1, n - successes, 1 - tail) if successes < n else 1.0
    return low, high


def mean_of_sums(
    clusters: Iterable[tuple[float, int]], confidence: float = CONFIDENCE
) -> tuple[float, float, float] | None:
    """The mean of clustered scores, and its interval, from each cluster's sum of scores and how many they are."""
    # A large run has a million clusters; as a list of pairs they would take many times the memory.
    totals, sizes = array("d"), array("I")
    for total, size in clusters:
        if size:
            totals.append(total)
            sizes.append(size)
    if not totals:
        return None
    groups, n = len(totals), sum(sizes)
    mean = math.fsum(totals) / n
    if groups == 1:
        return mean, -math.inf, math.inf
    apart = array("d", (total - size * mean for total, size in zip(totals, sizes, strict=True)))
    try:
        length = math.sqrt(math.fsum(each**2 for each in apart))
    except OverflowError:  # the square of a score above 1e154, which is no reason to have no report
        length = math.hypot(*apart)
    half = t_quantile(confidence, groups - 1) * length * math.sqrt(groups / (groups - 1)) / n
    return mean, mean - half, mean + half
