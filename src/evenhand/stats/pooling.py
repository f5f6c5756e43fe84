"""Groups of cases looked at together: each one's rate or mean, drawn towards all of them as far as they are alike.

How this works. Of forty groups of ten cases that are equally good, the worst passes 40 % where all pass 70 %. A group's
own rate says something of the group, and how far all groups differ says how much of it is chance. So each group's rate
is a mixture of its own and of the mean of all, and the smaller the group and the more alike the groups, the nearer it
is to that mean (partial pooling, or empirical Bayes).

How far groups truly differ is itself known only roughly. An interval that takes it for known is too narrow, so here
every degree of likeness counts as much as the data support it. That is the correction of Morris's for estimated
hyperparameters, done by summing instead of by an expansion, which needs many groups.

What the intervals promise: of all groups of such a list, 95 % of their intervals contain the group's true value, on
average over the groups and over lists like this one. That is less than a promise for each single group: one that lies
somewhat apart from all others is outside of its interval more often. One that lies far apart is hardly drawn.
`bench/slices.py` measures both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

from evenhand.stats.distributions import beta_quantile, t_quantile
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.roots import crossing
from evenhand.stats.tallies import Share

FEWEST_GROUPS = 4
"""Of fewer groups nobody can tell how alike groups are."""
UNLIKE = 0.02
"""The chance that a group is unlike the others, with any rate from 0 to 1. It keeps outliers where they are."""
_LIKE = math.log1p(-UNLIKE)
_DEGREES = 24
"""Degrees of likeness that are summed over."""
_STEPS = 5
"""Half of the steps over the mean of all groups, and _REACH standard errors that they reach to each side."""
_REACH = 4.0
_CLOSE = 1e-6


class GroupRate(NamedTuple):
    """A group's own pass rate.

    Attributes:
        least: It, from 0 to 1, had all trials in error failed.
        most: The same had they passed.
        n: How many yes-or-no cases say as much as its cases do; above 0.
    """

    least: float
    most: float
    n: float


class PooledMean(NamedTuple):
    """A group's mean, drawn towards the others: in the scores' own unit, with its interval."""

    value: float
    low: float
    high: float


class _Likeness(NamedTuple):
    """One degree of how alike rates are: a beta distribution of the groups' true rates, and what it weighs."""

    weight: float
    mean: float
    size: float


def pooled_rates(groups: Sequence[GroupRate]) -> list[Share]:
    """The groups' pass rates, each drawn towards all of them; in their order.

    The true rates are taken to have a beta distribution, whose mean has a flat prior. Its size is the number of cases
    that the others are worth to a group; the prior of the others' share of the answer, B for a group of the usual size,
    is in proportion to B^(−2/3). A flat one drew groups that differ too near to one another. One group in fifty is
    taken to be unlike the others.

    Args:
        groups: At least FEWEST_GROUPS. They may have cases in common.

    Returns:
        For each its rate with its interval. Errors leave the ends open: all had failed, all had passed, and they had
        driven the groups apart or together.

    Raises:
        ValueError: There are too few groups, a group has no cases, or a rate is not from 0 to 1.

    Source: the beta-binomial model with intervals for estimated hyperparameters is that of Tak, Kelly and Morris,
        J. Stat. Software 78(5) (2017), doi:10.18637/jss.v078.i05, and Morris, J. Am. Stat. Assoc. 78 (1983), 47–55,
        doi:10.1080/01621459.1983.10477920; priors B^(−a): Strawderman, Ann. Math. Stat. 42 (1971),
        doi:10.1214/aoms/1177693528; groups unlike the others: Berger and Berliner, Ann. Stat. 14 (1986),
        doi:10.1214/aos/1176349933. The posterior is summed over a grid, and has the quantiles of the beta distribution
        with its mean and its variance times k/(k − 1) for k groups; that factor and a were chosen by simulation.

    >>> alike = pooled_rates([GroupRate(p, p, 10) for p in (0.4, 0.7, 0.8, 0.9, 0.7)])
    >>> [round(one.least, 2) for one in alike]
    [0.55, 0.69, 0.74, 0.78, 0.69]
    """
    for least, most, n in groups:
        if not 0 <= least <= most <= 1 or not n > 0:
            msg = f"a rate from {least} to {most} of {n} cases"
            raise ValueError(msg)
    _enough(len(groups))
    centre = math.fsum(one.least + one.most for one in groups) / (2 * len(groups))
    low_ones = [one.least + one.most < 2 * centre for one in groups]
    lists = {
        tuple(one.least for one in groups): None,
        tuple(one.most for one in groups): None,
        tuple(g.least if low else g.most for g, low in zip(groups, low_ones, strict=True)): None,
        tuple(g.most if low else g.least for g, low in zip(groups, low_ones, strict=True)): None,
    }
    each: list[list[tuple[float, float, float]]] = []
    for shares in lists:
        counts = [(share * one.n, one.n) for share, one in zip(shares, groups, strict=True)]
        degrees = _degrees(counts)
        # Equal groups have equal answers: a large list has few different ones.
        wider = len(groups) / (len(groups) - 1)
        answers = {count: _rate(count, degrees, wider) for count in set(counts)}
        each.append([answers[count] for count in counts])
    return [
        Share(
            min(value for value, _, _ in one),
            max(value for value, _, _ in one),
            min(low for _, low, _ in one),
            max(high for _, _, high in one),
        )
        for one in zip(*each, strict=True)
    ]


