"""Labels of a draw that isn't uniform: what they say of all items, when some were likelier to be drawn than others.

How this works: the items are divided into strata, and within each the labelled ones are a random draw. What people say
of a stratum counts in proportion to its size, not to the number of its labels. What the judge passes and what it fails
is looked at apart, as in `correction`, and comes down to as many labels of a uniform draw as would say the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.stats.correction import Estimate, Verdicts, corrected_counts
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.distributions import beta_quantile
from evenhand.stats.interval import CONFIDENCE, wilson, z_of

FEWEST = 2
"""Labels that a stratum must have on a side to stand alone; with fewer, it is put together with the next."""
_PRIOR = 0.5
_ONE_EACH = DesignEffects()


class Shares(NamedTuple):
    """How all items divide, as labels have it, from 0 to 1; the four add up to 1.

    Attributes:
        both_pass: People and the judge pass them.
        missed: People pass them and the judge fails them.
        excused: People fail them and the judge passes them.
    """

    both_pass: float
    missed: float
    excused: float
    both_fail: float


class UniformLabels(NamedTuple):
    """The labels of a uniform draw that would say the same. They are not whole numbers.

    Attributes:
        missed: People pass them and the judge fails them.
        excused: People fail them and the judge passes them.
        rate: People's pass rate, without the judge.
        size: How many labels would make that as sure as it is.
    """

    both_pass: float
    missed: float
    excused: float
    both_fail: float
    rate: float
    size: float


class Weighted(NamedTuple):
    """What labels of strata say of all items.

    Attributes:
        shares: How all items divide.
        tpr: Of what people pass, the share that the judge passes; None where they pass nothing.
        tnr: Of what people fail, the share that the judge fails; None where they fail nothing.
        uniform: The labels of a uniform draw that would say the same of these items.
        later: Those that would say the same of other items, of which the strata hold other shares.
        within: What more labels make smaller: the variance of the rate times the number of labels.
    """

    shares: Shares
    tpr: Estimate | None
    tnr: Estimate | None
    uniform: UniformLabels
    later: UniformLabels
    within: float

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of all items, as labels have it; None where people or the judge say one thing only."""
        both, missed, excused, _ = self.shares
        people, judge = both + missed, both + excused
        chance = people * judge + (1 - people) * (1 - judge)
        return 1 - (missed + excused) / (1 - chance) if chance < 1 - 1e-12 else None

    @property
    def ac1(self) -> float:
        """Gwet's AC1 of all items, as labels have it."""
        both, missed, excused, _ = self.shares
        middle = both + (missed + excused) / 2
        chance = 2 * middle * (1 - middle)
        return (1 - missed - excused - chance) / (1 - chance)

    @property
    def rho2(self) -> float | None:
        """The share of labels of a uniform draw that the judge replaces; None where either says one thing only."""
        both, missed, excused, _ = self.shares
        people, judge = both + missed, both + excused
        spread = people * (1 - people) * judge * (1 - judge)
        return (both - people * judge) ** 2 / spread if spread > 1e-12 else None


class _Part(NamedTuple):
    """Items on which the judge says the same, of one stratum or of several.

    Attributes:
        weight: Its share of all items on which the judge says so.
        rate: The share of them that people pass.
        labels: How many labels of a uniform draw say so.
    """

    weight: float
    rate: float
    labels: float

    @property
    def beta(self) -> tuple[float, float]:
        """The sum of the two parameters of the beta distribution of that share, and its mean."""
        prior = _PRIOR * self.weight
        total = 2 * prior + self.labels
        return total, (prior + self.labels * self.rate) / total


