"""Differences of judged rates and means, as people would have found them, from labels of a random draw.

How this works: two corrected rates of the same cases are off together where cases are hard for people and judge alike,
so their difference is less uncertain than each rate. A rate is off in two ways: by the labels, which say what a verdict
of the judge's is worth, and by the outputs, of which the judge passes more or fewer by chance. How far the first go
together is seen on the cases that are labelled in both: a case's label is compared with what people say of all outputs
with its verdict. How far the second do is seen on all cases that are judged in both. Where people agree about the two
columns and the judge does not, or the other way round, the one says nothing of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.correction import Estimate
from evenhand.stats.paired_rates import paired_rates

_CONTINUITY = 0.5


class LabelledCase(NamedTuple):
    """A case that is labelled in two columns.

    Attributes:
        first: People's verdict on the first output and the judge's: whether it passes.
    """

    first: tuple[bool, bool]
    second: tuple[bool, bool]


class JudgedCases(NamedTuple):
    """What the judge says of all cases of two columns.

    Attributes:
        verdicts: Of the cases that both have: whether it passes the first output, and the second.
        items: How many outputs it has a verdict on, in each column.
    """

    verdicts: Sequence[tuple[bool, bool]]
    items: tuple[float, float]


_ENDLESS = JudgedCases((), (math.inf, math.inf))


def corrected_difference(first: Estimate, second: Estimate, together: float = 0.0) -> Estimate:
    """Second minus first, of two corrected rates.

    Args:
        together: How far the two are off together, as a correlation; 0 where they rest on different cases.

    Source: Newcombe's hybrid interval, Statistics in Medicine 17 (1998), 873–890, method 10; for any two intervals, Zou
    and Donner (2008), doi:10.1002/sim.3095; for two that go together, Zou (2007), doi:10.1037/1082-989X.12.4.399.

    >>> first, second = Estimate(0.6, 0.5, 0.7), Estimate(0.8, 0.7, 0.87)
    >>> [round(x, 4) for x in corrected_difference(first, second)]
    [0.2, 0.0586, 0.3221]
    >>> [round(x, 4) for x in corrected_difference(first, second, 0.5)]
    [0.2, 0.1, 0.2889]
    """

    def apart(one: float, other: float) -> float:
        # With a correlation of ±1, rounding can leave slightly less than 0.
        return math.sqrt(max(0.0, one * one + other * other - 2 * together * one * other))

    value = second.value - first.value
    return Estimate(
        value,
        value - apart(second.value - second.low, first.high - first.value),
        value + apart(second.high - second.value, first.value - first.low),
    )


def corrected_paired_difference(
    first: Estimate,
    second: Estimate,
    labelled: Sequence[LabelledCase],
    labels: tuple[int, int] | None = None,
    judged: JudgedCases | None = None,
) -> Estimate:
    """Second minus first, of two corrected rates whose labels are partly of the same cases.

    Where the labels of these cases alone have a narrower interval, it is theirs.

    Args:
        second: That of the other column.
        labelled: The cases that are labelled in both, a random draw of all.
        labels: How many labels each rate rests on; as many as there are cases if it isn't said.
        judged: What the judge says of all cases; without it, there is no end of them, and only labels are few.

    Source: as `corrected_difference`, with the correlation taken from the labelled cases, corrected for continuity as
        in Newcombe, Statistics in Medicine 17 (1998), 2635–2650, method 10; of the labels alone: Tango's, see
        `paired_rates`.

    >>> cases = [LabelledCase((i % 2 == 0, True), (i % 3 == 0, i % 5 > 0)) for i in range(60)]
    >>> found = corrected_paired_difference(Estimate(0.5, 0.4, 0.6), Estimate(0.3, 0.2, 0.4), cases, (80, 90))
    >>> [round(x, 4) for x in found]
    [-0.2, -0.3414, -0.0586]
    """
    n = len(labelled)
    apart = corrected_difference(
        first, second, off_together(labelled, labels or (n, n), judged or _ENDLESS)
    )
    ahead = sum(case.second[0] and not case.first[0] for case in labelled)
    behind = sum(case.first[0] and not case.second[0] for case in labelled)
    alone = paired_rates(n, ahead, behind)
    if alone.high - alone.low < apart.high - apart.low:
        return Estimate(alone.difference, alone.low, alone.high)
    return apart


def off_together(
    labelled: Sequence[LabelledCase], labels: tuple[int, int], judged: JudgedCases = _ENDLESS
) -> float:
    """How far two corrected rates are off together, as a correlation.

    Args:
        labelled: The cases that are labelled in both.
        labels: How many labels each rate rests on.
        judged: What the judge says of all cases; by default there is no end of them.

    Returns:
        0 without cases, and where nothing is off in one of the columns.

    Source: the variance of a rate from two samples of which one is part of the other, Cochran, Sampling Techniques
        (1977), §12.2, with the covariances of its two parts in place of their variances.

    >>> cases = [LabelledCase((True, True), (True, True)), LabelledCase((False, True), (False, True))] * 20
    >>> off_together(cases, (40, 40))
    0.95
    """
    n = len(labelled)
    if not n:
        return 0.0
    one, two = (_Errors.of([case[side] for case in labelled]) for side in (0, 1))
    product = _products(one.of_labels, two.of_labels)
    # As in Newcombe's method 10, only a positive product is corrected: that is what narrows the interval.
    if product > 0:
        product = max(0.0, product - _CONTINUITY)
    # A case's label in one column may go with the judge's verdict in the other: both are of one case.
    across = _products(one.of_labels, two.of_items) / judged.items[1]
    across += _products(one.of_items, two.of_labels) / judged.items[0]
    by_judge = math.fsum((a - one.share) * (b - two.share) for a, b in judged.verdicts)
    by_judge *= one.gap * two.gap / (judged.items[0] * judged.items[1])
    covariance = product / (labels[0] * labels[1]) + across / n + by_judge
    spread = one.variance(labels[0], judged.items[0]) * two.variance(labels[1], judged.items[1])
    return min(1.0, max(-1.0, covariance / math.sqrt(spread))) if spread else 0.0


class _Errors(NamedTuple):
    """What makes a corrected rate be off, case by case.

    Attributes:
        of_labels: By how much each label differs from people's pass rate among the outputs on which the judge says so.
        of_items: By how much that rate differs from the one of all outputs.
        gap: By how much people pass more of what the judge passes than of what it fails.
        share: The share that the judge passes.
        left: The variance of people's verdicts that the judge's leave.
    """

    of_labels: Sequence[float]
    of_items: Sequence[float]
    gap: float
    share: float
    left: float

    @classmethod
    def of(cls, cases: Sequence[tuple[bool, bool]]) -> _Errors:
        """The errors of a corrected rate, from the verdicts of people and of the judge on each case."""
        sides = [[people for people, judge in cases if judge is says] for says in (False, True)]
        share = len(sides[1]) / len(cases)
        rates = [sum(side) / len(side) if side else 0.0 for side in sides]
        # With Jeffreys' prior, as in the rates themselves: a judge that was always right may be wrong.
        wary = [(sum(side) + 0.5) / (len(side) + 1) for side in sides]
        gap = wary[1] - wary[0]
        return cls(
            [people - rates[judge] for people, judge in cases],
            [gap * (judge - share) for _, judge in cases],
            gap,
            share,
            (1 - share) * wary[0] * (1 - wary[0]) + share * wary[1] * (1 - wary[1]),
        )

    def variance(self, labels: float, items: float) -> float:
        """That of a rate that rests on so many labels and outputs."""
        return self.left / labels + self.gap**2 * self.share * (1 - self.share) / items


def _products(first: Sequence[float], second: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(first, second, strict=True))
