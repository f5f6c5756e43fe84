"""Rates and means drawn towards one another: against sums that are made otherwise, and what must hold at the edges."""

from __future__ import annotations

import math
from random import Random

import pytest

from evenhand.stats.pooling import (
    UNLIKE,
    GroupRate,
    pooled_means,
    pooled_rates,
    worth_of_units,
)


def known(rate: float, n: float) -> GroupRate:
    """A rate that errors leave no doubt about."""
    return GroupRate(rate, rate, n)


def test_means_of_equally_sure_groups_are_drawn_as_one_integral_says() -> None:
    """With equal variances V the others' share B has the density B^((k − 1)/2 − 2/3) · exp(−B·S/2V), by hand."""
    means, variance = [1.0, 2.0, 2.5, 4.0, 6.0], 0.8
    centre, k = sum(means) / 5, 5
    squares = sum((m - centre) ** 2 for m in means)
    grid = [(i + 0.5) / 50_000 for i in range(50_000)]
    weights = [b ** ((k - 1) / 2 - 2 / 3) * math.exp(-b * squares / 2 / variance) for b in grid]
    share = sum(w * b for w, b in zip(weights, grid, strict=True)) / sum(weights)
    drawn = pooled_means([(m, variance) for m in means])
    for mean, one in zip(means, drawn, strict=True):
        assert one.value == pytest.approx(mean - share * (mean - centre), abs=0.01)
        assert one.low < one.value < one.high
    # The mixture's standard deviation, times k/(k − 1), gives nearly the interval of a normal distribution.
    middle = drawn[2]
    spread = sum(
        w * (variance * (1 - b) + b * variance / k) for w, b in zip(weights, grid, strict=True)
    )
    error = math.sqrt(spread / sum(weights) * k / (k - 1))
    assert middle.high - middle.low == pytest.approx(2 * 1.96 * error, rel=0.03)


@pytest.mark.thorough
def test_rates_are_drawn_as_a_finer_sum_says() -> None:
    """Over 200 degrees of likeness and 400 means, with every chance from products and no logarithm of gamma."""
    counts = [(2, 6), (5, 6), (4, 6), (6, 6), (3, 6)]

    def chance(passed: int, n: int, mean: float, size: float) -> float:
        value = 1.0
        for i in range(passed):
            value *= size * mean + i
        for i in range(n - passed):
            value *= size * (1 - mean) + i
        for i in range(n):
            value /= size + i
        return value

    total, sums = 0.0, [0.0] * 5
    for i in range(200):
        others = ((i + 0.5) / 200) ** 3
        size = 6 * others / (1 - others)
        for j in range(400):
            mean = (j + 0.5) / 400
            like = [(1 - UNLIKE) * chance(x, n, mean, size) for x, n in counts]
            other = [UNLIKE * chance(x, n, 0.5, 2) for x, n in counts]
            weight = math.prod(a + b for a, b in zip(like, other, strict=True))
            total += weight
            for g, (x, n) in enumerate(counts):
                value = like[g] * (x + size * mean) / (n + size) + other[g] * (x + 1) / (n + 2)
                sums[g] += weight * value / (like[g] + other[g])
    drawn = pooled_rates([known(x / n, n) for x, n in counts])
    for value, one in zip(sums, drawn, strict=True):
        assert one.value == pytest.approx(value / total, abs=0.006)


def test_large_groups_keep_their_rates_and_small_ones_are_drawn_further() -> None:
    """A group of thousands says all about itself; one of two cases says next to nothing."""
    rates = [0.5, 0.6, 0.7, 0.8]
    for rate, one in zip(rates, pooled_rates([known(r, 5000) for r in rates]), strict=True):
        assert one.least == pytest.approx(rate, abs=0.002)
    small, *_, large = pooled_rates(
        [known(0.5, 2), known(0.9, 40), known(0.85, 40), known(0.95, 40), known(0.5, 40)]
    )
    assert small.least - 0.5 > 3 * (large.least - 0.5) > 0
    assert small.high - small.low > large.high - large.low


