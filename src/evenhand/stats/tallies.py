"""What trials in error leave open: tallies of cases, and the ranges of the rates that are worked out from them.

A trial in error may have been a pass or a failure. So a case's share of passes is a range: from what it would be had
all of its errors failed to what it would be had all of them passed. Every number that rests on such cases is a range,
too, and its interval reaches from the lower end of the one's to the upper end of the other's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import NamedTuple

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.interval import CONFIDENCE, wilson


class OpenNumber(NamedTuple):
    """A number that errors may leave open: from `least` to `most`, in its own unit."""

    least: float
    most: float

    @property
    def value(self) -> float | None:
        """The number; None where errors leave it open."""
        return self.least if self.least == self.most else None


class Tally(NamedTuple):
    """How many of a case's trials passed, failed, and are in error. What did not apply, or never ran, is in none."""

    passed: int = 0
    failed: int = 0
    errors: int = 0

    @property
    def n(self) -> int:
        """How many trials count."""
        return self.passed + self.failed + self.errors

    @property
    def known(self) -> int:
        """How many trials came to an end, without an error."""
        return self.passed + self.failed

    @property
    def least(self) -> float:
        """The share that passed had all errors failed, from 0 to 1. Of no trials there is none: ZeroDivisionError."""
        return self.passed / self.n

    @property
    def most(self) -> float:
        """The share that passed had all errors passed, from 0 to 1."""
        return (self.passed + self.errors) / self.n

    @property
    def flaky(self) -> bool:
        """Whether some trials passed and others failed; errors prove neither."""
        return self.passed > 0 and self.failed > 0


@cache  # a few different tallies serve any number of cases
def counted(tally: Tally, outcome: str) -> Tally:
    """A tally with one outcome more: pass, fail or error; any other is not counted."""
    passed, failed, errors = tally
    return Tally(
        passed + (outcome == "pass"), failed + (outcome == "fail"), errors + (outcome == "error")
    )


@cache
def tally_of(passed: int, failed: int, errors: int) -> Tally:
    """The tally with these counts; the same object for the same counts."""
    return Tally(passed, failed, errors)


