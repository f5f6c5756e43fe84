"""The likelihood of paired comparisons with ties and an effect of the place, its maximum, and how sure that is.

The model is explained in `bradley_terry`. Parameters are the columns' strengths, the effect of the place, and τ where
there are ties.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

Answer = Literal["first", "second", "tie"]
Cell = tuple[int, int, Answer]
"""The column shown first, the other one, and the answer."""
Table = Mapping[Cell, float]
"""How often each was seen."""
Chances = dict[tuple[int, int], tuple[float, float, float]]
"""Of an ordered pair the chances that the first wins, the second, and neither."""

PRIOR = 1.0
"""Comparisons of each column with one of strength 0, and of each place with the other: half won, half lost."""
STEPS = 100
"""Newton steps; about ten are needed."""
LEFT_OUT_WORK = 20_000_000
"""So many multiplications the jackknife may take; beyond, it leaves clusters out of the slope alone."""
_CLOSE = 1e-10
_HALVINGS = 40
_TINY = 1e-300
_PLACES: Mapping[Answer, int] = {"first": 0, "second": 1, "tie": 2}


def logistic(x: float) -> float:
    """1/(1 + exp(−x)), without overflow.

    >>> logistic(0), logistic(-1000)
    (0.5, 0.0)
    """
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x)) if x > -700 else 0.0


class Likelihood:
    """The likelihood of (strengths, place, τ) and its derivatives, table by table."""

    def __init__(self, columns: Sequence[int], tables: Mapping[str, Table], *, prior: bool) -> None:
        self.columns = len(columns)
        self.tables = tables
        total: dict[Cell, float] = defaultdict(float)
        for table in tables.values():
            for cell, weight in table.items():
                total[cell] += weight
        self.total: Table = dict(sorted(total.items()))
        self.with_ties = any(answer == "tie" for _, _, answer in self.total)
        self.size = self.columns + 1 + self.with_ties
        self.prior = [PRIOR] * (self.columns + 1) if prior else []

    def chances(self, theta: Vector) -> Chances:
        """Of each ordered pair that was shown the chances of the three answers."""
        k = self.columns
        tie = theta[k + 1] if self.with_ties else -math.inf
        chances: Chances = {}
        for first, second, _ in self.total:
            if (first, second) not in chances:
                half = (theta[first] - theta[second] + theta[k]) / 2
                # The largest exponent is taken out of all three, so none of them overflows.
                most = max(abs(half), tie)
                one, two = math.exp(half - most), math.exp(-half - most)
                none = math.exp(tie - most)
                total = one + two + none
                chances[first, second] = one / total, two / total, none / total
        return chances

    def value(self, theta: Vector, chances: Chances) -> float:
        """The log-likelihood, prior included."""
        terms = [
            # Far from the maximum a chance can round to 0, which has no logarithm.
            weight * math.log(max(_TINY, chances[first, second][_PLACES[answer]]))
            for (first, second, answer), weight in self.total.items()
        ]
        terms += [
            weight / 2 * math.log(max(_TINY, logistic(x) * logistic(-x)))
            # τ, the last parameter, has no prior.
            for x, weight in zip(theta, self.prior, strict=False)
        ]
        return math.fsum(terms)

    def slope(self, chances: Chances, table: Table) -> Vector:
        """The derivative of a table's log-likelihood, without the prior."""
        k, slope = self.columns, [0.0] * self.size
        for (first, second, answer), weight in table.items():
            one, two, none = chances[first, second]
            sign = (answer == "first") - (answer == "second")
            x = weight * (sign - one + two) / 2
            slope[first] += x
            slope[second] -= x
            slope[k] += x
            if self.with_ties:
                slope[k + 1] += weight * ((answer == "tie") - none)
        return slope

    def prior_slope(self, theta: Vector) -> Vector:
        """The derivative of the prior's log-density; all 0 without one."""
        slope = [0.0] * self.size
        for i, weight in enumerate(self.prior):
            slope[i] = weight * (0.5 - logistic(theta[i]))
        return slope

    def information(self, chances: Chances, table: Table) -> Matrix:
        """Minus the second derivative of a table's log-likelihood, without the prior."""
        k = self.columns
        matrix = [[0.0] * self.size for _ in range(self.size)]
        for (first, second, _), weight in table.items():
            one, two, none = chances[first, second]
            lean = one - two
            both, mixed = weight * (1 - none - lean * lean) / 4, weight * lean * none / 2
            parts = ((first, 1), (second, -1), (k, 1))
            for i, a in parts:
                for j, b in parts:
                    matrix[i][j] += a * b * both
                if self.with_ties:
                    matrix[i][k + 1] -= a * mixed
                    matrix[k + 1][i] -= a * mixed
            if self.with_ties:
                matrix[k + 1][k + 1] += weight * none * (1 - none)
        return matrix

    def whole_information(self, theta: Vector, chances: Chances) -> Matrix:
        """Minus the second derivative of the log-likelihood of all comparisons, with the prior."""
        matrix = self.information(chances, self.total)
        for i, weight in enumerate(self.prior):
            chance = logistic(theta[i])
            matrix[i][i] += weight * chance * (1 - chance)
        if not self.prior:  # only differences of strengths count: this keeps their sum where it is
            for i in range(self.columns):
                for j in range(self.columns):
                    matrix[i][j] += 1.0
        return matrix


