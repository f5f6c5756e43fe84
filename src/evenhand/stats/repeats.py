"""What repeats of a case say: whether it passes at least once in k tries, and whether it passes every time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.tallies import Share, Tally, share_of


def pass_at(n: int, passed: int, k: int) -> float:
    """The chance, from 0 to 1, that at least one of k repeats of a case passes: pass@k, without bias.

    Args:
        n: How many repeats of the case there were.
        passed: How many of them passed.
        k: How many tries, from 1 to n.

    Raises:
        ValueError: It cannot be: more passed than there were, or more tries than repeats.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), arXiv:2107.03374, §2.1.

    >>> round(pass_at(10, 3, 5), 7)
    0.9166667
    """
    _check(n, passed, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat(n: int, passed: int, k: int) -> float:
    """The chance, from 0 to 1, that all of k repeats of a case pass: pass^k, without bias. Arguments as `pass_at`.

    Source: Yao et al., "τ-bench" (2024), arXiv:2406.12045, §3.

    >>> round(pass_hat(4, 2, 2), 7)
    0.1666667
    """
    _check(n, passed, k)
    return math.comb(passed, k) / math.comb(n, k)


@dataclass(frozen=True, slots=True)
class OfTries:
    """Over all cases, how many pass in k tries: shares from 0 to 1.

    Attributes:
        k: Tries.
        cases: Cases with at least so many repeats, those in error counted; the others are left out.
        once: The share that passes at least once in k tries (pass@k).
        always: The share that passes every time (pass^k).
    """

    k: int
    cases: int
    once: Share
    always: Share


def of_tries(tallies: Sequence[Tally], k: int, confidence: float = CONFIDENCE) -> OfTries | None:
    """pass@k and pass^k over cases, each case counting once, so that repeats do not pass for more cases.

    Trials in error may have passed or failed: see `evenhand.stats.tallies`.

    Args:
        tallies: One for each case.
        k: Tries, at least 1.
        confidence: Of the intervals, two-sided.

    Returns:
        None where no case has so many repeats.
    """
    enough = [tally for tally in tallies if tally.n >= k]
    if not enough:
        return None
    broken = any(tally.errors for tally in enough)

    def share(estimate: Callable[[int, int, int], float]) -> Share:
        least = [estimate(tally.n, tally.passed, k) for tally in enough]
        most = [estimate(tally.n, tally.passed + tally.errors, k) for tally in enough]
        return share_of(least, most if broken else None, confidence)

    return OfTries(k, len(enough), share(pass_at), share(pass_hat))


def _check(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and 1 <= k <= n):
        msg = f"{passed} of {n} passed, in {k} tries"
        raise ValueError(msg)
