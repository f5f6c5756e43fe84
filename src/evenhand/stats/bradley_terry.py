"""How strong columns are that were compared in pairs: Bradley–Terry with ties and with an effect of the place.

How this works: two texts are shown, one first, and somebody prefers the first, the second, or neither. With strengths
λ, a place effect β and a tendency to ties τ, the three answers have probabilities in the proportion

    first : second : tie  =  exp((λ₁−λ₂+β)/2) : exp(−(λ₁−λ₂+β)/2) : exp(τ)

so the chance that the first wins, ties aside, is the logistic function of λ₁−λ₂+β. With ties it is the model of
Davidson, J. Am. Stat. Assoc. 65 (1970), doi:10.1080/01621459.1970.10481082, whose ν is exp(τ); with the place that of
Davidson and Beaver, Biometrics 33 (1977), doi:10.2307/2529467.

A column that wins every time would have an infinite strength. So each column is given half a win and half a loss
against one of strength 0, and so is each place against the other: the prior of a proportion by Jeffreys, in every
direction. In a hundred answers it moves a share of 80 % by less than half a point.

Answers about one case are no independent ones. So the covariance is that of estimates which leave out one case at a
time (the jackknife, each by one Newton step), the prior among them, and the intervals have Student's quantile for one
degree of freedom less than there are cases. They are never narrower than if all answers were independent: where each
order gave the opposite answer, no case differs from the next, and still little is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.stats.correction import Estimate
from evenhand.stats.distributions import t_quantile
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.likelihood import Answer, Cell, Likelihood, covariances, logistic, maximum


class Comparison(NamedTuple):
    """Which of two texts somebody preferred.

    Attributes:
        cluster: What it belongs to, as a rule the case: comparisons of one may depend on each other.
        first: The column whose text was shown first.
        second: The column of the other one.
        weight: How often it counts; not negative.
    """

    cluster: str
    first: int
    second: int
    answer: Answer
    weight: float = 1.0


class NotEstimable(ValueError):
    """The comparisons do not say how strong the columns are. The message says why, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """What comparisons say of columns.

    Attributes:
        columns: The columns that were compared, in ascending order.
        strengths: Log-odds of each against the average column; their sum is 0.
        place: Log-odds that the text shown first wins between columns of equal strength; 0 where it does not matter.
        ties: τ, of which exp is Davidson's ν; None where nothing was a tie.
        clusters: How many clusters the comparisons come from.
        converged: Whether the fit came to its maximum. Where it did not, no number of it says anything.
        covariance: Of (strengths, place, τ), before centring; without τ where there are no ties. Of clusters.
        independent: The same if all comparisons were independent.
    """

    columns: tuple[int, ...]
    strengths: tuple[float, ...]
    place: float
    ties: float | None
    clusters: int
    converged: bool
    covariance: tuple[tuple[float, ...], ...]
    independent: tuple[tuple[float, ...], ...]

    def chance(self, column: int, confidence: float = CONFIDENCE) -> Estimate:
        """The chance to win against the average column, ties aside and in neither place: from 0 to 1.

        The average column is the one whose strength is the mean of all. The interval is 0 to 1 for one cluster.

        Raises:
            ValueError: The column was not compared.
        """
        k = len(self.columns)
        weights = [-1 / k] * k
        weights[self._place_of(column)] += 1
        return self._share(weights, confidence)

    def beats(self, column: int, other: int, confidence: float = CONFIDENCE) -> Estimate:
        """The chance to win against another column, ties aside and in neither place: from 0 to 1.

        Raises:
            ValueError: One of them was not compared, or both are the same.
        """
        if column == other:
            msg = f"column {column} is not compared with itself"
            raise ValueError(msg)
        weights = [0.0] * len(self.columns)
        weights[self._place_of(column)], weights[self._place_of(other)] = 1.0, -1.0
        return self._share(weights, confidence)

    def first_wins(self, confidence: float = CONFIDENCE) -> Estimate:
        """The chance that the text shown first wins between columns of equal strength, ties aside: from 0 to 1."""
        return self._share([0.0] * len(self.columns) + [1.0], confidence)

    def _place_of(self, column: int) -> int:
        if column not in self.columns:
            msg = f"column {column} was not compared"
            raise ValueError(msg)
        return self.columns.index(column)

    def _share(self, weights: Sequence[float], confidence: float) -> Estimate:
        """A sum of parameters on the log-odds scale as a share, with its interval."""
        parameters = (*self.strengths, self.place)
        # Weights that have no last entry leave the effect of the place out.
        value = math.fsum(w * x for w, x in zip(weights, parameters, strict=False))
        if self.clusters < 2:
            return Estimate(logistic(value), 0.0, 1.0)
        variance = max(_form(weights, self.covariance), _form(weights, self.independent))
        half = t_quantile(confidence, self.clusters - 1) * math.sqrt(variance)
        return Estimate(logistic(value), logistic(value - half), logistic(value + half))


