"""What a mean owes its uncertainty to: how much cases differ, and how much the repeats of a case do.

How this works. A mean over cases, or the mean difference of two variants, varies from one sample to another. Part of
that is which cases were drawn, part is what the repeats of a case happened to come to. The variance of the cases' means
holds both; how repeats of a case differ says how much of it is theirs, and the rest is that of the cases. With both
parts the variance can be foretold for any number of cases and repeats.

Each case counts once, and so does each cluster of cases, as everywhere; so the estimators are those of unweighted
means. They have no bias for unequal repeats, missing trials and cases that waver more than others: no variance is taken
to be the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import NamedTuple

from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.distributions import t_quantile
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.roots import crossing

FEWEST_UNITS = 5
"""Of fewer cases, or clusters of them, no variance is known."""


class CaseSides(NamedTuple):
    """A case's trials that have a value; those in error have none and are left out.

    Attributes:
        sides: For a mean one list of values; for a difference two, and it is the mean of the second minus that of the
            first. None of them is empty.
        cluster: What it belongs to; None where it stands alone.
    """

    sides: tuple[Sequence[float], ...]
    cluster: int | None = None


class Part(NamedTuple):
    """A part of a variance, in the square of the scores' unit.

    Attributes:
        value: An estimate without bias, or 0 where that is below 0, as it is by chance where the part is small.
        low: The lower end of its interval, at least 0.
        high: The upper end; infinite where it is not known.
    """

    value: float
    low: float
    high: float


class VarianceParts(NamedTuple):
    """The parts of the variance of a unit's mean: of a cluster's, or a case's where each stands alone.

    Attributes:
        clusters: How much clusters differ; None where each case stands alone.
        cases: How much cases differ, within a cluster where there are any. Where nothing was repeated, it holds the
            repeats' part.
        repeats: How much the repeats of a case differ, of all sides together; None where nothing was repeated.
        within: The same for each side by itself.
        tries: How many repeats a case has on each side (the harmonic mean).
        members: How many cases a cluster has (the harmonic mean); 1 without clusters.
        measured: The variance of the units' means.
    """

    units: int
    clusters: Part | None
    cases: Part
    repeats: Part | None
    within: tuple[float | None, ...]
    tries: tuple[float, ...]
    members: float
    measured: float

    def of_unit(self, tries: Sequence[float]) -> float:
        """The variance of a unit's mean with so many repeats on each side.

        A side whose repeats' part is not known counts as it was.

        Raises:
            ValueError: A number of repeats is not above 0.
        """
        if len(tries) != len(self.tries) or not all(one > 0 for one in tries):
            msg = f"{list(tries)} repeats on {len(self.tries)} sides"
            raise ValueError(msg)
        parts = [
            (within / before, within / now)
            for within, before, now in zip(self.within, self.tries, tries, strict=True)
            if within is not None
        ]
        noise = math.fsum(before for before, _ in parts) / self.members
        # By chance the repeats of a case may vary more than the cases' means do: then all of it is theirs.
        theirs = min(1.0, self.measured / noise) if noise else 0.0
        return self.measured - theirs * (noise - math.fsum(now for _, now in parts) / self.members)

    def of_mean(self, units: int, tries: Sequence[float]) -> float:
        """The variance of the mean over so many units, with so many repeats of each case on each side.

        Raises:
            ValueError: A number is not above 0.
        """
        if units < 1:
            msg = f"{units} cases have no mean"
            raise ValueError(msg)
        return self.of_unit(tries) / units


def variance_parts(cases: Iterable[CaseSides], reach: float | None = None) -> VarianceParts | None:
    """The parts of the variance of a mean, or of a paired difference, over cases.

    Args:
        cases: Each with its trials. All have as many sides.
        reach: How far apart two scores can be: 1 for pass rates. None where nobody knows.

    Returns:
        None for fewer than FEWEST_UNITS cases or clusters.

    Raises:
        ValueError: A side of a case is empty.

    Source: the analysis of variance of unweighted means, for nested effects (Burdick and Graybill, Confidence Intervals
        on Variance Components, 1992, §5.3, after Thomas and Hultquist, Ann. Stat. 6 (1978),
        doi:10.1214/aos/1176344202); for balanced data it is the usual one. The interval of a variance is Bonett's,
        which allows for heavy tails (Comput. Stat. Data Anal. 50 (2006), doi:10.1016/j.csda.2004.10.003); that of the
        repeats' part is one of a mean over cases. Those of differences of such parts come from the ends of both, as in
        Graybill and Wang, J. Am. Stat. Assoc. 75 (1980), doi:10.1080/01621459.1980.10477565.

    >>> cases = [CaseSides(([1, 1],)), CaseSides(([0, 0],)), CaseSides(([1, 0],))] * 4
    >>> parts = variance_parts(cases, 1)
    >>> round(parts.cases.value, 4), round(parts.repeats.value, 4), round(parts.of_mean(12, [2]), 4)
    (0.0985, 0.1667, 0.0152)
    """
    every = list(cases)
    if any(not values for case in every for values in case.sides):
        msg = "a case without values has no mean"
        raise ValueError(msg)
    clusters = _clusters(every)
    if len(clusters) < FEWEST_UNITS:
        return None
    sides = range(len(every[0].sides))
    within: list[float | None] = []
    for k in sides:
        own = [_variance(one.sides[k]) for one in every if len(one.sides[k]) > 1]
        within.append(fmean(own) if own else None)
    known = [one for one in within if one is not None]
    repeats = _repeats(every, within, reach, CONFIDENCE) if known else None

    noise = [[_noise(case, within) for case in cluster] for cluster in clusters]
    means = [[_mean(case) for case in cluster] for cluster in clusters]
    unit_means = [fmean(one) for one in means]
    spread, centre = _variance(unit_means), fmean(unit_means)
    total, off = (
        _of_variance(unit_means, spread, CONFIDENCE),
        [(m - centre) ** 2 for m in unit_means],
    )
    inner = [(_variance(m), fmean(n)) for m, n in zip(means, noise, strict=True) if len(m) > 1]
    if not inner:
        lost = [own for (own,) in noise]
        clusters_part = None
        cases_part = _rest(total, _scaled(repeats, fmean(lost)), _together(off, lost))
    else:
        spreads, lost = [one for one, _ in inner], [one for _, one in inner]
        most = None if reach is None else (len(sides) * reach) ** 2 / 2
        inside = _of_mean(spreads, most, CONFIDENCE)
        cases_part = _rest(inside, _scaled(repeats, fmean(lost)), _together(spreads, lost))
        # Of a cluster with one case it is not known how its cases differ: as those of others do.
        usual = max(0.0, fmean(spreads) - fmean(lost))
        lost = [
            _variance(m) / len(m) if len(m) > 1 else usual + n[0]
            for m, n in zip(means, noise, strict=True)
        ]
        clusters_part = _rest(total, _scaled(inside, fmean(lost)), _together(off, lost))
    return VarianceParts(
        units=len(clusters),
        clusters=clusters_part,
        cases=cases_part,
        repeats=repeats,
        within=tuple(within),
        tries=tuple(_harmonic(len(case.sides[k]) for case in every) for k in sides),
        members=_harmonic(map(len, clusters)),
        measured=spread,
    )


def judge_part(agreement: tuple[float, float, float]) -> Part:
    """How much verdicts on the same output differ, from how often two of them agree: the share, and its interval.

    Two verdicts of one chance p differ with the chance 2p(1 − p), twice their variance.

    >>> judge_part((0.9, 0.8, 0.95))
    Part(value=0.05, low=0.025, high=0.1)
    """
    return Part(*(round((1 - agreement[i]) / 2, 12) for i in (0, 2, 1)))


def wording_part(wordings: Sequence[Sequence[float]]) -> tuple[Part, Part]:
    """How much the mean moves with the wording, and how much a case's own answer does: of the same cases under each.

    Args:
        wordings: For each wording the means of the cases, in one order.

    Returns:
        The wording's part, which more cases don't make smaller, and what is left of a case's mean under one wording:
        how wordings and cases go together, and the repeats.

    Raises:
        ValueError: There are fewer than two wordings, or than FEWEST_UNITS cases, or they have different cases.

    Source: two crossed random effects, one mean for each cell (Searle, Casella and McCulloch, Variance Components,
        1992, §4.3): the mean square of wordings over n, minus that of what is left over n. The first has
        χ²(w − 1)/(w − 1) times its mean, so with few wordings the interval is very wide.
    """
    n = len(wordings[0]) if wordings else 0
    if len(wordings) < 2 or n < FEWEST_UNITS or any(len(one) != n for one in wordings):
        msg = f"{len(wordings)} wordings of {n} cases"
        raise ValueError(msg)
    rows = [fmean(one) for one in wordings]
    columns = [fmean(one) for one in zip(*wordings, strict=True)]
    whole = fmean(rows)
    left = [
        sum(
            (one[i] - row - columns[i] + whole) ** 2
            for one, row in zip(wordings, rows, strict=True)
        )
        for i in range(n)
    ]
    free = len(wordings) - 1
    rest = _of_mean([square / free * n / (n - 1) for square in left], None, CONFIDENCE)
    moved = _variance(rows)
    low, high = (
        moved * free / _chi2_quantile(q, free) for q in ((1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2)
    )
    return _rest(Part(moved, low, high), _scaled(rest, rest.value / n)), rest


def _clusters(cases: Sequence[CaseSides]) -> list[list[CaseSides]]:
    alone = [[case] for case in cases if case.cluster is None]
    together: dict[int, list[CaseSides]] = {}
    for case in cases:
        if case.cluster is not None:
            together.setdefault(case.cluster, []).append(case)
    return [*alone, *together.values()]


def _mean(case: CaseSides) -> float:
    *first, last = case.sides
    return fmean(last) - (fmean(first[0]) if first else 0.0)


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _noise(case: CaseSides, within: Sequence[float | None]) -> float:
    """What repeats add to the variance of a case's mean: by its own, or as those of others differ where it has one."""
    return math.fsum(
        (_variance(values) if len(values) > 1 else usual or 0.0) / len(values)
        for values, usual in zip(case.sides, within, strict=True)
    )