def pooled_means(groups: Sequence[tuple[float, float]]) -> list[PooledMean]:
    """The groups' means, each drawn towards all of them; in their order.

    The true means are taken to have a normal distribution, whose mean has a flat prior; priors as in `pooled_rates`.

    Args:
        groups: At least FEWEST_GROUPS: each one's mean, and the variance of that mean, above 0.

    Raises:
        ValueError: There are too few groups, or a variance is not above 0.

    Source: as `pooled_rates`; the normal model is Morris's (1983), §1. The quantiles are those of the mixture of
        normal distributions that the sum is.

    >>> [round(one.value, 2) for one in pooled_means([(y, 1) for y in (-2, 0, 0, 1, 1)])]
    [-0.94, 0.0, 0.0, 0.47, 0.47]
    """
    for mean, error in groups:
        if not math.isfinite(mean) or not 0 < error < math.inf:
            msg = f"a mean of {mean} with the variance {error}"
            raise ValueError(msg)
    _enough(len(groups))
    usual = _usual([error for _, error in groups])
    fits: list[tuple[float, float, float, float]] = []
    for others in _shares():
        between = usual * (1 - others) / others
        weights = [1 / (between + error) for _, error in groups]
        total = math.fsum(weights)
        mean = math.fsum(w * m for w, (m, _) in zip(weights, groups, strict=True)) / total
        off = math.fsum(w * (m - mean) ** 2 for w, (m, _) in zip(weights, groups, strict=True))
        log = (math.fsum(map(math.log, weights)) - math.log(total) - off) / 2
        fits.append((log, between, mean, 1 / total))
    most, wider = max(log for log, *_ in fits), len(groups) / (len(groups) - 1)
    whole = math.fsum(math.exp(log - most) for log, *_ in fits)
    return [
        _mean(
            [
                (
                    math.exp(log - most) / whole,
                    (between * own + error * mean) / (between + error),
                    wider
                    * error
                    / (between + error)
                    * (between + error / (between + error) * mean_error),
                )
                for log, between, mean, mean_error in fits
            ],
        )
        for own, error in groups
    ]


def worth_of_units(units: Sequence[float], most: float) -> float:
    """How many yes-or-no cases a case with repeats is worth, or a cluster of cases: at least 1.

    That is the ratio of the variances of a mean over yes-or-no cases and of the mean over these units. The latter is of
    as many units as there are, so Student's quantile takes the normal's place.

    Args:
        units: Their pass rates, from 0 to 1.
        most: What it is at most: how many trials a unit has.

    Source: the effective sample size is Kish's (Survey Sampling, 1965).

    >>> worth_of_units([1, 0] * 20, 5), worth_of_units([0.4, 0.6] * 20, 5)
    (1.0, 5)
    """
    if len(units) < 2:
        return 1.0
    mean, free = math.fsum(units) / len(units), len(units) - 1
    squares = math.fsum((unit - mean) ** 2 for unit in units) * len(units) / free
    squares *= (t_quantile(CONFIDENCE, free) / z_of()) ** 2
    # Units that are all alike don't tell what repeats are worth.
    return min(most, max(1.0, len(units) * mean * (1 - mean) / squares)) if squares > 0 else 1.0


def _enough(groups: int) -> None:
    if groups < FEWEST_GROUPS:
        msg = f"{groups} groups do not tell how alike groups are: it takes {FEWEST_GROUPS}"
        raise ValueError(msg)


def _shares() -> Iterator[float]:
    """The others' share of the answer for a group of the usual size, so that each weighs the same in the prior."""
    return (((i + 0.5) / _DEGREES) ** 3 for i in range(_DEGREES))


def _usual(sizes: Sequence[float]) -> float:
    """The size of the usual group: the harmonic mean, which small groups decide."""
    return len(sizes) / math.fsum(1 / size for size in sizes)