def maximum(model: Likelihood) -> tuple[Vector, bool]:
    """The parameters at the maximum, by Newton's method with steps that are halved; and whether it was reached."""
    theta = [0.0] * model.size
    chances = model.chances(theta)
    value = model.value(theta, chances)
    for _ in range(STEPS):
        slope = _added(model.slope(chances, model.total), model.prior_slope(theta))
        lower = factored(model.whole_information(theta, chances))
        if lower is None:
            return theta, False
        step = solved(lower, slope)
        if max(map(abs, step)) < _CLOSE:
            return theta, True
        for _ in range(_HALVINGS):
            chances = model.chances(_added(theta, step))
            better = model.value(_added(theta, step), chances)
            # Close to the maximum, rounding alone can make a good step look slightly worse.
            if better >= value - _CLOSE:
                break
            step = [x / 2 for x in step]
        else:
            return theta, False
        theta, value = _added(theta, step), better
    return theta, False


def covariances(model: Likelihood, theta: Vector) -> tuple[Matrix, Matrix]:
    """The jackknife's covariance over clusters, the prior being one of them; and that of independent answers."""
    chances = model.chances(theta)
    whole = model.whole_information(theta, chances)
    lower = factored(whole)
    if lower is None:
        unknown = [[math.inf] * model.size for _ in range(model.size)]
        return unknown, unknown
    groups = len(model.tables)
    exactly = groups * model.size**3 <= LEFT_OUT_WORK
    covariance = [[0.0] * model.size for _ in range(model.size)]
    for table in model.tables.values():
        without = lower
        if exactly:
            without = factored(less(whole, model.information(chances, table))) or lower
        add_square(covariance, solved(without, model.slope(chances, table)))
    add_square(covariance, solved(lower, model.prior_slope(theta)))
    # Clusters that are really left out take the jackknife's factor, slopes alone that of the sandwich estimator.
    share = (groups - 1) / groups if exactly else groups / max(1, groups - 1)
    units = [[float(i == j) for j in range(model.size)] for i in range(model.size)]
    return [[share * x for x in row] for row in covariance], [solved(lower, one) for one in units]


def _added(left: Vector, right: Vector) -> Vector:
    return [a + b for a, b in zip(left, right, strict=True)]


Vector = list[float]
Matrix = list[list[float]]

_SMALLEST = 1e-13


def factored(matrix: Sequence[Sequence[float]]) -> Matrix | None:
    """Cholesky's factor L of a symmetric matrix, L·Lᵀ; None where it is not positive definite.

    Args:
        matrix: Square; its lower half is read. Without rows: a factor without rows.

    Source: Golub and Van Loan, Matrix Computations (2013), §4.2.

    >>> factored([[4, 2], [2, 5]])
    [[2.0], [1.0, 2.0]]
    """
    lower: Matrix = []
    for i, values in enumerate(matrix):
        row: Vector = []
        for j in range(i):
            other = lower[j]
            row.append(
                (values[j] - sum(a * b for a, b in zip(row, other, strict=False))) / other[j]
            )
        rest = values[i] - sum(a * a for a in row)
        # Written with `not`, so that NaN is refused, too.
        if not rest > _SMALLEST * max(1.0, abs(values[i])):
            return None
        lower.append([*row, math.sqrt(rest)])
    return lower


def solved(lower: Matrix, right: Sequence[float]) -> Vector:
    """The x of L·Lᵀ·x = right.

    Args:
        lower: What `factored` gave.
        right: As long as the matrix has rows.

    >>> solved(factored([[4, 2], [2, 5]]), [8, 12])
    [1.0, 2.0]
    """
    x: Vector = []
    for row, value in zip(lower, right, strict=True):
        x.append((value - sum(a * b for a, b in zip(row, x, strict=False))) / row[-1])
    for i in reversed(range(len(x))):
        rest = x[i] - sum(lower[j][i] * x[j] for j in range(i + 1, len(x)))
        x[i] = rest / lower[i][i]
    return x


def add_square(matrix: Matrix, vector: Vector) -> None:
    """Adds the products of a vector's numbers with each other to a matrix."""
    for i, a in enumerate(vector):
        row = matrix[i]
        for j, b in enumerate(vector):
            row[j] += a * b


def less(left: Matrix, right: Matrix) -> Matrix:
    """The one matrix less the other."""
    return [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]