def test_a_group_that_is_far_from_all_others_is_hardly_drawn() -> None:
    """None of 20 pass, where of 30 other groups 90 % do: broken, and not bad luck."""
    *others, broken = pooled_rates([*[known(0.9, 20)] * 30, known(0.0, 20)])
    assert broken.least == pytest.approx(1 / 22, abs=0.001)
    assert (broken.low, broken.high < 0.25) == (0.0, True)
    assert all(one.least > 0.85 for one in others)


def test_groups_that_all_passed_may_still_fail() -> None:
    """The interval reaches to the end and not only to it."""
    for one in pooled_rates([known(1.0, 10)] * 5):
        assert 0.9 < one.least < 1
        assert (one.high, one.low < one.least) == (1.0, True)


def test_errors_widen_what_is_drawn_to_both_ends() -> None:
    """A trial in error may have passed or failed, and those of other groups as well."""
    certain = pooled_rates([known(0.5, 10), known(0.7, 10), known(0.8, 10), known(0.9, 10)])
    open_ = pooled_rates(
        [known(0.5, 10), GroupRate(0.6, 0.8, 10), GroupRate(0.7, 0.9, 10), known(0.9, 10)]
    )
    for one, other in zip(certain, open_, strict=True):
        assert other.least < one.least < other.most
        assert other.low <= one.low < one.high <= other.high
    (nothing, *_) = pooled_rates([GroupRate(0.0, 1.0, 10)] * 4)
    assert (nothing.least < 0.1, nothing.most > 0.9) == (True, True)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    "groups",
    [[known(0.5, 10)] * 3, [], [known(0.5, 0)] * 4, [known(1.2, 5)] * 4, [GroupRate(0.6, 0.5, 5)] * 4,
     [known(math.nan, 5)] * 4],
)  # fmt: skip
def test_too_few_groups_and_impossible_rates_are_refused(groups: list[GroupRate]) -> None:
    """No number is made up for them."""
    with pytest.raises(ValueError, match=r"groups|a rate"):
        pooled_rates(groups)


@pytest.mark.parametrize("groups", [[(1.0, 1.0)] * 3, [(1.0, 0.0)] * 4, [(math.inf, 1.0)] * 4])
def test_too_few_means_and_impossible_variances_are_refused(
    groups: list[tuple[float, float]],
) -> None:
    """No number is made up for them."""
    with pytest.raises(ValueError, match=r"groups|a mean"):
        pooled_means(groups)


def test_repeats_that_agree_are_worth_one_case_and_others_no_more_than_they_are() -> None:
    """Always or never passed: one. All alike: it cannot be told. In between: the ratio of the variances."""
    assert worth_of_units([1, 0, 1, 1, 0] * 10, 4) == 1
    assert worth_of_units([0.5] * 10, 4) == worth_of_units([1.0], 4) == 1
    assert worth_of_units([0.25, 0.75] * 500, 4) == pytest.approx(4, abs=0.02)
    assert worth_of_units([0.25, 0.75] * 500, 3) == 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("groups", "cases", "spread"), [(10, 10, 0.0), (10, 10, 0.1), (20, 30, 0.15)]
)
def test_intervals_hold_on_average_over_groups(groups: int, cases: int, spread: float) -> None:
    """At least 92 % of 600 groups; `bench/slices.py` has more settings. Seed 7."""
    random = Random(7)
    held = 0
    for _ in range(600 // groups):
        size = 0.21 / spread**2 - 1 if spread else 0
        truth = [
            random.betavariate(0.7 * size, 0.3 * size) if spread else 0.7 for _ in range(groups)
        ]
        rates = [sum(random.random() < t for _ in range(cases)) / cases for t in truth]
        drawn = pooled_rates([known(rate, cases) for rate in rates])
        held += sum(one.low <= t <= one.high for one, t in zip(drawn, truth, strict=True))
    assert held / 600 >= 0.92
