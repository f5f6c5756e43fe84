"""Probabilities that a judge gave, made to say what they mean by people's labels; and how good they were.

How this works: a decision model that says .9 may be right nine times in ten, or seven. Platt's line, over the log odds,
is fitted to the labels. A few labels would bend it too far, so it is drawn to the probabilities as they are. A
label is never part of the line that its own item is looked up on: the labels are in folds, by case, and each fold has a
line that was fitted to the others (cross-fitting).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.correction import Estimate
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
_STEPS = 30


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
        # A step of more than 2 on the scale of log odds would overshoot where nearly all labels are alike.
        size = max(1.0, abs(step_a) / 2, abs(step_b) / 2)
        a, b = a - step_a / size, b - step_b / size
        if abs(step_a) + abs(step_b) < 1e-10:
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


def brier(
    rows: Sequence[tuple[str, float, bool]], confidence: float = CONFIDENCE
) -> Estimate | None:
    """The mean squared distance of probabilities from what people say: 0 is perfect, .25 is a coin's.

    Args:
        rows: For each labelled item its case, the probability, and whether people pass it. Items of a case go
            together.
        confidence: Of the interval, two-sided.

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
        [(math.fsum(errors) / len(errors), 1.0) for errors in cases.values()], (0, 1), confidence
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


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