def weighted(
    strata: Sequence[Verdicts], confidence: float = CONFIDENCE, effects: DesignEffects = _ONE_EACH
) -> Weighted:
    """What the labels of strata say of all items. It holds if each stratum's labels are a random draw of it.

    Args:
        strata: For each, the judge's verdicts and people's.
        confidence: Of the intervals, two-sided.
        effects: By how much less they say because items of one case go together. Only the intervals of TPR and TNR have
            them in; see `corrected_by_strata`.

    Raises:
        ValueError: There is no label.

    Source: the post-stratified estimator of Cochran, Sampling Techniques (1977), §5A.9, of people's verdicts among what
        the judge passes and among what it fails, with Jeffreys' prior divided among the strata by their size. A sum of
        beta distributions is taken for the one that has its mean and variance. Of other items, the shares of the strata
        are themselves a draw, which adds the variance between strata (ibid., §12.2). Intervals of TPR and TNR: Korn and
        Graubard, Survey Methodology 24 (1998), 193–201, from the labels of a uniform draw that say as much.

    >>> even, doubted = Verdicts(9, 1, 0, 10, 80, 160), Verdicts(5, 5, 4, 6, 20, 40)
    >>> result = weighted([even, doubted])
    >>> [round(share, 3) for share in result.shares]
    [0.456, 0.082, 0.044, 0.418]
    >>> round(result.tpr.value, 3)
    0.848
    """
    items, passed = sum(s.items for s in strata), sum(s.passed for s in strata)
    labels = sum(s.labels for s in strata)
    if not labels:
        msg = "no stratum has a label"
        raise ValueError(msg)
    sides = [_parts(strata, passed=True), _parts(strata, passed=False)]
    sizes = [passed / items, 1 - passed / items]
    rates = [math.fsum(p.weight * p.rate for p in side) if side else 0.5 for side in sides]
    shares = Shares(
        sizes[0] * rates[0], sizes[1] * rates[1],
        sizes[0] * (1 - rates[0]), sizes[1] * (1 - rates[1]),
    )  # fmt: skip
    moments = [_moments(side) for side in sides]
    wider = [
        (mean, variance + _between(side, size))
        for (mean, variance), side, size in zip(
            moments, sides, (passed, items - passed), strict=True
        )
    ]
    turned = [(1 - mean, variance) for mean, variance in moments]
    spread = math.fsum(size**2 * each[1] for size, each in zip(sizes, moments, strict=True))
    people = [shares.both_pass + shares.missed, shares.excused + shares.both_fail]
    observed = [
        sum(s.both_pass + s.missed for s in strata),
        sum(s.excused + s.both_fail for s in strata),
    ]
    return Weighted(
        shares,
        _of_side(shares.both_pass / people[0], observed[0], sizes, moments, effects.tpr, confidence)
        if observed[0]
        else None,
        _of_side(
            shares.both_fail / people[1],
            observed[1],
            sizes[::-1],
            turned[::-1],
            effects.tnr,
            confidence,
        )
        if observed[1]
        else None,
        _uniform(moments, strata),
        _uniform(wider, strata),
        spread * labels,
    )


def corrected_by_strata(
    labels: UniformLabels,
    passed: int,
    items: int,
    confidence: float = CONFIDENCE,
    effects: DesignEffects = _ONE_EACH,
) -> Estimate | None:
    """The pass rate that people would have found on all items, from 0 to 1.

    Args:
        passed: Of all judged items, how many the judge passes.
        items: All judged items.
        confidence: Of the interval, two-sided.
        effects: By how much less they say because items of one case go together; by default, each is a case of its own.

    Returns:
        The median and the two quantiles; None with labels of too few cases.
    """
    if effects.too_few:
        return None
    return corrected_counts(labels[:4], passed, items, confidence, effect=effects.rate)


def half_width_by_strata(estimate: Weighted, labels: int, items: int) -> float:
    """About how far the corrected rate can be off with so many labels, drawn in the same proportions; from 0 to 1."""
    sizes = estimate.shares.both_pass + estimate.shares.excused
    people = (estimate.shares.both_pass, estimate.shares.missed)
    means = [
        part / size if size else 0.5 for part, size in zip(people, (sizes, 1 - sizes), strict=True)
    ]
    rate = people[0] + people[1]
    between = sizes * means[0] ** 2 + (1 - sizes) * means[1] ** 2 - rate**2
    return z_of() * math.sqrt(estimate.within / labels + max(0.0, between) / (items + 1))


def weighted_share(labels: Sequence[tuple[float, bool]]) -> Estimate | None:
    """The share of all items that have something, from 0 to 1, from labels that stand for different numbers of items.

    Args:
        labels: For each labelled item for how many it stands, and whether it has it.

    Returns:
        None without labels.

    Source: Wilson's interval with the effective number of labels: Kish, Survey Sampling (1965), §11.7.

    >>> weighted_share([(1.0, True), (1.0, False), (2.0, False)]).value
    0.25
    """
    total = math.fsum(weight for weight, _ in labels)
    if not total:
        return None
    share = math.fsum(weight for weight, has in labels if has) / total
    size = total**2 / math.fsum(weight * weight for weight, _ in labels)
    return Estimate(share, *wilson(min(1.0, share) * size, size))


def _parts(strata: Sequence[Verdicts], *, passed: bool) -> list[_Part]:
    """What labels say of one side, stratum by stratum; strata with too few labels there are put together with others.

    They are taken in the order of how much of each is labelled, so that labels of a part weigh as alike as can be.
    """
    side: list[tuple[float, int, int, int]] = []  # how much is labelled, items, labels, people pass
    for s in strata:
        size = s.passed if passed else s.items - s.passed
        people = s.both_pass if passed else s.missed
        fails = s.excused if passed else s.both_fail
        if size:
            side.append((s.labels / s.items, size, people + fails, people))
    side.sort()
    groups: list[list[tuple[float, int, int, int]]] = []
    for one in side:
        if groups and sum(each[2] for each in groups[-1]) < FEWEST:
            groups[-1].append(one)
        else:
            groups.append([one])
    if len(groups) > 1 and sum(each[2] for each in groups[-1]) < FEWEST:
        # The last group has no next stratum to wait for.
        groups[-2:] = [groups[-2] + groups[-1]]
    whole = sum(each[1] for each in side)
    return [_part(group, whole) for group in groups]


