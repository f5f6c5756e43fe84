"""What a judge's numbers come to once some of its verdicts have been checked by people.

How this works: people label a random draw of what was judged. The labelled items say how many of those that the judge
passed are passes, and how many of those that it failed; all items say how many it passed. The rate that people would
have found is put together from the three. How far each can be off is a beta distribution, with
Jeffreys' prior; their combination has no formula, and is summed up numerically.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.distributions import beta_share, chances
from evenhand.stats.interval import CONFIDENCE, wilson, z_of
from evenhand.stats.roots import quantile

_PRIOR = 0.5
_REACH = 9.0  # in standard deviations: nothing that would show lies beyond
_NODES = 24
_TABLE = 128
_ONE_EACH = DesignEffects()


class Verdicts(NamedTuple):
    """How a judge's verdicts and people's fall together, and what the judge said of all items.

    Attributes:
        both_pass: Labelled items that both pass.
        missed: Labelled items that people pass and the judge fails.
        excused: Labelled items that people fail and the judge passes.
        both_fail: Labelled items that both fail.
        passed: Of all judged items, how many the judge passes.
        items: All judged items; as a rule the labelled ones are among them.
    """

    both_pass: int
    missed: int
    excused: int
    both_fail: int
    passed: int
    items: int

    @property
    def labels(self) -> int:
        """How many items are labelled."""
        return self.both_pass + self.missed + self.excused + self.both_fail

    @property
    def whole(self) -> bool:
        """Whether every item is labelled, so that what the judge said of items adds nothing."""
        return self.labels == self.items and self.both_pass + self.excused == self.passed

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The labelled items as (people's verdict, the judge's), 1 for a pass."""
        return (
            [(1.0, 1.0)] * self.both_pass
            + [(1.0, 0.0)] * self.missed
            + [(0.0, 1.0)] * self.excused
            + [(0.0, 0.0)] * self.both_fail
        )


class Estimate(NamedTuple):
    """A number with its interval, in its own unit."""

    value: float
    low: float
    high: float


def corrected_rate(
    verdicts: Verdicts,
    confidence: float = CONFIDENCE,
    effects: DesignEffects = _ONE_EACH,
    *,
    same_items: bool = True,
) -> Estimate | None:
    """The pass rate that people would have found on all items, from 0 to 1, by Beta post-stratification.

    It holds if the labelled items are a random draw of those that were judged. Where all are labelled, it is what
    people found: the prior of a mixture would take the rate from that. Otherwise it is never that of the labels alone,
    even where their interval is a little narrower: a later run with the same outputs would have another rate.

    Args:
        confidence: Of the interval, two-sided.
        effects: By how much less they say because items of one case go together; by default, each is a case of its own.
        same_items: Whether the labelled items are among all items, and may be all of them.

    Returns:
        The median and the two quantiles, or people's share and its interval of Wilson where all are labelled; None
        without labels, and with labels of too few cases.

    Source: the Bayesian form of the efficient estimator in Chen et al. (2026), arXiv:2601.05420, with Jeffreys' prior.
        With cases, of effective counts: Korn and Graubard, Survey Methodology 24 (1998), 193–201.

    >>> [round(x, 4) for x in corrected_rate(Verdicts(40, 10, 5, 45, 525, 1000))]
    [0.5518, 0.4777, 0.6219]
    >>> effects = DesignEffects(rate=2.0, alone=2.0, cases=50, labels=100)
    >>> [round(x, 4) for x in corrected_rate(Verdicts(40, 10, 5, 45, 525, 1000), effects=effects)]
    [0.5518, 0.4446, 0.6491]
    >>> [round(x, 4) for x in corrected_rate(Verdicts(48, 0, 0, 16, 48, 64))]
    [0.75, 0.6318, 0.8399]
    """
    if not verdicts.labels or effects.too_few:
        return None
    if same_items and verdicts.whole:
        people, labels = verdicts.both_pass + verdicts.missed, verdicts.labels
        low, high = wilson(people / effects.alone, labels / effects.alone, confidence)
        return Estimate(people / labels, low, high)
    counts = verdicts.both_pass, verdicts.missed, verdicts.excused, verdicts.both_fail
    return corrected_counts(
        counts, verdicts.passed, verdicts.items, confidence, effect=effects.rate
    )


def corrected_counts(
    counts: tuple[float, float, float, float],
    passed: int,
    items: int,
    confidence: float = CONFIDENCE,
    *,
    effect: float = 1.0,
) -> Estimate:
    """The corrected pass rate from counts that need not be whole.

    Args:
        counts: Labelled items that both pass, that only people pass, that only the judge passes, that both fail.
        passed: Of all judged items, how many the judge passes.
        items: All judged items.
        confidence: Of the interval, two-sided.
        effect: How many items say as much as one that is a case of its own.
    """
    tail = (1 - confidence) / 2
    both_pass, missed, excused, both_fail = counts
    below = _mixture(counts, passed, items)
    low, high = wilson(both_pass + missed, math.fsum(counts), confidence)
    spread = (high - low) / (2 * z_of(confidence))
    middle = quantile(below, 0.5, (low + high) / 2, spread)
    if effect > 1:
        fewer = both_pass / effect, missed / effect, excused / effect, both_fail / effect
        below = _mixture(fewer, passed / effect, items / effect)
        spread *= math.sqrt(effect)
    low, high = (
        quantile(below, share, min(1.0, max(0.0, middle + z * spread)), spread)
        for share, z in ((tail, -z_of(confidence)), (1 - tail, z_of(confidence)))
    )
    # With a design effect, the limits come from another distribution than the median, and could pass it.
    return Estimate(middle, min(middle, low), max(middle, high))