def _degrees(counts: Sequence[tuple[float, float]]) -> list[_Likeness]:
    """What the data say of how alike the groups' rates are, over a grid of its two numbers."""
    different = Counter(counts)
    usual = _usual([n for _, n in counts])
    unlike = {pair: _log_unlike(*pair) for pair in different}
    nodes: list[tuple[float, float, float]] = []
    for others in _shares():
        size = usual * others / (1 - others)
        # What a group is worth for the mean of all: no more than `size` + 1 cases, however many it has.
        worth = {pair: (size + 1) / (size + pair[1]) for pair in different}
        n = math.fsum(pair[1] * worth[pair] * k for pair, k in different.items())
        passed = math.fsum(pair[0] * worth[pair] * k for pair, k in different.items())
        middle = (passed + 0.5) / (n + 1)
        # Steps are even in the log odds, where the mean's distribution is nearly normal.
        step = _REACH / _STEPS / math.sqrt((n + 1) * middle * (1 - middle))
        for i in range(-_STEPS, _STEPS + 1):
            mean = 1 / (1 + (1 / middle - 1) * math.exp(-i * step))
            if not 0 < mean < 1:
                continue
            log = math.log(step * mean * (1 - mean))
            log += math.fsum(
                k * _log_sum(_LIKE + _log_beta_binomial(*pair, mean, size), unlike[pair])
                for pair, k in different.items()
            )
            nodes.append((log, mean, size))
    most = max(log for log, _, _ in nodes)
    whole = math.fsum(math.exp(log - most) for log, _, _ in nodes)
    return [
        _Likeness(weight, mean, size)
        for log, mean, size in nodes
        # What weighs next to nothing only takes time.
        if (weight := math.exp(log - most) / whole) > 1e-5
    ]


def _log_unlike(passed: float, n: float) -> float:
    """The logarithm of the chance of so many passes of a group that is unlike the others, weighted with that of one."""
    return math.log(UNLIKE) + _log_beta_binomial(passed, n, 0.5, 2.0)


def _log_sum(first: float, second: float) -> float:
    """The logarithm of a sum, from those of its parts."""
    if first < second:
        first, second = second, first
    return first + math.log1p(math.exp(second - first))


def _log_beta_binomial(passed: float, n: float, mean: float, size: float) -> float:
    a, b, log = size * mean, size * (1 - mean), math.lgamma
    chance = log(passed + a) - log(a) + log(n - passed + b) - log(b)
    return chance - log(n + size) + log(size)


def _rate(
    count: tuple[float, float], degrees: Sequence[_Likeness], wider: float
) -> tuple[float, float, float]:
    """A group's rate with its interval, of so many times the variance."""
    passed, n = count
    unlike = _log_unlike(passed, n)
    parts: list[tuple[float, float, float]] = []
    for weight, mean, size in degrees:
        like = 1 / (
            1 + math.exp(min(700.0, unlike - _LIKE - _log_beta_binomial(passed, n, mean, size)))
        )
        parts.append((weight * like, (passed + size * mean) / (n + size), n + size + 1))
        parts.append((weight * (1 - like), (passed + 1) / (n + 2), n + 3))
    whole = math.fsum(w for w, _, _ in parts)
    value = math.fsum(w * mean for w, mean, _ in parts) / whole
    variance = math.fsum(w * (m * (1 - m) / size + (m - value) ** 2) for w, m, size in parts)
    sure = max(value * (1 - value) / (variance / whole * wider) - 1, 1e-6)
    tail = (1 - CONFIDENCE) / 2
    a, b = value * sure, (1 - value) * sure
    # Where the end of the scale is the likeliest of all values, the interval reaches to it.
    return (
        value,
        0.0 if a <= 1 else beta_quantile(a, b, tail, _CLOSE),
        1.0 if b <= 1 else beta_quantile(a, b, 1 - tail, _CLOSE),
    )


def _mean(parts: Sequence[tuple[float, float, float]]) -> PooledMean:
    """The mean and the quantiles of a mixture of normal distributions: for each its weight, mean and variance."""
    value = math.fsum(weight * mean for weight, mean, _ in parts)
    normals = [(weight, NormalDist(mean, math.sqrt(spread))) for weight, mean, spread in parts]
    reach = 2 * z_of()
    low = min(one.mean - reach * one.stdev for _, one in normals)
    high = max(one.mean + reach * one.stdev for _, one in normals)

    def quantile(share: float) -> float:
        def miss(place: float) -> float:
            return math.fsum(weight * one.cdf(place) for weight, one in normals) - share

        return crossing(miss, low, high)

    tail = (1 - CONFIDENCE) / 2
    return PooledMean(value, quantile(tail), quantile(1 - tail))
