"""What people's scores of some items say beside a judge's of all: how well they go together, and what more would bring.

How this works: people's mean on the labelled items is moved by how much the judge's mean on them differs from its mean
on all items, times λ, which is how well the judge's scores follow people's. The labelled items are a random draw of
each stratum, and a uniform draw is one stratum. The interval is that of `bounded_correction`.

Source: Angelopoulos, Duchi and Zrnic, "PPI++" (2023), arXiv:2311.01453, with λ between 0 and 1; for strata, Fisch et
    al. (2024), arXiv:2406.04291.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.interval import z_of

FEWEST = 2
"""Labels that a stratum must have to stand alone; with fewer, it is put together with the next."""


class ScoredStratum(NamedTuple):
    """Items that were equally likely to be labelled.

    Attributes:
        pairs: People's score and the judge's, of each labelled one.
    """

    items: int
    pairs: Sequence[tuple[float, float]]


class Spread(NamedTuple):
    """Variances of people's mean and of the judge's, and their covariance."""

    people: float
    together: float
    judge: float

    def of_difference(self, weight: float) -> float:
        """The variance of people's mean minus `weight` times the judge's."""
        return max(0.0, self.people - 2 * weight * self.together + weight**2 * self.judge)


class PairedScores(NamedTuple):
    """What labelled items say of people's scores beside the judge's, once each counts by its stratum's size.

    Attributes:
        labels: How many items are labelled.
        free: How many of them are left to tell the spread from: labels minus strata.
        people: People's mean, in the scores' own unit.
        judge: The judge's mean on the labelled items.
        drawn: How far the two means can be off because items were drawn.
        known: The part of it that isn't there, because the items drawn from are no more than they are.
        people_spread: The variance of people's scores, over the number of all items.
        rho2: The share of labels that the judge replaces; None where either gives one score only.
    """

    labels: int
    free: int
    people: float
    judge: float
    drawn: Spread
    known: Spread
    people_spread: float
    rho2: float | None


def paired_scores(strata: Sequence[ScoredStratum]) -> PairedScores | None:
    """What the labels of strata say. It holds if each stratum's labels are a random draw of it.

    Returns:
        None with fewer than two labels.
    """
    cells = _cells(strata)
    items = sum(cell.items for cell in cells)
    labels = sum(len(cell.pairs) for cell in cells)
    if labels < FEWEST:
        return None
    people = judge = 0.0
    drawn, known, inside, between = [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3
    for cell in cells:
        share, n = cell.items / items, len(cell.pairs)
        first, second = (math.fsum(pair[i] for pair in cell.pairs) / n for i in (0, 1))
        people, judge = people + share * first, judge + share * second
        spread = [
            math.fsum((a - first) ** 2 for a, _ in cell.pairs) / max(1, n - 1),
            math.fsum((a - first) * (b - second) for a, b in cell.pairs) / max(1, n - 1),
            math.fsum((b - second) ** 2 for _, b in cell.pairs) / max(1, n - 1),
        ]
        for i, (one, middle) in enumerate(
            zip(spread, (first * first, first * second, second * second), strict=True)
        ):
            drawn[i] += share**2 * one / n
            known[i] += share * one / items
            inside[i] += share * one
            between[i] += share * middle
    whole = [
        part + middle - product
        for part, middle, product in zip(
            inside, between, (people**2, people * judge, judge**2), strict=True
        )
    ]
    product = whole[0] * whole[2]
    return PairedScores(
        labels=labels,
        free=max(1, labels - len(cells)),
        people=people,
        judge=judge,
        drawn=Spread(*drawn),
        known=Spread(*known),
        people_spread=whole[0] / items,
        # Less than this is what rounding leaves of scores that are all alike.
        rho2=whole[1] ** 2 / product if product > 1e-15 else None,
    )


def weight_of_judge(scores: PairedScores) -> float:
    """How much the judge's scores count in the mean, λ, from 0 to 1: by how much people's rise with them.

    It is the same for later items. With less, their mean would stay with the labels where the judge's has moved.
    """
    return _best(scores, scores.labels)[0]


def half_width_of_mean(scores: PairedScores, labels: int) -> float:
    """About how far the mean can be off with so many labels, drawn in the same proportions; in the scores' own unit."""
    return z_of() * math.sqrt(_best(scores, labels)[1])


def _best(scores: PairedScores, labels: int) -> tuple[float, float]:
    """λ for so many labels, and the variance of the mean."""
    times = scores.labels / labels
    left = Spread(
        *(times * one - part for one, part in zip(scores.drawn, scores.known, strict=True))
    )
    weight = min(1.0, max(0.0, left.together / left.judge)) if left.judge > 1e-15 else 0.0
    return weight, left.of_difference(weight) + scores.people_spread


def _cells(strata: Sequence[ScoredStratum]) -> list[ScoredStratum]:
    """The strata, those with too few labels put together with the next, by how much of each is labelled."""
    cells: list[ScoredStratum] = []
    for one in sorted(strata, key=lambda one: len(one.pairs) / max(1, one.items)):
        if cells and len(cells[-1].pairs) < FEWEST:
            last = cells.pop()
            cells.append(ScoredStratum(last.items + one.items, [*last.pairs, *one.pairs]))
        elif one.items:
            cells.append(one)
    # The last one has no next to be put together with, so it joins the one before.
    if len(cells) > 1 and len(cells[-1].pairs) < FEWEST:
        last, before = cells.pop(), cells.pop()
        cells.append(ScoredStratum(before.items + last.items, [*before.pairs, *last.pairs]))
    return cells