def replaced_share(pairs: Sequence[tuple[float, float]]) -> float | None:
    """ρ², from 0 to 1: the share of labels that the judge makes unnecessary for a number that is as precise.

    Args:
        pairs: For each labelled item, what people and what the judge say.

    Returns:
        None where either says the same of every item, or there are fewer than two.

    Source: the variance of PPI++ with its best λ, arXiv:2311.01453, §3: σ²/n · (1 − ρ² · N/(n + N)).

    >>> replaced_share([(1, 1), (0, 0), (1, 1)])
    1.0
    """
    n = len(pairs)
    if n < 2:
        return None
    first, second = (math.fsum(pair[i] for pair in pairs) / n for i in (0, 1))
    together = math.fsum((a - first) * (b - second) for a, b in pairs)
    spread = math.fsum((a - first) ** 2 for a, _ in pairs) * math.fsum(
        (b - second) ** 2 for _, b in pairs
    )
    return together * together / spread if spread else None


def drawn_at_random(labelled: tuple[int, int], all_items: tuple[int, int]) -> float:
    """How likely a random draw is to hold a share of the judge's passes that is as far off as this: a p value.

    Args:
        labelled: Labelled items that the judge passes, and how many are labelled.
        all_items: The same of all items, the labelled ones among them.

    Returns:
        The probability of all draws that are no likelier than this one; 1 where every item is labelled.

    Source: the exact test of a draw without replacement (hypergeometric), two-sided by likelihood.

    >>> round(drawn_at_random((65, 100), (465, 1000)), 6)
    0.000123
    """
    passed, n = labelled
    likely = chances(*all_items, n)
    # Numbers that are equally likely can differ in their last digits.
    return min(1.0, math.fsum(p for p in likely.values() if p <= likely[passed] * (1 + 1e-9)))


# The combination of the three, summed over a grid


class _Beta:
    """A beta distribution over an angle: x = sin² of it. There, its density has no poles, and is as wide everywhere.

    Args:
        a: At least ½.
        b: At least ½.
    """

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b
        self._log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + math.log(2)
        middle = math.asin(math.sqrt(a / (a + b)))
        half = _REACH / (2 * math.sqrt(a + b))
        self.low, self.high = max(0.0, middle - half), min(math.pi / 2, middle + half)

    def density(self, angle: float) -> float:
        """The density by the angle."""
        sine, cosine = math.sin(angle), math.cos(angle)
        a, b = 2 * self.a - 1, 2 * self.b - 1
        if (sine <= 0 and a > 0) or (cosine <= 0 and b > 0):
            return 0.0
        log = self._log_front
        log += (a * math.log(sine) if a else 0.0) + (b * math.log(cosine) if b else 0.0)
        return math.exp(log)

    def nodes(self) -> list[tuple[float, float]]:
        """Points and their weights: sums over them are as exact as the sums of a smooth, even density can be."""
        step = (self.high - self.low) / _NODES
        points: list[tuple[float, float]] = []
        for i in range(_NODES + 1):
            angle = self.low + i * step
            weight = self.density(angle) * step * (0.5 if i in (0, _NODES) else 1)
            if weight > 1e-11:
                points.append((math.sin(angle) ** 2, weight))
        total = math.fsum(weight for _, weight in points)
        return [(x, weight / total) for x, weight in points]

    def share_below(self) -> Callable[[float], float]:
        """How much of it lies below a point, looked up in a table with the slope at each of its places."""
        step = (self.high - self.low) / _TABLE
        angles = [self.low + i * step for i in range(_TABLE + 1)]
        shares = [beta_share(self.a, self.b, math.sin(angle) ** 2) for angle in angles]
        slopes = [self.density(angle) * step for angle in angles]
        low, high = math.sin(self.low) ** 2, math.sin(self.high) ** 2

        def below(x: float) -> float:
            if x <= low:
                return 0.0
            if x >= high:
                return 1.0
            place = (math.asin(math.sqrt(x)) - angles[0]) / step
            i = min(int(place), _TABLE - 1)
            t = place - i
            start, end = shares[i], shares[i + 1]
            # Hermite's cubic
            return (
                start
                + t * slopes[i]
                + t * t * (3 * (end - start) - 2 * slopes[i] - slopes[i + 1])
                + t * t * t * (2 * (start - end) + slopes[i] + slopes[i + 1])
            )

        return below


def _mixture(
    counts: tuple[float, float, float, float], passed: float, items: float
) -> Callable[[float], float]:
    """How likely the rate is to lie below a point.

    For each share of passed outputs, the larger part is looked up, and the smaller one summed over: a part that hardly
    counts would make too steep a step to be looked up.
    """
    both_pass, missed, excused, both_fail = counts
    shares = _Beta(passed + _PRIOR, items - passed + _PRIOR).nodes()
    of_passed = _Beta(both_pass + _PRIOR, excused + _PRIOR)
    of_failed = _Beta(missed + _PRIOR, both_fail + _PRIOR)
    passed_below, failed_below = of_passed.share_below(), of_failed.share_below()
    passed_nodes, failed_nodes = of_passed.nodes(), of_failed.nodes()
    parts = [
        (weight, w, 1 - w, passed_below, failed_nodes)
        if w >= 0.5
        else (weight, 1 - w, w, failed_below, passed_nodes)
        for w, weight in shares
    ]

    def below(rate: float) -> float:
        return math.fsum(
            weight * share * looked_up((rate - small * x) / large)
            for weight, large, small, looked_up, nodes in parts
            for x, share in nodes
        )

    return below