def _repeats(
    cases: Sequence[CaseSides],
    within: Sequence[float | None],
    reach: float | None,
    confidence: float,
) -> Part:
    """The variance of one trial of each side, over cases that are repeated somewhere."""
    sums: list[float] = []
    for case in cases:
        if any(len(values) > 1 for values in case.sides):
            sides = zip(case.sides, within, strict=True)
            sums.append(
                math.fsum(_variance(v) if len(v) > 1 else usual or 0.0 for v, usual in sides)
            )
    value = math.fsum(one for one in within if one is not None)
    part = _of_mean(sums, None if reach is None else len(within) * reach**2 / 2, confidence)
    return _scaled(part, value) if part.value else part


def _of_mean(values: Sequence[float], most: float | None, confidence: float) -> Part:
    """A mean of variances with its interval: on the scale that they can be on, or by its logarithm."""
    mean = fmean(values)
    if most is not None:
        limits = mean_on_scale(((min(value, most), 1) for value in values), (0, most), confidence)
        return Part(*limits) if limits else Part(mean, 0.0, math.inf)
    if len(values) < FEWEST_UNITS or not mean:
        return Part(mean, 0.0, math.inf)
    error = math.sqrt(_variance(values) / len(values)) / mean
    times = math.exp(t_quantile(confidence, len(values) - 1) * error)
    return Part(mean, mean / times, mean * times)


