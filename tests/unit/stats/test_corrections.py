"""Corrections that matter only with repeats, clusters, several tests or errors: each of them decides some verdict."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from evenhand.analysis.gates.gate_rule import gate_rule, more_cases
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.distributions import t_quantile
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.interval import z_of
from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.tallies import worth_of


def pairs(n: int, ahead: int, behind: int) -> Differences:
    """So many cases, of which some are better, and some worse."""
    return Differences([[1.0]] * ahead + [[-1.0]] * behind + [[0.0]] * (n - ahead - behind), True)


def test_a_case_is_worth_no_more_than_its_repeats() -> None:
    """Thirty cases that all rose by a fifth: alike, but five repeats of each are no thousands."""
    data = Differences([[0.2]] * 29 + [[0.21]], rates=True, repeats=5)
    low, high = data.interval()
    assert (low, high) == (pytest.approx(0.144, abs=0.001), pytest.approx(0.272, abs=0.001))
    for values in ([0.1] * 9 + [0.2], [0.5, 0.5, 0.5, 0.49], [-0.3] * 6 + [-0.31]):
        data = Differences([[d] for d in values], rates=True, repeats=3)
        widest = paired_rates(
            3 * len(values), *(3 * math.fsum(max(0.0, s * d) for d in values) for s in (1, -1))
        )
        low, high = data.interval()
        assert low <= widest.low + 1e-9
        assert high >= widest.high - 1e-9


def test_the_variance_of_few_cases_is_that_of_a_sample() -> None:
    """G/(G − 1) and Student's quantile, which make seven cases with ten repeats say less."""
    values = [0.9, -0.4, 0.6, 0.8, -0.2, 0.7, 0.1]
    n, mean = len(values), fmean(values)
    seen = math.fsum((d - mean) ** 2 for d in values) * n / (n - 1)
    seen *= (t_quantile(0.95, n - 1) / z_of(0.95)) ** 2
    worth = max(1.0, (math.fsum(map(abs, values)) - n * mean**2) / seen)
    tight = [0.4, 0.2, 0.3, 0.2, 0.5, 0.1, 0.3]
    spread = math.fsum((d - fmean(tight)) ** 2 for d in tight) * n / (n - 1)
    spread *= (t_quantile(0.95, n - 1) / z_of(0.95)) ** 2
    for each, of in ((values, worth), (tight, (sum(tight) - n * fmean(tight) ** 2) / spread)):
        wanted = paired_rates(
            n * of, *(of * math.fsum(max(0.0, s * d) for d in each) for s in (1, -1))
        )
        found = Differences([[d] for d in each], rates=True, repeats=10**6).interval()
        assert found == pytest.approx((wanted.low, wanted.high))


def test_that_one_of_four_metrics_is_worse_takes_more() -> None:
    """8 of 20 cases worse and 1 better, margin 0.05: alone worse; one of four, undecided."""
    data = pairs(20, 1, 8)
    p = data.p()
    assert gate_rule(data, p, margin=0.05, of=1) == "worse"
    assert verdict(data, 1.0, margin=0.05, of=1) == "worse"
    assert verdict(data, 1.0, margin=0.05, of=4) == "undecided"


def test_pass_rates_over_clusters_have_limits_for_every_shape() -> None:
    """A little better in nine documents and in none much worse that was seen: the mean over documents is bounded."""
    clusters = [[1.0] + [0.0] * 9] * 10
    data = Differences(clusters, rates=True)
    expected = mean_on_scale([(0.1, 1)] * 10, (-1, 1))
    assert expected is not None
    assert data.interval() == expected[1:]
    assert data.p() > 0.05
    assert verdict(data, data.p()) == "no detectable difference"


def test_on_an_unknown_scale_a_margin_is_met_by_most_cases_and_by_the_mean_that_was_seen() -> None:
    """Ten of ten within it; six of ten are not most for certain; one huge value puts the mean beyond it."""

    def word(*values: float) -> str:
        data = Differences([[d] for d in values], scale=(-100, 100), scaled=False)
        return verdict(data, data.p(), margin=1.0)

    assert word(*[0.1] * 10) == "non-inferior"
    assert word(*[2.0] * 6, *[-1.5] * 4) == "undecided"
    assert word(*[0.1] * 19, -60.0) == "undecided"


def test_a_difference_is_held_against_the_interval_of_its_own_level() -> None:
    """Shown at 95 %, and not at 99.9: a rule of a stricter level asks for the stricter interval."""
    data = Differences([[0.1]] * 40, scale=(-1, 1))
    assert verdict(data, 0.0) == "better"
    assert verdict(data, 0.0, level=0.0001) == "no detectable difference"


def test_a_gate_that_looked_early_asks_for_its_own_level_of_a_drop_too() -> None:
    """14 of 100 worse and 4 better: a p-value of 4 % blocks a gate at 5 %, and not at 3.75."""
    data = pairs(100, 4, 14)
    assert gate_rule(data, 0.04, margin=0.05) == "worse"
    assert gate_rule(data, 0.04, margin=0.05, level=0.0375) == "undecided"


def test_more_cases_are_no_advice_where_errors_or_a_hair_decide() -> None:
    """Open, or so near to the margin that a hundred times as many would not decide it."""
    low, high = pairs(20, 0, 4), pairs(20, 4, 0)
    assert more_cases(Extremes(low, high), 0.05) is None
    assert more_cases(certain(pairs(20, 0, 1)), 0.1) is not None
    scores = [[0.3], [-0.4]] * 5
    assert more_cases(certain(Differences(scores, scale=(-1, 1))), 0.0501) is None
    assert more_cases(certain(Differences(scores, scale=(-1, 1))), 0.2) is not None


def test_what_errors_leave_open_is_the_worse_of_both_ends() -> None:
    """The larger p-value and smallest difference, both ends' intervals; 1 where the ends lie on two sides of 0."""
    low, high = pairs(20, 6, 0), pairs(20, 12, 0)
    both = Extremes(low, high)
    assert both.p == low.p() > high.p()
    assert both.interval() == (low.interval()[0], high.interval()[1])
    smallest = low.smallest(), high.smallest()
    assert both.smallest() == max(s or 0 for s in smallest)
    assert Extremes(high, low).smallest() == both.smallest()
    assert Extremes(pairs(20, 0, 9), pairs(20, 9, 0)).p == 1.0
    assert mcnemar(9, 0) < 0.01


def test_better_at_one_end_and_no_worse_at_the_other_is_no_worse() -> None:
    """And better at one end, worse at the other is open."""
    better, equal = pairs(400, 40, 0), pairs(400, 0, 0)
    words = Extremes(equal, better).verdict(lambda p: p, margin=0.05)
    assert words == ("non-inferior", False)
    assert Extremes(pairs(40, 0, 20), pairs(40, 20, 0)).verdict(lambda p: p) == ("undecided", True)


def test_p_values_of_several_tests_never_fall_below_those_of_clearer_ones() -> None:
    """Holm's steps: each is raised at least as far as the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_few_cases_with_many_repeats_make_the_others_worth_no_more() -> None:
    """The harmonic mean; and half of the chance is with an imaginary case at the end of the scale."""
    assert worth_of([10, 1, 1, 1, 1]) == pytest.approx(5 / 4.1)
    assert mean_on_scale([(5, 1)] * 8, (1, 5)) == (5, pytest.approx(3.751, abs=0.005), 5)
