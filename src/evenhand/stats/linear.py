"""Systems of a few linear equations, in plain Python: importing NumPy takes longer than solving them."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