class Share(NamedTuple):
    """A mean of shares from 0 to 1, as far as it is known.

    Attributes:
        least: What it is had all errors failed.
        most: What it is had all errors passed; the same without errors.
        low: The lower end of its interval.
    """

    least: float
    most: float
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share; None where errors leave it open."""
        return self.least if self.least == self.most else None


def rate_of(tallies: Iterable[Tally], confidence: float = CONFIDENCE) -> Share | None:
    """The pass rate over cases. Every case counts once, however many trials it has.

    Args:
        tallies: One for each case. Those of no trials are left out.
        confidence: Of the interval, two-sided.

    Returns:
        The mean of the cases' shares; None for no cases.

    Source: the interval is that of `mean_on_scale`, Wilson's where every case passed always or never.

    >>> rate_of([Tally(1, 0, 1), Tally(2, 0, 0)])[:2]
    (0.75, 1.0)
    """
    different = Counter(tallies)  # a large run has few different ones
    del different[Tally()]  # a Counter takes no offence where there is none
    if not different:
        return None

    def each(value: Callable[[Tally], float]) -> list[float]:
        return [x for tally, cases in different.items() for x in [value(tally)] * cases]

    return share_of(
        each(lambda tally: tally.least),
        each(lambda tally: tally.most) if any(tally.errors for tally in different) else None,
        confidence,
    )


def rate_over_clusters(clusters: Iterable[Sequence[Tally]]) -> Share | None:
    """The pass rate over clusters of cases that belong together. Every cluster counts once, however many cases it has.

    So the interval holds for clusters like these, whatever their sizes; copies of a case change nothing.

    Args:
        clusters: The tallies of the cases of each. Those of no trials are left out.

    Returns:
        The mean of the clusters' rates; None for no trials.

    Source: as `rate_of`; the mean over clusters with equal weights is Cochran's (Sampling Techniques, 1977, §9A.1).

    >>> rate_over_clusters([[Tally(1, 0, 0)] * 8, [Tally(0, 1, 0)]])[:2]
    (0.5, 0.5)
    """
    trials = [[tally for tally in cluster if tally.n] for cluster in clusters]
    units = [cluster for cluster in trials if cluster]
    if not units:
        return None

    def each(value: Callable[[Tally], float]) -> list[float]:
        return [math.fsum(map(value, cluster)) / len(cluster) for cluster in units]

    return share_of(
        each(lambda tally: tally.least),
        each(lambda tally: tally.most) if any(t.errors for c in units for t in c) else None,
    )


def rate_of_decisions(tallies: Iterable[Tally]) -> Share | None:
    """The share of all trials that passed, where cases have different numbers of them by chance, as in a precision.

    A case counts as often as it has trials: were each to count once, one wrong answer in ten repeats of a case would
    weigh as much as ten right ones of another. How sure the share is goes by cases, which are clusters.

    Args:
        tallies: One for each case. Those of no trials are left out.

    Returns:
        None for no trials.

    Source: the ratio of two means over clusters (Cochran, Sampling Techniques, 1977, §9A.1); the interval is that of
        `mean_on_scale`, Wilson's where every case passed always or never and all have as many trials.

    >>> rate_of_decisions([Tally(3, 0, 0), Tally(0, 1, 0)])[:2]
    (0.75, 0.75)
    """
    different = Counter(tallies)
    del different[Tally()]
    if not different:
        return None
    largest = max(tally.n for tally in different)

    def each(passed: Callable[[Tally], int]) -> tuple[float, float, float]:
        units = (
            # Where all cases have as many trials, each weighs 1, and Wilson's interval applies.
            (passed(tally) / largest, tally.n / largest)
            for tally, cases in different.items()
            for _ in range(cases)
        )
        return mean_on_scale(units, (0, 1)) or (0.0, 0.0, 1.0)

    least, low, high = each(lambda tally: tally.passed)
    if not any(tally.errors for tally in different):
        return Share(least, least, low, high)
    most, _, high = each(lambda tally: tally.passed + tally.errors)
    return Share(least, most, low, high)


def rate_of_trials(tally: Tally) -> Share | None:
    """The pass rate of trials each of which is a case of its own; None for no trials.

    >>> rate_of_trials(Tally(7, 1, 2))[:2]
    (0.7, 0.9)
    """
    if not tally.n:
        return None
    low, _ = wilson(tally.passed, tally.n)
    _, high = wilson(tally.passed + tally.errors, tally.n)
    return Share(tally.least, tally.most, low, high)


def worth_of(sizes: Iterable[float]) -> float:
    """How many yes-or-no cases one case can be worth, on average: the harmonic mean of the cases' numbers of trials.

    Were all trials independent, with variance v, the mean of the cases' shares would have that of so many trials for
    each case: v · Σ(1/n) / G². Of equal numbers it is that number; where most cases have one trial, a few that have
    many add next to nothing.

    Args:
        sizes: Each case's number of trials, at least 1.

    >>> worth_of([5, 5, 5, 5]), round(worth_of([10, 1, 1, 1, 1]), 2)
    (5.0, 1.22)
    """
    different = Counter(sizes)  # a large run has few different ones
    inverses = (1 / size for size in different.elements())
    return max(1.0, different.total() / math.fsum(inverses)) if different else 1.0


def share_of(
    least: Sequence[float], most: Sequence[float] | None, confidence: float = CONFIDENCE
) -> Share:
    """The mean of cases' shares with its interval; see `mean_on_scale`.

    Args:
        least: Each case's share had all errors failed; one case at least.
        most: The same had all errors passed; None where no trial is in error.
        confidence: Of the interval, two-sided.

    Raises:
        ValueError: There are no cases, or a share is not from 0 to 1.
    """
    mean, low, high = _mean(least, confidence)
    if most is None:
        return Share(mean, mean, low, high)
    highest, _, high = _mean(most, confidence)
    return Share(mean, highest, low, high)


def _mean(shares: Sequence[float], confidence: float) -> tuple[float, float, float]:
    estimate = mean_on_scale(((share, 1) for share in shares), (0, 1), confidence)
    if estimate is None:
        msg = "no cases have no mean"
        raise ValueError(msg)
    return estimate


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
        clusters: How many clusters those make; as many as cases where each stands alone.
        once: The share that passes at least once in k tries (pass@k).
        always: The share that passes every time (pass^k).
    """

    k: int
    cases: int
    clusters: int
    once: Share
    always: Share


def of_tries(clusters: Iterable[Sequence[Tally]], k: int) -> OfTries | None:
    """pass@k and pass^k over cases, so that neither repeats nor cases that belong together pass for more cases.

    Trials in error may have passed or failed: see `evenhand.stats.tallies`.

    Args:
        clusters: The tallies of the cases of each, which counts once; of a case that stands alone, its own.
        k: Tries, at least 1.

    Returns:
        None where no case has so many repeats.
    """
    enough = [each for cluster in clusters if (each := [t for t in cluster if t.n >= k])]
    if not enough:
        return None
    broken = any(tally.errors for each in enough for tally in each)

    def share(estimate: Callable[[int, int, int], float]) -> Share:
        least = [fmean(estimate(t.n, t.passed, k) for t in each) for each in enough]
        if not broken:
            return share_of(least, None)
        return share_of(
            least, [fmean(estimate(t.n, t.passed + t.errors, k) for t in each) for each in enough]
        )

    return OfTries(k, sum(map(len, enough)), len(enough), share(pass_at), share(pass_hat))


def _check(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and 1 <= k <= n):
        msg = f"{passed} of {n} passed, in {k} tries"
        raise ValueError(msg)
