"""Probabilities that a judge gave, made to say what they mean by people's labels; and how good they were.

How this works: a decision model that says .9 may be right nine times in ten, or seven. Platt's line, over the log odds,
is fitted to the labels. A few labels would bend it too far, so it is drawn to the probabilities as they are. A
label is never part of the line that its own item is looked up on: the labels are in folds, by case, and each fold has a
line that was fitted to the others (cross-fitting).

A pass rate can use them, and not only the verdict. `corrected_rate` takes each side of a judge, what it passes and what
it fails, at the rate that labels show for it. Within a side, the recalibrated probabilities say which items are
likelier passes; how far people's verdicts follow them is one slope, and what the slope explains is taken out of the
side's rate, and out of its error. A slope that labels don't bear out on items that it was not fitted to explains
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.correction import Estimate, Verdicts, corrected_counts, corrected_rate
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.interval import CONFIDENCE, wilson

FOLDS = 5
"""Parts that the labels are divided into."""
BINS = 5
"""Points of a reliability curve, where there are enough labels."""
_FEWEST = 5
"""Labels of one point of the curve at least."""
_EDGE = 1e-3
"""Probabilities nearer to 0 or 1 than this are taken to be so near: log odds have no end."""
_INTERCEPT, _SLOPE = 1.0, 0.5
"""Standard deviations of the prior of a line, around 0 and 1: how far a judge's log odds are thought to be off."""
_STEPS = 50
_HALVINGS = 40
_CLOSE = 1e-10


class ProbabilityLabel(NamedTuple):
    """A labelled item: its case, whether people pass it, and the judge's probability that it passes."""

    case: str
    people: bool
    probability: float


class Platt(NamedTuple):
    """A line over the log odds of a judge's probabilities.

    Attributes:
        intercept: Log odds of what the judge holds for as likely as not; 0 for a judge that is right about it.
        slope: 1 for a judge whose probabilities mean what they say, less for one that is too sure.
    """

    intercept: float = 0.0
    slope: float = 1.0

    def __call__(self, probability: float) -> float:
        """The probability that this one means.

        >>> round(Platt(0.0, 0.5)(0.9), 2)
        0.75
        """
        return _expit(self.intercept + self.slope * log_odds(probability))


class Fits(NamedTuple):
    """The lines of the folds, and in which fold each case's labels are."""

    lines: tuple[Platt, ...]
    folds: Mapping[str, int]

    def left_out(self, case: str) -> Platt:
        """The line that was fitted without the labels of a case; of another case, the first."""
        return self.lines[self.folds.get(case, 0)]

    def mean(self, probability: float) -> float:
        """What a probability means by all lines: for items without labels."""
        return math.fsum(line(probability) for line in self.lines) / len(self.lines)


class ReliabilityPoint(NamedTuple):
    """Labelled items of about the same probability: what the judge said, and what people did, with its interval."""

    stated: float
    passed: Estimate
    labels: int


def log_odds(probability: float) -> float:
    """The log odds of a probability; those of 0 and 1 are finite."""
    inside = min(max(probability, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))


def platt(labels: Sequence[tuple[float, bool]]) -> Platt:
    """Platt's line through labels, drawn to that of a judge whose probabilities mean what they say.

    Args:
        labels: For each labelled item, the judge's probability and whether people pass it. Without any, the line
            changes nothing.

    Source: Platt, "Probabilistic outputs for support vector machines" (1999), with a normal prior on both parameters;
        the mode by Newton's method.

    >>> line = platt([(0.9, True)] * 6 + [(0.9, False)] * 4 + [(0.1, False)] * 6 + [(0.1, True)] * 4)
    >>> round(line(0.9), 2) < 0.75
    True
    """
    rows = [(log_odds(probability), float(people)) for probability, people in labels]
    a, b = 0.0, 1.0
    loss = _loss(rows, a, b)
    for _ in range(_STEPS):
        down_a, down_b = a / _INTERCEPT**2, (b - 1) / _SLOPE**2
        aa, ab, bb = 1 / _INTERCEPT**2, 0.0, 1 / _SLOPE**2
        for x, y in rows:
            share = _expit(a + b * x)
            weight = share * (1 - share)
            down_a += share - y
            down_b += (share - y) * x
            aa += weight
            ab += weight * x
            bb += weight * x * x
        determinant = aa * bb - ab * ab
        step_a = (bb * down_a - ab * down_b) / determinant
        step_b = (aa * down_b - ab * down_a) / determinant
        # A whole step leads far past the mode, to and fro forever, where a judge says 0 or 1 and is often wrong.
        for halvings in range(_HALVINGS):
            next_a, next_b = a - step_a / 2**halvings, b - step_b / 2**halvings
            after = _loss(rows, next_a, next_b)
            if after <= loss + _CLOSE:
                a, b, loss = next_a, next_b, after
                break
        if abs(step_a) + abs(step_b) < _CLOSE:
            break
    return Platt(a, b)


