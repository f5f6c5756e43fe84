"""The mean of scores on a known scale: an interval and a test that hold whatever the scores' distribution.

How it works. Student's t knows only the spread that was seen. Eight answers that all scored 1.00 have none, so t would
be certain of the mean, although one answer in ten may score 0. On a known scale the unseen part is bounded: in the
worst case it lies at the end of the scale. Gaffke's limit adds one imaginary case at that end, gives all cases random
weights (exponential, as in the Bayesian bootstrap), and takes the quantile of the weighted mean. For scores of 0 and 1
it is Clopper and Pearson's exact limit; for many cases it comes to Student's.

Like Clopper and Pearson's, the limit with the imaginary case misses less often than it promises. So the chance is
taken half with that case and half without it, as in the mid-p of exact tests. Scores that are all 0 or 1 have
Wilson's interval, as pass rates do: the same data never have two.

The chance that a weighted sum of exponentials is at most 0 comes from its characteristic function. The integral is
smooth on a logarithmic axis, where the trapezoidal rule converges fast: 60 nodes give about seven digits.

A mean that a judge helps to find has such limits, too. People's scores less λ times the judge's are what the judge
leaves to explain. What was never seen among the labels may still be there: a judge that agrees on each of 30 labels may
give its best score to one disaster in twenty. So the limits of what is left are those for scores on a known scale,
whose ends are as far off as the judge's scores allow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, repeat
from statistics import NormalDist, fmean, variance
from typing import TYPE_CHECKING

from evenhand.stats.interval import CONFIDENCE, wilson, z_of
from evenhand.stats.roots import quantile

if TYPE_CHECKING:
    from evenhand.stats.correction import Estimate
    from evenhand.stats.design_effect import ScoreLabel

Scale = tuple[float, float]
"""The lowest and the highest score there can be."""

LEVELS = 256
"""More different values than that are rounded to so many steps of the scale; each step keeps the mean of its values."""

_AT_ONCE = 4096
"""Units that are counted together before each different one is looked at."""

_CERTAIN = 10.0
"""A sum whose mean is more standard deviations than that from 0 is on one side of it (the rest is less than 2e-5)."""
_FIRST = -6.0
_STEP = 0.15
_LARGEST_NODE = 15.0
_FINEST = 32.0
_FAR = math.exp(42)
_CLOSE_ENOUGH = 1e-8

_Group = tuple[float, float, int]
"""A mean, how much it weighs, and how many units have these two."""


def mean_on_scale(
    units: Iterable[tuple[float, float]], scale: Scale, confidence: float = CONFIDENCE
) -> tuple[float, float, float] | None:
    """The mean of scores on a known scale, and its interval: (mean, low, high), in the scores' own unit.

    Args:
        units: What is independent of one another: for each its sum of scores, and how much it weighs. A case has its
            mean score, a cluster of cases the mean of theirs, and each weighs 1. Weights that differ, such as a case's
            number of decisions, are for a ratio of two means: the limits hold where no weight can be larger than the
            largest there is. Units without weight are left out.
        scale: The lowest and the highest score there can be. The interval stays on it.
        confidence: Of the interval, two-sided.

    Returns:
        None for no units. From a single unit nearly all of the scale.

    Raises:
        ValueError: A mean is off the scale, or the scale has no length.

    Source: Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
        variable", Mathematical Methods of Statistics 14 (2005); Learned-Miller and Thomas, "A New Confidence Interval
        for the Mean of a Bounded Random Variable" (2019), arXiv:1905.06208. Its validity is a conjecture that nobody
        has found an exception to; `bench/coverage.py` measures the coverage of the mid-p form used here.

    >>> mean, low, high = mean_on_scale([(5, 1)] * 8, (1, 5))
    >>> round(mean, 2), round(low, 2), round(high, 2)
    (5, 3.75, 5)
    """
    # Only for its check: not every way below looks at the confidence.
    z_of(confidence)
    groups = _grouped(units, scale)
    if not groups:
        return None
    if scale == (0, 1) and all(size == 1 and value in scale for value, size, _ in groups):
        return _yes_or_no(groups, confidence)
    weight = math.fsum(size * count for _, size, count in groups)
    mean = math.fsum(value * size * count for value, size, count in groups) / weight
    low, high = scale
    # Rounding may put a mean a last digit off its scale, where the test below has no meaning.
    mean = min(high, max(low, mean))
    tail = (1 - confidence) / 2
    mirrored = [(low + high - value, size, count) for value, size, count in groups]
    return (
        mean,
        _limit(groups, mean, low, tail),
        low + high - _limit(mirrored, low + high - mean, low, tail),
    )


def p_on_scale(units: Iterable[tuple[float, float]], scale: Scale, null: float = 0.0) -> float:
    """The two-sided p-value that the mean of scores on a known scale is `null`: the test of the same interval.

    Args:
        units: As in `mean_on_scale`. For none the p-value is 1.
        scale: The lowest and the highest score there can be.
        null: The mean that is tested, on the scale.

    Raises:
        ValueError: A mean or `null` is off the scale, or the scale has no length.

    >>> round(p_on_scale([(0.1, 1)] * 40, (-1, 1)), 4), round(p_on_scale([(0.1, 1)] * 8, (-1, 1)), 4)
    (0.0221, 0.4665)
    """
    low, high = scale
    if not low <= null <= high:
        msg = f"{null} is not on the scale from {low} to {high}"
        raise ValueError(msg)
    groups = _grouped(units, scale)
    # Also true for no units.
    if all(value == null for value, _, _ in groups):
        return 1.0
    mirrored = [(low + high - value, size, count) for value, size, count in groups]
    return min(1.0, 2 * _at_most(groups, null, low), 2 * _at_most(mirrored, low + high - null, low))


def _yes_or_no(groups: Sequence[_Group], confidence: float) -> tuple[float, float, float]:
    """The mean and its interval where every score is 0 or 1: a rate, so the interval that rates have."""
    n = sum(count for _, _, count in groups)
    ones = sum(count for value, _, count in groups if value)
    return ones / n, *wilson(ones, n, confidence)


def _grouped(units: Iterable[tuple[float, float]], scale: Scale) -> list[_Group]:
    """Equal units together, and no more different ones than LEVELS for each weight."""
    low, high = scale
    if not low < high or math.isinf(high - low):
        msg = f"from {low} to {high} is not a scale"
        raise ValueError(msg)
    # Means of repeats on the edge of a scale may be rounded beyond it.
    slack = 1e-9 * (high - low)
    counts: defaultdict[tuple[float, float], int] = defaultdict(int)
    steps: defaultdict[tuple[int, float], list[float]] = defaultdict(lambda: [0.0, 0.0])

    def fold() -> None:
        for (value, size), count in counts.items():
            step = steps[math.floor((value - low) / (high - low) * LEVELS), size]
            step[0] += value * count
            step[1] += count
        counts.clear()

    rest = iter(units)
    while chunk := list(islice(rest, _AT_ONCE)):
        equal: Mapping[tuple[float, float], int] = Counter(chunk)
        # Which of them come first says nothing until some are rounded: then each is added where it stands.
        few = len(counts) + len(equal) <= LEVELS
        for (total, size), count in equal.items() if few else zip(chunk, repeat(1)):
            if size <= 0:
                continue
            value = total / size
            if not low - slack <= value <= high + slack:
                msg = f"a mean is not on the scale from {low} to {high}"
                raise ValueError(msg)
            counts[value, size] += count
            if len(counts) > LEVELS:  # at once: a large run has a million different values
                fold()
    if not steps:
        return [(value, size, count) for (value, size), count in counts.items()]
    fold()
    return [(total / count, size, int(count)) for (_, size), (total, count) in steps.items()]


def _limit(groups: Sequence[_Group], mean: float, end: float, tail: float) -> float:
    """The lower limit: where the chance that the weighted mean is at most this is `tail`."""
    if mean <= end:
        return end
    weight = math.fsum(size * count for _, size, count in groups)
    largest = max(size for _, size, _ in groups)
    squares = math.fsum((size * (value - mean)) ** 2 * count for value, size, count in groups)
    spread = math.sqrt(squares + (largest * (end - mean) / 2) ** 2) / weight
    guess = mean + NormalDist().inv_cdf(tail) * spread
    start = guess if guess > end else (end + mean) / 2
    return quantile(
        lambda bound: _at_most(groups, bound, end), tail, start, spread, (end, mean), _CLOSE_ENOUGH
    )


def _at_most(groups: Sequence[_Group], bound: float, end: float) -> float:
    """The chance that the weighted mean is at most `bound`, half of it with an imaginary case at the scale's end.

    Its sum is bounded by the largest weight, so that is what it weighs.
    """
    terms = [(size * (value - bound), count) for value, size, count in groups if value != bound]
    extra = max(size for _, size, _ in groups) * (end - bound)
    shares = {one: _plain_share(terms, one) for one in (extra, 0.0)}
    unknown = [one for one, share in shares.items() if share is None]
    shares |= zip(unknown, _shares(terms, unknown), strict=True)
    return ((shares[extra] or 0.0) + (shares[0.0] or 0.0)) / 2


def _plain_share(terms: Sequence[tuple[float, int]], extra: float) -> float | None:
    """What `_shares` comes to where no integral is needed for it; None elsewhere."""
    if not extra and not terms:
        return 0.5  # all cases are at the bound itself
    if all(factor > 0 for factor, _ in terms):
        if extra >= 0:
            return 0.0
        # That E′ is beyond a sum that is never negative: the mean of exp(−sum), a product.
        return math.exp(-math.fsum(count * math.log1p(-f / extra) for f, count in terms))
    if extra <= 0 and all(factor < 0 for factor, _ in terms):
        return 1.0
    centre, _ = _centre(terms, extra)
    return float(centre < 0) if abs(centre) > _CERTAIN else None


def _centre(terms: Sequence[tuple[float, int]], extra: float) -> tuple[float, float]:
    """The mean of the sum in standard deviations, and the standard deviation."""
    spread = math.sqrt(math.fsum(f * f * count for f, count in terms) + extra * extra)
    return (math.fsum(f * count for f, count in terms) + extra) / spread, spread


def _shares(terms: Sequence[tuple[float, int]], extras: Sequence[float]) -> list[float]:
    """The chance that Σ a·E + extra·E′ ≤ 0, for independent exponentials E, so many of each factor a as it counts.

    Args:
        terms: The factors, and how many there are of each.
        extras: The factor of one more, 0 for none: for each the chance, the larger one first. What the terms say at a
            node costs the most, and is the same for all.

    Source: Gil-Pelaez, Biometrika 38 (1951), doi:10.1093/biomet/38.3-4.481, as in Imhof, Biometrika 48 (1961),
        doi:10.1093/biomet/48.3-4.419, on a logarithmic axis.
    """
    if not extras:
        return []
    centres, spreads = zip(*(_centre(terms, extra) for extra in extras), strict=True)
    unit = spreads[0]
    parts = [
        (-extra / unit, centre, spread / unit)
        for extra, centre, spread in zip(extras, centres, spreads, strict=True)
    ]
    # Where the one more is by far the widest, as for equal scores, all the others together damp the oscillation late.
    step = _STEP / min(_FINEST, max(1.0, unit / _centre(terms, 0.0)[1]))
    once = [complex(0, -f / unit) for f, count in terms if count == 1]
    often = [(complex(0, -f / unit), count) for f, count in terms if count > 1]
    totals, node = [0.0] * len(parts), _FIRST
    while node <= _LARGEST_NODE - math.log(parts[-1][-1]):
        u = math.exp(node)
        # The product of all 1 − i·u·a: its reciprocal is the characteristic function.
        product = 1 + 0j
        for factor in once:
            product *= 1 + u * factor
        for factor, count in often:
            product *= (1 + u * factor) ** count
        size = v = 0.0
        for i, (factor, centre, spread) in enumerate(parts):
            whole = product * complex(1, u * factor)
            size = whole.real * whole.real + whole.imag * whole.imag
            v = u * spread
            # What is added has the same slope at 0, and an integral that is known.
            totals[i] -= whole.imag / size + centre * v * math.exp(-v * v / 2)
        # All are below about 1e-9 from here on, and go on falling.
        if size > _FAR and v > 7:
            break
        node += step
    return [
        min(1.0, max(0.0, 0.5 - (total * step + centre * math.sqrt(math.pi / 2)) / math.pi))
        for total, centre in zip(totals, centres, strict=True)
    ]


def mean_by_judge(
    judged: Sequence[tuple[str, float]],
    labels: Sequence[ScoreLabel],
    weight: float,
    scale: Scale,
) -> Estimate | None:
    """The mean that people would have given outputs like the judged ones, in the scores' own unit.

    Args:
        judged: Each judged output: its case, and the judge's score.
        labels: People's scores and the judge's of outputs that were drawn from these, or from others like these. Those
            of a case go together.
        weight: How much the judge's scores count, λ, from 0 to 1. Any number is valid; the better it follows how the
            judge's scores go with people's, the narrower the interval.
        scale: The lowest and the highest score there can be. The interval stays on it.

    Returns:
        None without labels, or without judged outputs.

    Raises:
        ValueError: A score is off the scale.

    Source: the estimate is that of Angelopoulos, Duchi and Zrnic, "PPI++" (2023), arXiv:2311.01453, with the limits of
        `mean_on_scale` for the residuals; the judge's part is added as independent of them.

    >>> from evenhand.stats.design_effect import ScoreLabel
    >>> labels = [ScoreLabel(str(i), 5, 5) for i in range(30)]
    >>> found = mean_by_judge([(str(i), 5.0) for i in range(200)], labels, 1.0, (1, 5))
    >>> [round(x, 2) for x in found]
    [5, 4.62, 5]
    """
    from evenhand.stats.correction import Estimate  # noqa: PLC0415 (for judged scores only)

    if not judged or not labels:
        return None
    low, high = scale
    scores = [score for _, score in judged] + [one.judge for one in labels]
    ends = low - weight * max(scores), high - weight * min(scores)
    left = mean_on_scale(
        _by_case((one.case, one.people - weight * one.judge, one.weight) for one in labels),
        ends,
    )
    if left is None:
        return None
    middle = weight * fmean(score for _, score in judged)
    cases = [total / size for total, size in _by_case((case, score, 1.0) for case, score in judged)]
    spread = variance(cases) / len(cases) if len(cases) > 1 else 0.0
    half = z_of() * weight * math.sqrt(spread)
    value = left[0] + middle
    below, above = (math.hypot(left[0] - end, half) for end in left[1:])
    return Estimate(*(min(high, max(low, one)) for one in (value, value - below, value + above)))


def _by_case(scores: Iterable[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """Case, score and weight of outputs, as the sum of scores and the weight of each case."""
    cases: dict[str, tuple[float, float]] = {}
    for case, score, weight in scores:
        total, size = cases.get(case, (0.0, 0.0))
        cases[case] = total + weight * score, size + weight
    return list(cases.values())
