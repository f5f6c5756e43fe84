"""How the votes of several judges combine into one verdict, learned from labels: whom to listen to, and how much.

How it works: the chance that people pass an output is a logistic function of the judges' votes, each with a weight of
its own. The weights are drawn towards one another, and towards a vote that counts the same for and against. So without
labels the combination is the majority, and it moves away from it only as far as the labels show. Judges that copy one
another share their weight, which independent error rates (naive Bayes, Dawid and Skene) would count twice.

What is said of the combination has to come from items that it was not fitted to: see `cross_fitted`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

PRIOR_WEIGHT = 1.0
"""The log-odds that a vote is worth before anything is known."""
APART = 0.5
"""How far the weights of two judges lie apart before anything is known: a standard deviation, in log-odds."""
TOGETHER = 1.0
"""How far all weights may move together: a standard deviation, in log-odds."""
SHIFT = 1.0
"""How far the intercept may be from 0: a standard deviation, in log-odds."""

_STEPS = 50
_HALVINGS = 40
_CLOSE = 1e-10


class VoteWeights(NamedTuple):
    """What the votes of judges are worth.

    Attributes:
        intercept: The log-odds that people pass an output on which the votes cancel out.
        weights: For each judge the log-odds of one vote; one for pass adds it, one for fail takes it away.
    """

    intercept: float
    weights: tuple[float, ...]

    def chance(self, votes: Sequence[float]) -> float:
        """The chance that people pass an output, from 0 to 1.

        Args:
            votes: For each judge +1 for pass, −1 for fail, 0 for none; the sum where it voted several times.

        >>> round(VoteWeights(0.0, (1.0, 1.0, 1.0)).chance([1, 1, -1]), 3)
        0.731
        """
        return _logistic(self._odds(votes))

    def passes(self, votes: Sequence[float]) -> bool:
        """Whether the votes come to a pass: the chance is above one half."""
        # A tie does not pass, and rounding must not turn one into a pass.
        return self._odds(votes) > _CLOSE

    def _odds(self, votes: Sequence[float]) -> float:
        return self.intercept + math.fsum(w * v for w, v in zip(self.weights, votes, strict=True))


def fitted_weights(votes: Sequence[Sequence[float]], passes: Sequence[bool]) -> VoteWeights:
    """The weights under which people's labels are the most likely, held back by the prior.

    Args:
        votes: For each labelled output, what each judge voted; see `VoteWeights.chance`. All of one length.
        passes: For each of them, whether people pass it.

    Returns:
        The majority, each vote worth `PRIOR_WEIGHT`, for no outputs. No weights for no judges.

    Source: logistic regression with a normal prior (ridge), fitted by Newton's method: le Cessie and van Houwelingen,
        Applied Statistics 41 (1992), doi:10.2307/2347628. The prior's covariance is APART² I + TOGETHER² 11ᵀ.

    >>> fitted_weights([], [])
    VoteWeights(intercept=0.0, weights=())
    """
    size = len(votes[0]) if votes else 0
    # A few judges vote in a few ways: each way is worked out once, however many outputs it is of.
    labels: dict[tuple[float, ...], list[int]] = {}
    for row, ok in zip(votes, passes, strict=True):
        labels.setdefault((1.0, *row), [0, 0])[ok] += 1
    ways = [(row, failed, passed) for row, (failed, passed) in labels.items()]
    columns = list(zip(*labels, strict=True)) or [()] * (size + 1)
    precision = _precision(size)
    start = [0.0] + [PRIOR_WEIGHT] * size
    theta = start

    def odds_at(theta: Sequence[float]) -> list[float]:
        return [math.fsum(map(operator.mul, theta, row)) for row, _, _ in ways]

    def likelihood(theta: Sequence[float]) -> float:
        """The logarithm of it and of the prior, but for a constant."""
        moved = [t - s for t, s in zip(theta, start, strict=True)]
        prior = math.fsum(
            moved[i] * q * moved[j] for i, row in enumerate(precision) for j, q in enumerate(row)
        )
        observed = math.fsum(
            passed * _log_logistic(odds) + failed * _log_logistic(-odds)
            for odds, (_, failed, passed) in zip(odds_at(theta), ways, strict=True)
        )
        return observed - prior / 2

    before = likelihood(theta)
    for _ in range(_STEPS):
        chances = [_logistic(odds) for odds in odds_at(theta)]
        # For each way to vote: by how much more of its outputs people pass than expected, and how that varies.
        beyond = [
            passed - (failed + passed) * p
            for p, (_, failed, passed) in zip(chances, ways, strict=True)
        ]
        spread = [
            (failed + passed) * p * (1 - p)
            for p, (_, failed, passed) in zip(chances, ways, strict=True)
        ]
        gradient = [
            math.fsum(map(operator.mul, beyond, column))
            - math.fsum(q * (t - s) for q, t, s in zip(precision[i], theta, start, strict=True))
            for i, column in enumerate(columns)
        ]
        curvature = [list(row) for row in precision]
        for i, column in enumerate(columns):
            spread_of_one = list(map(operator.mul, spread, column))
            for j in range(i + 1):
                curvature[i][j] += math.fsum(map(operator.mul, spread_of_one, columns[j]))
                curvature[j][i] = curvature[i][j]
        step = _solved(curvature, gradient)
        # A whole step may lead far past the maximum where all chances are near 0 or 1, as those of large juries are.
        for halvings in range(_HALVINGS):
            after = [t + s / 2**halvings for t, s in zip(theta, step, strict=True)]
            there = likelihood(after)
            if there >= before - _CLOSE:
                theta, before = after, there
                break
        if max(map(abs, step)) < _CLOSE:
            break
    return VoteWeights(theta[0], tuple(theta[1:]))


def cross_fitted(
    votes: Sequence[Sequence[float]], passes: Sequence[bool], folds: Sequence[int]
) -> list[bool]:
    """What the combination makes of each output, with weights that were fitted to the other folds alone.

    Args:
        votes: See `fitted_weights`.
        passes: See there.
        folds: For each output the number of its fold. Outputs of one case belong in one fold.
    """
    verdicts = [False] * len(votes)
    for fold in sorted(set(folds)):
        others = [i for i, one in enumerate(folds) if one != fold]
        weights = fitted_weights([votes[i] for i in others], [passes[i] for i in others])
        if not others:  # nothing to go by: the majority
            weights = VoteWeights(0.0, (PRIOR_WEIGHT,) * len(votes[0]))
        for i, one in enumerate(folds):
            if one == fold:
                verdicts[i] = weights.passes(votes[i])
    return verdicts


def _precision(size: int) -> list[list[float]]:
    """The inverse of the prior's covariance, the intercept's first."""
    apart = 1 / APART**2
    shared = apart * TOGETHER**2 / (APART**2 + size * TOGETHER**2)
    of_votes = [[apart * (i == j) - shared for j in range(size)] for i in range(size)]
    return [[1 / SHIFT**2] + [0.0] * size, *([0.0, *row] for row in of_votes)]


def _logistic(odds: float) -> float:
    if odds >= 0:
        return 1 / (1 + math.exp(-odds))
    grown = math.exp(odds)
    return grown / (1 + grown)


def _log_logistic(odds: float) -> float:
    return min(odds, 0.0) - math.log1p(math.exp(-abs(odds)))


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a positive definite system, by elimination."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(n):
        for j in range(i + 1, n):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
    solution = [0.0] * n
    for i in reversed(range(n)):
        known = math.fsum(rows[i][j] * solution[j] for j in range(i + 1, n))
        solution[i] = (rows[i][n] - known) / rows[i][i]
    return solution