def _form(weights: Sequence[float], matrix: Sequence[Sequence[float]]) -> float:
    """The variance of a weighted sum."""
    used = [(i, w) for i, w in enumerate(weights) if w]
    # Rounding can leave a variance slightly below 0, which has no square root.
    return max(0.0, math.fsum(a * b * matrix[i][j] for i, a in used for j, b in used))


def connected(comparisons: Iterable[Comparison]) -> list[tuple[int, ...]]:
    """The groups of columns that were compared with each other, directly or by way of others; the largest first.

    Between two groups nothing is known. Without comparisons there are none.

    >>> connected([Comparison("a", 0, 2, "tie"), Comparison("a", 1, 3, "tie"), Comparison("b", 3, 4, "tie")])
    [(1, 3, 4), (0, 2)]
    """
    group: dict[int, set[int]] = {}
    for one in comparisons:
        if one.weight > 0:
            joined = group.get(one.first, {one.first}) | group.get(one.second, {one.second})
            group.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(one)) for one in group.values()}, key=lambda one: (-len(one), one))


def fit(comparisons: Iterable[Comparison], *, prior: bool = True) -> Strengths:
    """The strengths of columns by maximum likelihood, with the prior that is explained above.

    Args:
        comparisons: In any order: the result is the same.
        prior: With it. Without, the fit does not converge where a column wins or loses every time.

    Raises:
        NotEstimable: Nothing was compared, or only parts that have no column in common; all comparisons are ties; or
            who was shown first follows from the columns, so strength and place can't be told apart.
        ValueError: A column is compared with itself, or a weight is negative or not finite.

    >>> orders = [Comparison("a", 0, 1, "first", 15), Comparison("b", 1, 0, "second", 15)]
    >>> others = [Comparison("c", 0, 1, "second", 10), Comparison("d", 1, 0, "first", 10)]
    >>> round(fit([*orders, *others], prior=False).beats(0, 1).value, 6)
    0.6
    """
    tables, columns = _tables(comparisons)
    model = Likelihood(columns, tables, prior=prior)
    theta, converged = maximum(model)
    covariance, independent = covariances(model, theta)
    k = len(columns)
    mean = math.fsum(theta[:k]) / k
    return Strengths(
        columns=columns,
        strengths=tuple(strength - mean for strength in theta[:k]),
        place=theta[k],
        ties=theta[k + 1] if model.with_ties else None,
        clusters=len(tables),
        converged=converged,
        covariance=tuple(map(tuple, covariance)),
        independent=tuple(map(tuple, independent)),
    )


def _tables(
    comparisons: Iterable[Comparison],
) -> tuple[dict[str, dict[Cell, float]], tuple[int, ...]]:
    """Each cluster's comparisons, counted, with columns numbered from 0; and the columns."""
    usable = [one for one in comparisons if _usable(one)]
    groups = connected(usable)
    if not groups:
        raise NotEstimable("nothing was compared")
    if len(groups) > 1:
        raise NotEstimable(f"the columns fall into {len(groups)} groups that were never compared")
    if all(one.answer == "tie" for one in usable):
        raise NotEstimable("every comparison was a tie")
    columns = groups[0]
    if _place_follows(usable):
        raise NotEstimable(
            "each pair was shown in one order only, so strength and place can't be told apart"
        )
    number = {column: i for i, column in enumerate(columns)}
    tables: dict[str, dict[Cell, float]] = defaultdict(dict)
    # Sums of floats depend on their order; sorted, the same comparisons always give the same strengths.
    for one in sorted(usable):
        cell = number[one.first], number[one.second], one.answer
        tables[one.cluster][cell] = tables[one.cluster].get(cell, 0.0) + one.weight
    return tables, columns


def _usable(one: Comparison) -> bool:
    if one.first == one.second:
        msg = f"column {one.first} is compared with itself"
        raise ValueError(msg)
    if not 0 <= one.weight < math.inf:
        msg = f"a comparison has the weight {one.weight}"
        raise ValueError(msg)
    return one.weight > 0


def _place_follows(comparisons: Sequence[Comparison]) -> bool:
    """Whether numbers given to the columns say who was shown first: each time the one that is higher by 1."""
    neighbours: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for one in comparisons:
        neighbours[one.first].add((one.second, -1))
        neighbours[one.second].add((one.first, 1))
    start = min(neighbours)
    level, waiting = {start: 0}, [start]
    while waiting:
        column = waiting.pop()
        for other, step in neighbours[column]:
            if other not in level:
                level[other] = level[column] + step
                waiting.append(other)
            # Two ways to a column give it different numbers, so no numbering explains the order.
            elif level[other] != level[column] + step:
                return False
    return True
