"""Means and differences of judged numbers, as people would have found them, from labels of a random draw.

How this works: two corrected rates of the same cases are off together where cases are hard for people and judge alike,
so their difference is less uncertain than each rate. How far they go together is seen on the cases that are labelled in
both: a case's label is compared with what people say of all outputs with its verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.compare import paired_rates
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import CONFIDENCE, z_of

_CONTINUITY = 0.5


class LabelledCase(NamedTuple):
    """A case that is labelled in two columns.

    Attributes:
        first: People's verdict on the first output and the judge's: whether it passes.
        second: The same of the second.
    """

    first: tuple[bool, bool]
    second: tuple[bool, bool]


def corrected_mean(
    labelled: Sequence[tuple[float, float]],
    others: Sequence[float],
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """The mean that people would have found on all items, by PPI++; in the scores' own unit.

    Args:
        labelled: For each labelled item, people's score and the judge's.
        others: The judge's scores of the items without a label.
        confidence: Of the interval, two-sided.

    Returns:
        None with fewer than two labels.

    Source: Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453, with λ between 0 and 1.

    >>> corrected_mean([(3, 3), (4, 4), (2, 2), (5, 5)], [3, 4, 2, 5])[0]
    3.5
    """
    n, more = len(labelled), len(others)
    if n < 2:
        return None
    mean_label = math.fsum(label for label, _ in labelled) / n
    if not more:
        residuals, judged_part, weight = [label for label, _ in labelled], 0.0, 0.0
    else:
        own = [judged for _, judged in labelled]
        mean_own = math.fsum(own) / n
        together = (
            math.fsum((label - mean_label) * (judged - mean_own) for label, judged in labelled) / n
        )
        spread = _variance([*own, *others])
        weight = 0.0
        if spread:
            weight = min(1.0, max(0.0, together / ((1 + n / more) * spread)))
        residuals = [label - weight * judged for label, judged in labelled]
        judged_part = weight * math.fsum(others) / more
    mean = judged_part + math.fsum(residuals) / n
    error = math.sqrt(
        _variance(residuals, 0) / n + (weight * weight * _variance(others, 0) / more if more else 0)
    )
    half = z_of(confidence) * error
    return Estimate(mean, mean - half, mean + half)


def corrected_difference(first: Estimate, second: Estimate, together: float = 0.0) -> Estimate:
    """Second minus first, of two corrected rates.

    Args:
        first: A rate.
        second: Another one.
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
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Second minus first, of two corrected rates whose labels are partly of the same cases.

    Where the labels of these cases alone have a narrower interval, it is theirs.

    Args:
        first: A corrected rate.
        second: That of the other column.
        labelled: The cases that are labelled in both, a random draw of all.
        labels: How many labels each rate rests on; as many as there are cases if it isn't said.
        confidence: Of the two intervals; two-sided.

    Source: as `corrected_difference`, with the correlation taken from the labelled cases, corrected for continuity as
        in Newcombe, Statistics in Medicine 17 (1998), 2635–2650, method 10; of the labels alone: Tango's, see
        `paired_rates`.

    >>> cases = [LabelledCase((i % 2 == 0, True), (i % 3 == 0, i % 5 > 0)) for i in range(60)]
    >>> found = corrected_paired_difference(Estimate(0.5, 0.4, 0.6), Estimate(0.3, 0.2, 0.4), cases, (80, 90))
    >>> [round(x, 4) for x in found]
    [-0.2, -0.3414, -0.0586]
    """
    n = len(labelled)
    own = labels or (n, n)
    together = off_together(labelled) * n / math.sqrt(own[0] * own[1]) if n else 0.0
    judged = corrected_difference(first, second, together)
    ahead = sum(case.second[0] and not case.first[0] for case in labelled)
    behind = sum(case.first[0] and not case.second[0] for case in labelled)
    alone = paired_rates(n, ahead, behind, confidence)
    if alone.high - alone.low < judged.high - judged.low:
        return Estimate(alone.difference, alone.low, alone.high)
    return judged


def off_together(labelled: Sequence[LabelledCase]) -> float:
    """How far a judge is off together in two columns, as a correlation over the cases that are labelled in both.

    Returns:
        0 without cases, and where the judge is never off, or always, in one of the columns.

    >>> off_together([LabelledCase((True, True), (True, True)), LabelledCase((False, True), (False, True))] * 20)
    0.95
    """
    first, second = (_off([case[side] for case in labelled]) for side in (0, 1))
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    if product > 0:
        product = max(0.0, product - _CONTINUITY)
    spread = math.fsum(a * a for a in first) * math.fsum(b * b for b in second)
    return product / math.sqrt(spread) if spread else 0.0


def _off(verdicts: Sequence[tuple[bool, bool]]) -> list[float]:
    """By how much each label differs from people's pass rate among the outputs on which the judge says the same."""
    people: dict[bool, list[bool]] = {True: [], False: []}
    for label, judged in verdicts:
        people[judged].append(label)
    rates = {judged: sum(labels) / len(labels) for judged, labels in people.items() if labels}
    return [label - rates[judged] for label, judged in verdicts]


def _variance(values: Sequence[float], lost: int = 1) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - lost)