def cross_fitted(labels: Sequence[ProbabilityLabel]) -> Fits:
    """The lines of all folds. Labels of a case are in one fold, as they may be alike.

    Source: cross-fitting, as in Zrnic and Candès, "Cross-prediction-powered inference" (PNAS 2024), arXiv:2309.16598.
    """
    cases = list(dict.fromkeys(label.case for label in labels))
    folds = {case: place % FOLDS for place, case in enumerate(cases)}
    number = min(FOLDS, len(cases)) or 1
    lines = tuple(
        platt([(one.probability, one.people) for one in labels if folds[one.case] != fold])
        for fold in range(number)
    )
    return Fits(lines, folds)


def brier(rows: Sequence[tuple[str, float, bool]]) -> Estimate | None:
    """The mean squared distance of probabilities from what people say: 0 is perfect, .25 is a coin's.

    Args:
        rows: For each labelled item its case, the probability, and whether people pass it. Items of a case go
            together.

    Returns:
        None without labels.

    Source: Brier, Monthly Weather Review 78 (1950), 1–3, with the limits of `mean_on_scale`.

    >>> brier([("a", 0.5, True), ("b", 0.5, False)]).value
    0.25
    """
    cases: dict[str, list[float]] = {}
    for case, probability, people in rows:
        cases.setdefault(case, []).append((probability - people) ** 2)
    mean = mean_on_scale(
        [(math.fsum(errors) / len(errors), 1.0) for errors in cases.values()], (0, 1)
    )
    return None if mean is None else Estimate(*mean)


def reliability(rows: Sequence[tuple[float, bool]]) -> list[ReliabilityPoint]:
    """What people pass of the items that a judge holds for equally likely to pass, from the least likely on.

    Args:
        rows: For each labelled item, the probability and whether people pass it.

    Returns:
        Points of about as many labels each, with Wilson's intervals; fewer than five where there are few labels, and
        none without any. Items of the same probability are in one point.
    """
    ordered = sorted(rows)
    size = max(_FEWEST, math.ceil(len(ordered) / BINS))
    points: list[ReliabilityPoint] = []
    start = 0
    while start < len(ordered):
        end = min(start + size, len(ordered))
        while end < len(ordered) and ordered[end][0] == ordered[end - 1][0]:
            end += 1
        if len(ordered) - end < _FEWEST:
            end = len(ordered)
        part = ordered[start:end]
        passed = sum(people for _, people in part)
        rate = Estimate(passed / len(part), *wilson(passed, len(part)))
        stated = math.fsum(probability for probability, _ in part) / len(part)
        points.append(ReliabilityPoint(stated, rate, len(part)))
        start = end
    return points


def _loss(rows: Sequence[tuple[float, float]], a: float, b: float) -> float:
    """Minus the logarithm of the likelihood of a line and of its prior, but for a constant."""
    prior = (a / _INTERCEPT) ** 2 / 2 + ((b - 1) / _SLOPE) ** 2 / 2
    odds = ((a + b * x) * (1 if y else -1) for x, y in rows)
    return prior + math.fsum(math.log1p(math.exp(-abs(o))) + max(-o, 0.0) for o in odds)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


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
    effects: DesignEffects = _ONE_EACH,
    *,
    same_items: bool = True,
) -> GradedRate | None:
    """The pass rate that people would have found on all items, by verdicts and recalibrated probabilities.

    It holds if the labelled items are a random draw of those that were judged. It is never wider than by verdicts
    alone: where probabilities don't help, it is the same.

    Args:
        judged: All judged items, the labelled ones among them.
        labels: The labelled ones.
        effects: By how much less they say because items of one case go together.
        same_items: As in `corrected_rate`.

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
    plain = corrected_rate(verdicts, CONFIDENCE, effects, same_items=same_items)
    if plain is None:
        return None
    adjusted = None if verdicts.whole else _adjusted(judged, labels)
    if adjusted is None:
        return GradedRate(plain, 0.0)
    counts, explained = adjusted
    passed, items = verdicts.passed, verdicts.items
    estimate = corrected_counts(counts, passed, items, CONFIDENCE, effect=effects.rate)
    if plain.high - plain.low < estimate.high - estimate.low:
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
