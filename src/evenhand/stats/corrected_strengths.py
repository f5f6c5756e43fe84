"""How strong columns are for people, who judged some of the pairs that a judge judged.

How this works: people's answers alone give strengths by the likelihood of `bradley_terry`, with a wide interval. What
a judge says of a pair tells something of what people say of it. So the judge's answers about all pairs are added to
the likelihood, and those about the labelled pairs are taken away again, both times the weight λ. As the labelled
pairs are a random draw, that adds 0 on average, whatever the judge's mistakes; and the more the judge knows of
people, the more it takes away of the chance of the draw. λ is the one from 0 to 1 that makes the strengths as sure as
can be: 0 for a judge that knows nothing, and then people's answers stand alone. It is prediction-powered inference,
with the log-likelihood for its loss: Angelopoulos et al., arXiv:2301.09633, and, with λ, arXiv:2311.01453.

Each answer of the judge counts half in either order, so its liking for a place is no part of it. Where people never saw
a tie, one of the judge's is half a win for each.

Cases are the clusters, as in `bradley_terry`: a case's contributions of all three kinds are taken together, and the
covariance is the jackknife's over the cases. It is not smaller than if people's answers were independent, times the
share of the variance that the judge leaves.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.stats.bradley_terry import Comparison, NotEstimable, Strengths, connected
from evenhand.stats.likelihood import (
    Cell,
    Chances,
    Likelihood,
    Matrix,
    Table,
    Vector,
    add_square,
    factored,
    less,
    maximum,
    solved,
)

_HALVINGS = 6


class JudgedPair(NamedTuple):
    """What a judge said of a pair.

    Attributes:
        cluster: What it belongs to, as a rule the case.
        wins: The share of its answers that name the text of `one`.
        losses: The share that name the other; the rest are ties.
    """

    cluster: str
    one: int
    two: int
    wins: float
    losses: float


class LabelledPair(NamedTuple):
    """What people said of a pair, and what the judge had said of it.

    Attributes:
        people: Their answer, in the order in which they saw the texts.
    """

    people: Comparison
    judge: JudgedPair


@dataclass(frozen=True, slots=True)
class CorrectedStrengths:
    """What people would have said of columns.

    Attributes:
        strengths: As if people had judged all pairs.
        weight: λ, the weight of the judge's answers, from 0 to 1.
        left: The share of the variance of people's answers alone that the judge leaves, from 0 to 1.
    """

    strengths: Strengths
    weight: float
    left: float


def corrected_strengths(
    labels: Sequence[LabelledPair],
    judged: Sequence[JudgedPair],
    missing: Sequence[Comparison] = (),
    weight: float | None = None,
) -> CorrectedStrengths:
    """The strengths that people would have found in all pairs, by power-tuned prediction-powered inference.

    It holds if the labelled pairs are a random draw of the judged ones, or of others alike.

    Args:
        judged: All pairs, as a rule the labelled ones among them.
        missing: Pairs that nobody judged, with an answer that they may have had; their weight counts pairs.
        weight: λ; by default the best one.

    Raises:
        NotEstimable: People's answers do not say how strong the columns are, or the fit does not converge.
    """
    parts = _Parts(labels, judged, missing)
    alone = parts.fitted(0.0)
    if alone is None:
        raise NotEstimable("the fit of people's answers did not converge")
    if weight is None:
        weight = parts.best_weight(alone)
    theta = parts.fitted(weight)
    # The judge's answers are added and taken away, so cells can be negative and the likelihood without a maximum;
    # with less weight on the judge it comes nearer to that of people's answers, which has one.
    for _ in range(_HALVINGS):
        if theta is not None:
            break
        weight /= 2
        theta = parts.fitted(weight)
    if theta is None:
        weight, theta = 0.0, alone
    covariance, by_itself, independent = parts.covariances(theta, weight)
    k = len(parts.columns)
    before = _spread(by_itself, k)
    left = _spread(covariance, k) / before if before > 0 else 1.0
    # Even a judge that is always right leaves n/N of the variance: all pairs are then as good as labelled.
    left = min(1.0, max(left, len(labels) / max(len(labels), len(judged))))
    mean = math.fsum(theta[:k]) / k
    return CorrectedStrengths(
        Strengths(
            columns=parts.columns,
            strengths=tuple(strength - mean for strength in theta[:k]),
            place=theta[k],
            ties=theta[k + 1] if len(theta) > k + 1 else None,
            clusters=len(parts.clusters),
            converged=True,
            covariance=tuple(map(tuple, covariance)),
            independent=tuple(tuple(left * x for x in row) for row in independent),
        ),
        weight,
        left,
    )


class _Parts:
    """The likelihood's parts: people's answers, and the judge's about all pairs and about the labelled ones."""

    def __init__(
        self,
        labels: Sequence[LabelledPair],
        judged: Sequence[JudgedPair],
        missing: Sequence[Comparison],
    ) -> None:
        answers = [label.people for label in labels]
        groups = connected(answers)
        if not groups:
            raise NotEstimable("people compared nothing")
        self.columns = tuple(sorted({c for pair in judged for c in (pair.one, pair.two)}))
        if groups[0] != self.columns:
            raise NotEstimable("the labelled pairs do not connect all variants")
        if all(one.answer == "tie" for one in answers):
            raise NotEstimable("every label is a tie")
        self._number = {column: i for i, column in enumerate(self.columns)}
        self._ties = any(one.answer == "tie" for one in answers)
        self.share = len(labels) / len(judged)
        self.clusters = {one.cluster for one in answers}
        self._people: dict[str, dict[Cell, float]] = defaultdict(lambda: defaultdict(float))
        self._judge: dict[str, dict[Cell, float]] = defaultdict(lambda: defaultdict(float))
        self._every: dict[Cell, float] = defaultdict(float)
        for one in sorted(answers):
            self._people[one.cluster][self._cell(one)] += one.weight
        for one in sorted(missing):
            self._people[one.cluster][self._cell(one)] += one.weight * self.share
        for sign, pairs in ((self.share, judged), (-1.0, [label.judge for label in labels])):
            for pair in sorted(pairs):
                self._add(pair, sign)
        self._size = len(judged)
        self._shares = dict(self._more_of(judged, labels))

    def _more_of(
        self, judged: Sequence[JudgedPair], labels: Sequence[LabelledPair]
    ) -> Mapping[str, float]:
        of_all = Counter(pair.cluster for pair in judged)
        drawn = Counter(label.judge.cluster for label in labels)
        return {c: self.share * of_all[c] - drawn[c] for c in of_all.keys() | drawn.keys()}

    def _cell(self, one: Comparison) -> Cell:
        return self._number[one.first], self._number[one.second], one.answer

    def _add(self, pair: JudgedPair, sign: float) -> None:
        one, two = self._number[pair.one], self._number[pair.two]
        wins, losses = pair.wins, pair.losses
        ties = 1 - wins - losses
        if not self._ties:
            wins, losses = wins + ties / 2, losses + ties / 2
        table = self._judge[pair.cluster]
        cells: list[tuple[Cell, float]] = [
            ((one, two, "first"), wins),
            ((two, one, "second"), wins),
            ((one, two, "second"), losses),
            ((two, one, "first"), losses),
        ]
        if self._ties:
            cells.append(((one, two, "tie"), ties))
            cells.append(((two, one, "tie"), ties))
        for cell, amount in cells:
            table[cell] += sign * amount / 2
            if sign > 0:
                self._every[cell] += amount / 2

    def _model(self, weight: float) -> Likelihood:
        tables: dict[str, dict[Cell, float]] = {}
        for cluster in sorted(self._people.keys() | self._judge.keys()):
            table = dict(self._people.get(cluster, {}))
            for cell, amount in self._judge.get(cluster, {}).items():
                table[cell] = table.get(cell, 0.0) + weight * amount
            tables[cluster] = table
        return Likelihood(self.columns, tables, prior=True)

    def fitted(self, weight: float) -> Vector | None:
        """The parameters at the maximum; None where there is none."""
        theta, converged = maximum(self._model(weight))
        return theta if converged else None

    def _judges_slopes(self, model: Likelihood, chances: Chances) -> dict[str, Vector]:
        """What each cluster's judgements add to the slope, less what as many average ones would."""
        mean = [x / self._size for x in model.slope(chances, self._every)]
        return {
            cluster: [
                x - self._shares.get(cluster, 0.0) * m
                for x, m in zip(model.slope(chances, table), mean, strict=True)
            ]
            for cluster, table in self._judge.items()
        }

    def best_weight(self, theta: Vector) -> float:
        """The λ from 0 to 1 with the least variance of the strengths, all together."""
        model = self._model(0.0)
        chances = model.chances(theta)
        lower = factored(model.whole_information(theta, chances))
        if lower is None:
            return 0.0
        k = len(self.columns)
        together = squares = 0.0
        nothing = [0.0] * model.size
        slopes = self._judges_slopes(model, chances)
        for cluster in model.tables:
            people = model.slope(chances, self._people.get(cluster, {}))
            a = _centred(solved(lower, people), k)
            b = _centred(solved(lower, slopes.get(cluster, nothing)), k)
            together += math.fsum(x * y for x, y in zip(a, b, strict=True))
            squares += math.fsum(y * y for y in b)
        return min(1.0, max(0.0, -together / squares)) if squares > 0 else 0.0

    def covariances(self, theta: Vector, weight: float) -> tuple[Matrix, Matrix, Matrix]:
        """Of the estimate; of people's answers alone; and of these if they were independent."""
        model = self._model(weight)
        chances = model.chances(theta)
        whole = model.whole_information(theta, chances)
        lower = factored(whole)
        size = model.size
        if lower is None:
            unknown = [[math.inf] * size for _ in range(size)]
            return unknown, unknown, unknown
        slopes = self._judges_slopes(model, chances)
        both, alone = ([[0.0] * size for _ in range(size)] for _ in range(2))
        groups = [0, 0]
        nothing: Vector = [0.0] * size
        for cluster in model.tables:
            people: Table = self._people.get(cluster, {})
            without = lower
            if people:
                # Without this case the matrix may be singular; then the whole one stands in for it.
                without = factored(less(whole, model.information(chances, people))) or lower
            a = solved(without, model.slope(chances, people)) if people else nothing
            b = solved(without, slopes.get(cluster, nothing))
            add_square(both, [x + weight * y for x, y in zip(a, b, strict=True)])
            add_square(alone, a)
            groups = [groups[0] + bool(people or weight), groups[1] + bool(people)]
        prior = solved(lower, model.prior_slope(theta))
        for matrix, number in zip((both, alone), groups, strict=True):
            add_square(matrix, prior)
            for row in matrix:
                row[:] = [x * (number - 1) / number for x in row]
        units = [[float(i == j) for j in range(size)] for i in range(size)]
        return both, alone, [solved(lower, one) for one in units]


def _centred(vector: Vector, k: int) -> Vector:
    mean = math.fsum(vector[:k]) / k
    return [x - mean for x in vector[:k]]


def _spread(matrix: Matrix, k: int) -> float:
    """The variance of the centred strengths, all together."""
    whole = math.fsum(x for row in matrix[:k] for x in row[:k])
    return math.fsum(matrix[i][i] for i in range(k)) - whole / k