def _of_variance(values: Sequence[float], variance: float, confidence: float) -> Part:
    """The variance of values with Bonett's interval."""
    n, z = len(values), z_of(confidence)
    if not variance or n <= z:
        return Part(variance, 0.0, math.inf)
    trimmed = sorted(values)
    cut = int(n / (2 * math.sqrt(n - 4))) if n > 4 else 0
    middle = fmean(trimmed[cut : n - cut] or trimmed)
    fourth = n * math.fsum((value - middle) ** 4 for value in values)
    fourth /= ((n - 1) * variance) ** 2
    error = math.sqrt(max(0.0, fourth - (n - 3) / n) / (n - 1))
    few = n / (n - z)
    return Part(
        variance,
        variance * few * math.exp(-z * few * error),
        variance * few * math.exp(z * few * error),
    )


def _scaled(part: Part | None, value: float) -> Part:
    """A part that goes along with another one, with the interval of that."""
    if part is None:
        return Part(0.0, 0.0, 0.0)
    if not part.value:
        return Part(value, 0.0, max(value, part.high))
    times = value / part.value
    return Part(value, part.low * times, part.high * times)


def _rest(whole: Part, lost: Part, correlation: float = 0.0) -> Part:
    """What is left of a variance without a part of it.

    The interval has the distances to the ends of both, as in Graybill and Wang (1980), and allows for how the two go
    together: Zou and Donner, Stat. Med. 27 (2008), doi:10.1002/sim.3095.
    """
    value = whole.value - lost.value

    def reach(one: float, other: float) -> float:
        if math.isinf(one) or math.isinf(other):
            return math.inf
        return math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))

    low = value - reach(whole.value - whole.low, lost.high - lost.value)
    high = value + reach(whole.high - whole.value, lost.value - lost.low)
    return Part(max(0.0, value), max(0.0, low), max(0.0, high))