def _part(group: Sequence[tuple[float, int, int, int]], whole: int) -> _Part:
    weight = sum(items for _, items, _, _ in group) / whole
    labelled = [(1 / share, n, k) for share, _, n, k in group if n]
    total = math.fsum(w * n for w, n, _ in labelled)
    if not total:
        return _Part(weight, 0.5, 0.0)
    rate = math.fsum(w * k for w, _, k in labelled) / total
    return _Part(weight, rate, total**2 / math.fsum(w * w * n for w, n, _ in labelled))


def _moments(side: Sequence[_Part]) -> tuple[float, float]:
    """The mean and the variance of the share that people pass; those of the prior where there is nothing."""
    if not side:
        return 0.5, 0.125  # of Beta(½, ½), Jeffreys' prior
    mean = variance = 0.0
    for part in side:
        total, own = part.beta
        mean += part.weight * own
        variance += part.weight**2 * own * (1 - own) / (total + 1)
    return mean, variance


def _between(side: Sequence[_Part], items: int) -> float:
    """The variance of the share that people pass because the strata's shares of so many items are a draw."""
    if not side:
        return 0.0
    mean, _ = _moments(side)
    apart = math.fsum(part.weight * (part.beta[1] - mean) ** 2 for part in side)
    return apart / (items + 1)


def _uniform(moments: Sequence[tuple[float, float]], strata: Sequence[Verdicts]) -> UniformLabels:
    """The labels of a uniform draw that leave these means and variances, of what the judge passes and what it fails."""
    (passes, fails), (other_passes, other_fails) = [_beta_like(*each) for each in moments]
    rate, size = _alone(strata)
    return UniformLabels(
        both_pass=passes - _PRIOR,
        missed=other_passes - _PRIOR,
        excused=fails - _PRIOR,
        both_fail=other_fails - _PRIOR,
        rate=rate,
        size=size,
    )


def _beta_like(mean: float, variance: float) -> tuple[float, float]:
    """The beta distribution that has this mean and variance, or the next one with no pole."""
    total = max(2 * _PRIOR, mean * (1 - mean) / variance - 1)
    return max(_PRIOR, mean * total), max(_PRIOR, (1 - mean) * total)


def _of_side(
    value: float,
    labels: int,
    sizes: Sequence[float],
    moments: Sequence[tuple[float, float]],
    effect: float,
    confidence: float,
) -> Estimate:
    """TPR: of what people pass, the share on the first side; TNR, with sides and verdicts turned around."""
    (size, other), ((mean, variance), (mean_other, variance_other)) = sizes, moments
    rate = size * mean / (size * mean + other * mean_other)
    spread = (rate * (1 - rate)) ** 2 * (variance / mean**2 + variance_other / mean_other**2)
    if not spread:
        return Estimate(value, *((0.0, 1.0) if other else (1.0, 1.0)))
    n = min(labels, rate * (1 - rate) / spread) / effect
    tail = (1 - confidence) / 2
    low = beta_quantile(value * n, (1 - value) * n + 1, tail) if value else 0.0
    high = beta_quantile(value * n + 1, (1 - value) * n, 1 - tail) if value < 1 else 1.0
    return Estimate(value, low, high)


def _alone(strata: Sequence[Verdicts]) -> tuple[float, float]:
    """People's pass rate by weight, and the effective number of labels (Kish, Survey Sampling, 1965)."""
    parts = [(s.items / s.labels, s.labels, s.both_pass + s.missed) for s in strata if s.labels]
    total = math.fsum(w * n for w, n, _ in parts)
    rate = math.fsum(w * k for w, _, k in parts) / total
    return rate, total**2 / math.fsum(w * w * n for w, n, _ in parts)


def allocated(
    shares: Sequence[float], most: Sequence[int], total: int, fewest: int = 2
) -> list[int]:
    """Divides a draw among strata, in proportion to their shares, none more than it has.

    Args:
        shares: What each stratum is to have, in any unit, not below 0.
        most: How many each has.
        total: How many are drawn in all. More than there are is all of them.
        fewest: What each has at least, if it has so many, and if that is not too many in all.

    Returns:
        A number for each stratum; their sum is `total`, or all that there are. Empty for no strata.

    Source: the method of Webster (Sainte-Laguë).

    >>> allocated([3.0, 1.0], [100, 100], 40)
    [30, 10]
    """
    total = min(total, sum(most))
    # Empty strata get nothing, so they take no part in the minimum; `max`, as all of them may be empty.
    least = min(fewest, total // max(1, sum(size > 0 for size in most)))
    numbers = [min(least, size) for size in most]
    queue = [
        # Webster's divisors are 1, 3, 5, …; negative, because a heap gives the smallest first.
        (-share / (2 * n + 1), i)
        for i, (share, n, size) in enumerate(zip(shares, numbers, most, strict=True))
        if n < size
    ]
    heapq.heapify(queue)
    for _ in range(total - sum(numbers)):
        _, i = heapq.heappop(queue)
        numbers[i] += 1
        if numbers[i] < most[i]:
            heapq.heappush(queue, (-shares[i] / (2 * numbers[i] + 1), i))
    return numbers
