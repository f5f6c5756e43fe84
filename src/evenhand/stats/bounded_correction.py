"""The mean score that people would have given, with limits that hold whatever the judge misses.

How this works: people's scores less λ times the judge's are what the judge leaves to explain, and their mean is added
to λ times the judge's own mean. What was never seen among the labels may still be there: a judge that agrees on each of
30 labels may give its best score to one disaster in twenty. So the limits of that mean are those for scores on a known
scale, whose ends are as far off as the judge's scores allow: where it gave 5 of 5 to all, people can only be below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, variance

from evenhand.stats.bounded import Scale, mean_on_scale
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.mean_effect import ScoreLabel


def mean_by_judge(
    judged: Sequence[tuple[str, float]],
    labels: Sequence[ScoreLabel],
    weight: float,
    scale: Scale,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """The mean that people would have given outputs like the judged ones, in the scores' own unit.

    Args:
        judged: Each judged output: its case, and the judge's score.
        labels: People's scores and the judge's of outputs that were drawn from these, or from others like these. Those
            of a case go together.
        weight: How much the judge's scores count, λ, from 0 to 1. Any number is valid; the better it follows how the
            judge's scores go with people's, the narrower the interval.
        scale: The lowest and the highest score there can be. The interval stays on it.
        confidence: Of the interval, two-sided.

    Returns:
        None without labels, or without judged outputs.

    Raises:
        ValueError: A score is off the scale.

    Source: the estimate is that of Angelopoulos, Duchi and Zrnic, "PPI++" (2023), arXiv:2311.01453, with the limits of
        `mean_on_scale` for the residuals; the judge's part is added as independent of them.

    >>> labels = [ScoreLabel(str(i), 5, 5) for i in range(30)]
    >>> found = mean_by_judge([(str(i), 5.0) for i in range(200)], labels, 1.0, (1, 5))
    >>> [round(x, 2) for x in found]
    [5, 4.62, 5]
    """
    if not judged or not labels:
        return None
    low, high = scale
    scores = [score for _, score in judged] + [one.judge for one in labels]
    ends = low - weight * max(scores), high - weight * min(scores)
    left = mean_on_scale(
        _by_case((one.case, one.people - weight * one.judge, one.weight) for one in labels),
        ends,
        confidence,
    )
    if left is None:
        return None
    middle = weight * fmean(score for _, score in judged)
    cases = [total / size for total, size in _by_case((case, score, 1.0) for case, score in judged)]
    spread = variance(cases) / len(cases) if len(cases) > 1 else 0.0
    half = z_of(confidence) * weight * math.sqrt(spread)
    value = left[0] + middle
    below, above = (math.hypot(left[0] - end, half) for end in left[1:])
    return Estimate(*(min(high, max(low, one)) for one in (value, value - below, value + above)))


def _by_case(scores: Iterable[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """Case, score and weight of outputs, as the sum of scores and the weight of each case."""
    cases: dict[str, tuple[float, float]] = {}
    for case, score, weight in scores:
        total, size = cases.get(case, (0.0, 0.0))
        cases[case] = total + weight * score, size + weight
    return list(cases.values())
