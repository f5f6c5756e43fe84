"""A corrected pass rate that uses how sure the judge was of each verdict, and not only the verdict.

How this works: `corrected_rate` takes each side of a judge, what it passes and what it fails, at the rate that labels
show for it. Within a side, the recalibrated probabilities say which items are likelier passes. So the labelled items of
a side, by luck, can be surer or less sure ones than the side is as a whole; how far people's verdicts follow the
probabilities is one slope, and what the slope explains is taken out of the side's rate, and out of its error. A slope
that labels don't bear out on items that it was not fitted to explains nothing: then this is the rate by verdicts alone,
to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.correction import Estimate, Verdicts, corrected_counts, corrected_rate
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.interval import CONFIDENCE, wilson
from evenhand.stats.recalibration import ProbabilityLabel, cross_fitted

_ONE_EACH = DesignEffects()
_DOUBT = 8.0
"""What probabilities explain is believed as if so many more of the judge's errors were labelled and they explained
nothing of these: with a handful of errors, they seem to explain more than they do."""


class GradedItem(NamedTuple):
    """A judged item: whether the judge passes it, and the probability that it gave for that."""

    passed: bool
    probability: float


class GradedLabel(NamedTuple):
    """A labelled item: its case, whether people and the judge pass it, and the judge's probability."""

    case: str
    people: bool
    passed: bool
    probability: float


class GradedRate(NamedTuple):
    """A corrected rate.

    Attributes:
        estimate: The rate that people would have found.
        explained: The share of the error of the rate by verdicts alone that the probabilities take away, from 0 on.
    """

    estimate: Estimate
    explained: float


def graded_rate(
    judged: Sequence[GradedItem],
    labels: Sequence[GradedLabel],
    confidence: float = CONFIDENCE,
    effects: DesignEffects = _ONE_EACH,
) -> GradedRate | None:
    """The pass rate that people would have found on all items, by verdicts and recalibrated probabilities.

    It holds if the labelled items are a random draw of those that were judged. It is never wider than by verdicts
    alone: where probabilities don't help, it is the same.

    Args:
        judged: All judged items, the labelled ones among them.
        labels: The labelled ones.
        confidence: Of the interval, two-sided.
        effects: By how much less they say because items of one case go together.

    Returns:
        None without labels, and with labels of too few cases.

    Source: regression within strata is the efficient estimator of Chen et al. (2026), arXiv:2601.05420, and power
        tuning of Angelopoulos, Duchi and Zrnic, "PPI++", arXiv:2311.01453, with predictions by cross-fitting (Zrnic
        and Candès, arXiv:2309.16598). The explained share is that of the squared errors of labels that are left out.
        The interval is that of `corrected_counts` for as many labels as would say as much. How often it holds is
        measured in `bench/judge_graded.py`.

    >>> judged = [GradedItem(i % 2 == 0, 0.9 if i % 4 == 0 else 0.6 if i % 2 == 0 else 0.1) for i in range(400)]
    >>> labels = [GradedLabel(str(i), i % 4 == 0 or i % 40 == 2, i % 2 == 0, judged[i].probability) for i in range(60)]
    >>> round(graded_rate(judged, labels).explained, 2)
    0.45
    """
    verdicts = verdicts_in(judged, labels)
    plain = corrected_rate(verdicts, confidence, effects)
    if plain is None:
        return None
    adjusted = _adjusted(judged, labels)
    if adjusted is None:
        return GradedRate(plain, 0.0)
    counts, explained = adjusted
    passed, items = verdicts.passed, verdicts.items
    estimate = corrected_counts(counts, passed, items, confidence, effect=effects.rate)
    people, n = verdicts.both_pass + verdicts.missed, verdicts.labels
    low, high = wilson(people / effects.alone, n / effects.alone, confidence)
    if min(high - low, plain.high - plain.low) < estimate.high - estimate.low:
        return GradedRate(plain, 0.0)
    return GradedRate(estimate, explained)


def verdicts_in(judged: Sequence[GradedItem], labels: Sequence[GradedLabel]) -> Verdicts:
    """The counts of verdicts, without their probabilities."""
    pairs = [(label.people, label.passed) for label in labels]
    return Verdicts(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
        sum(item.passed for item in judged),
        len(judged),
    )


def _adjusted(
    judged: Sequence[GradedItem], labels: Sequence[GradedLabel]
) -> tuple[tuple[float, float, float, float], float] | None:
    """The counts of the labels as if they were as sure as all items are, and of as many as say as much.

    None where the probabilities explain nothing.
    """
    fits = cross_fitted([ProbabilityLabel(o.case, o.people, o.probability) for o in labels])
    sides = (True, False)
    means = [
        {side: _mean([line(i.probability) for i in judged if i.passed is side]) for side in sides}
        for line in fits.lines
    ]
    rates = {side: _mean([float(o.people) for o in labels if o.passed is side]) for side in sides}
    # How far each label is from its side's rate, and its recalibrated probability from that of all of its side.
    rows: list[tuple[bool, float, float]] = []
    for one in labels:
        fold = fits.folds[one.case]
        ahead = fits.lines[fold](one.probability) - means[fold][one.passed]
        rows.append((one.passed, one.people - rates[one.passed], ahead))
    among = {side: _mean([ahead for of, _, ahead in rows if of is side]) for side in sides}
    centred = [(of, left, ahead - among[of]) for of, left, ahead in rows]
    slope, explained = _slope([(left, ahead) for _, left, ahead in centred])
    if not explained:
        return None
    errors = sum(one.people is not one.passed for one in labels)
    explained *= errors / (errors + _DOUBT)
    counts: list[float] = []
    for side in sides:
        n = sum(one.passed is side for one in labels)
        rate = min(1.0, max(0.0, rates[side] - slope * among[side]))
        size = n / (1 - explained)
        counts += [size * rate, size * (1 - rate)]
    both_pass, excused, missed, both_fail = counts
    return (both_pass, missed, excused, both_fail), explained


def _slope(rows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of people's verdicts over probabilities, and the share that it explains of labels that are left out.

    Both are 0 where it explains nothing.
    """
    across = math.fsum(x * x for _, x in rows)
    if across < 1e-12:
        return 0.0, 0.0
    slope = math.fsum(y * x for y, x in rows) / across
    whole = math.fsum(y * y for y, _ in rows)
    # A label that is left out takes its leverage with it (Allen's PRESS).
    left_out = math.fsum(((y - slope * x) / max(1e-9, 1 - x * x / across)) ** 2 for y, x in rows)
    if slope <= 0 or left_out >= whole:
        return 0.0, 0.0
    return slope, 1 - left_out / whole


def _mean(values: Sequence[float]) -> float:
    """The mean of values; 0 for none."""
    return math.fsum(values) / len(values) if values else 0.0
