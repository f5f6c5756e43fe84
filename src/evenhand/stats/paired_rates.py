"""Two pass rates on the same cases: Tango's interval of their difference, and McNemar's exact test."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.stats.distributions import beta_share
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.roots import crossing

_COUNTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRates:
    """Two pass rates on the same cases.

    Attributes:
        n: Cases that both have a verdict on; need not be whole (effective counts).
        only_first: Cases that the first alone passed.
        difference: First minus second, from −1 to 1.
        low: Lower end of its interval.
    """

    n: float
    only_first: float
    only_second: float
    difference: float
    low: float
    high: float


def paired_rates(
    n: float, only_first: float, only_second: float, confidence: float = CONFIDENCE
) -> PairedRates:
    """The difference of two pass rates on the same cases, with Tango's score interval.

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
    # Effective counts are products of floats, so their sum can be off in the last digit.
    if only_first < 0 or only_second < 0 or only_first + only_second > n + 1e-9:
        msg = f"{only_first} and {only_second} differing pairs of {n}"
        raise ValueError(msg)
    if n == 0:
        return PairedRates(n=0, only_first=0, only_second=0, difference=0.0, low=-1.0, high=1.0)
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

    low = crossing(lambda d: score(d) - z, -1.0, difference)
    high = crossing(lambda d: score(d) + z, difference, 1.0)
    return PairedRates(
        n=n,
        only_first=only_first,
        only_second=only_second,
        difference=difference,
        low=low,
        high=high,
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value that two pass rates on the same cases are equal; 1 where no pair differs.

    Source: McNemar, Psychometrika 12 (1947), doi:10.1007/BF02295996, in its exact binomial form.

    >>> round(mcnemar(10, 2), 7)
    0.0385742
    """
    differing = only_first + only_second
    if not differing:
        return 1.0
    # The whole numbers below grow by a digit every few pairs; the beta function gives the same tail.
    if differing > _COUNTED:
        fewer = min(only_first, only_second)
        tail_share = beta_share(differing - fewer, fewer + 1, 0.5)
        return min(1.0, 2 * tail_share)
    tail = term = 1
    for k in range(min(only_first, only_second)):
        term = term * (differing - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / 2**differing)


def flips_one_way(groups: Iterable[tuple[int, int]]) -> float:
    """The exact p-value that flips either way are equally likely in each of several groups; 1 without any.

    For example, a judge that grew stricter is newly wrong on what people pass, and newly right on what they fail:
    together, these are as many flips to wrong as to right, and each group shows what happened. With one group, it is
    `mcnemar`.

    Args:
        groups: For each, the flips one way and the other.

    Source: the sign test of each group, with the sum of the groups' |one way − the other| for a statistic.

    >>> round(flips_one_way([(9, 0), (0, 2)]), 7), round(mcnemar(9, 2), 7)
    (0.0019531, 0.0654297)
    """
    apart, ways, flips = 0, {0: 1}, 0
    for first, second in groups:
        apart += abs(first - second)
        n = first + second
        flips += n
        after = dict[int, int]()
        for before, number in ways.items():
            for k in range(n + 1):
                there = before + abs(n - 2 * k)
                after[there] = after.get(there, 0) + number * math.comb(n, k)
        ways = after
    return sum(number for there, number in ways.items() if there >= apart) / 2**flips