def _together(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of two lists where it is below 0, as that makes intervals wider; otherwise 0."""
    one, two = fmean(first), fmean(second)
    spread = math.sqrt(
        math.fsum((x - one) ** 2 for x in first) * math.fsum((y - two) ** 2 for y in second)
    )
    if not spread:
        return 0.0
    both = math.fsum((x - one) * (y - two) for x, y in zip(first, second, strict=True))
    return min(0.0, both / spread)


def _harmonic(sizes: Iterable[int]) -> float:
    inverses = [1 / size for size in sizes]
    # Of equal sizes it is that size, and not one with a last digit more.
    return round(len(inverses) / math.fsum(inverses), 9)


def _chi2_quantile(share: float, free: int) -> float:
    """The point below which so much of a χ² distribution lies."""
    return crossing(lambda x: _gamma_share(free / 2, x / 2) - share, 0.0, 10.0 * free + 50)


def _gamma_share(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function by its series, DLMF 8.7.1, https://dlmf.nist.gov/8.7."""
    if x <= 0:
        return 0.0
    term = total = 1 / a
    for n in range(1, 1000):
        term *= x / (a + n)
        total += term
        if term < total * 1e-15:
            break
    return min(1.0, total * math.exp(a * math.log(x) - x - math.lgamma(a)))


MOST_MORE = 9
"""More repeats than that of a case are not thought of: the next case always says more by then."""


class NextSample(NamedTuple):
    """What to add.

    Attributes:
        units: How many more cases, or clusters of them.
        tries: How many more repeats of each case on each side, of those that are there and of those that come.
        trials: How many more trials that is, on all sides.
    """

    units: int
    tries: tuple[int, ...]
    trials: int


def least_costly(
    parts: VarianceParts, times: float, *, cases: int, fixed: Sequence[int] = ()
) -> NextSample:
    """The cheapest way to bring the variance of a mean down, where each trial costs the same.

    A side that was not repeated stays as it is: nobody knows what repeats of it would save.

    Args:
        parts: The parts of that variance as it is.
        times: How many times smaller it is to be, at least 1.
        fixed: Sides, from 0, that get no more repeats.

    Returns:
        Of equally many trials, that with the most cases, as they also show more of what there is.

    Raises:
        ValueError: It is to become larger.

    Source: the variance of a mean in two stages, and its cheapest division (Cochran, Sampling Techniques, 1977, §10.6);
        here all numbers of repeats are tried, as those that were paid for stay.

    >>> from evenhand.stats.variance_parts import CaseSides, variance_parts
    >>> unstable = variance_parts([CaseSides(([1, 0],)), CaseSides(([0, 1],)), CaseSides(([1, 1],))] * 10)
    >>> least_costly(unstable, 2, cases=30)
    NextSample(units=30, tries=(0,), trials=60)
    """
    if not 1 <= times < math.inf:
        msg = f"a variance {times} times smaller"
        raise ValueError(msg)
    mean_members = cases / parts.units
    ways: list[NextSample] = []
    choices = [
        range(1 if within is None or side in fixed else MOST_MORE + 1)
        for side, within in enumerate(parts.within)
    ]
    for more in product(*choices):
        tries = [now + add for now, add in zip(parts.tries, more, strict=True)]
        # Without the residue of a float, 100.0000000001 cases would be 101.
        # Where all units are alike, no repeats are known to say more.
        left = parts.of_unit(tries) / parts.measured if parts.measured else 1.0
        units = max(parts.units, math.ceil(parts.units * times * left - 1e-9))
        trials = math.fsum(
            units * now - parts.units * then for now, then in zip(tries, parts.tries, strict=True)
        )
        ways.append(NextSample(units - parts.units, more, math.ceil(trials * mean_members - 1e-9)))
    return min(ways, key=lambda way: (way.trials, -way.units))
