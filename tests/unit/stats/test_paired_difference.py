from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.multiple import benjamini_hochberg, holm
from evenhand.stats.paired_difference import DRAWS, LARGE, Differences, sign_flip, t_test, verdict
from evenhand.stats.paired_rates import mcnemar

small = st.lists(st.sampled_from([-1, -0.5, -1 / 3, 0, 1 / 3, 0.5, 1]), min_size=1, max_size=9)


def each(*differences: float, rates: bool = False, repeats: float = 1) -> Differences:
    """Differences of cases that stand alone; of scores from 0 to 1."""
    return Differences([(d,) for d in differences], rates, repeats, None if rates else (-1, 1))


@given(small)
def test_signs_are_thrown_in_every_way(differences: list[float]) -> None:
    """The p-value is the share of all signs whose sum is as far from 0, counted one by one, thirds included."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    share = sum(total >= seen - 1e-9 for total in sums) / len(sums)
    assert sign_flip(differences) == pytest.approx(share, abs=1e-12)


def test_signs_of_many_ratings_are_counted_exactly() -> None:
    """Two hundred ratings make few different sums: no throw is needed, and the order changes nothing."""
    random = Random(3)
    ratings = [random.choice((-2, -1, 0, 1, 1, 2)) for _ in range(200)]
    p = sign_flip(ratings)
    assert p == sign_flip(ratings[::-1]) == sign_flip([-r for r in ratings])
    assert p * (1 + DRAWS) != int(p * (1 + DRAWS))


def test_signs_that_are_too_many_to_count_are_thrown_the_same_way_each_time() -> None:
    """Forty arbitrary scores: the same p-value twice, near that of the t test."""
    random = Random(4)
    scores = [random.gauss(0.4, 1) for _ in range(40)]
    assert sign_flip(scores) == sign_flip(scores)
    assert sign_flip(scores) == pytest.approx(t_test(scores), abs=0.02)


def test_very_many_cases_take_the_t_test() -> None:
    """And no minutes."""
    random = Random(5)
    scores = [random.gauss(0.02, 1) for _ in range(LARGE + 1)]
    assert sign_flip(scores) == t_test(scores)


def test_nothing_that_differs_is_no_evidence() -> None:
    """None, zeros, one: 1."""
    assert sign_flip([]) == sign_flip([0.0, 0.0]) == sign_flip([3.5]) == 1
    assert t_test([1.0]) == t_test([0.0, 0.0]) == 1
    assert t_test([1.0, 1.0]) == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    """Never a p-value of nan."""
    with pytest.raises(ValueError, match="finite"):
        sign_flip([0.1, bad])


def test_holm_by_hand() -> None:
    """Ten p-values: the smallest times ten, the next times nine, never less than one before."""
    p_values = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    assert holm(p_values)[:3] == pytest.approx([0.01, 0.072, 0.312])
    assert holm(p_values[::-1]) == holm(p_values)[::-1]
    assert holm([]) == benjamini_hochberg([]) == []
    assert holm([0.9, 0.8]) == [1, 1]


@pytest.mark.thorough
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_corrected_p_values_are_larger_and_keep_their_order(p_values: list[float]) -> None:
    """Holm's are the largest; none is above 1."""
    for p, bh, h in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True):
        assert p <= bh + 1e-15
        assert bh <= h + 1e-15
        assert h <= 1


def test_repeats_are_not_cases() -> None:
    """A case asked five times is one case: its interval is that of the cases' means, its test that of their signs."""
    cases = each(0.2, 0.4, 0.0, 0.6, -0.2, 0.4, 0.2, 0.8, rates=True, repeats=5)
    low, high = cases.interval()
    assert cases.mean == pytest.approx(0.3)
    assert low < 0.3 < high
    spread = 2.364624 * math.sqrt(sum((d - 0.3) ** 2 for d in cases.cases) / 7 / 8)
    assert high - low == pytest.approx(2 * spread, rel=0.15)
    alike = each(*[0.6] * 8, rates=True, repeats=5)
    low, high = alike.interval()
    assert low < 0.4  # no spread was seen, and yet eight cases are eight cases
    assert high > 0.75


def test_clusters_vary_as_a_whole() -> None:
    """Six cases that go together are little more than one; alone they would have shown a difference."""
    alone = each(*[1.0] * 12, rates=True)
    together = Differences([(1.0,) * 6, (1.0,) * 6], rates=True)
    assert alone.p() < 0.001
    assert together.p() == 0.5
    assert together.interval()[0] < alone.interval()[0]
    assert together.smallest() is None


def test_verdicts_in_words() -> None:
    """Better, worse, neither, and too few to say."""
    six = [0.3, 0.2, 0.25, 0.4, 0.1, 0.35]
    up, down = each(*six * 5), each(*(-d for d in six * 5))
    assert verdict(up, up.p()) == "better"
    assert verdict(down, down.p()) == "worse"
    few = each(*six)
    assert verdict(few, 0.2, of=8) == "undecided"  # six cases can show nothing of eight metrics
    neither = each(*[0.3, -0.2, 0.25, -0.4, 0.1, 0.0, 0.1])
    assert verdict(neither, neither.p()) == "no detectable difference"
    for n in range(6):
        few = each(*[1.0] * n, rates=True)
        assert verdict(few, few.p()) == "undecided"
        assert n >= 5 or verdict(few, few.p(), margin=1) == "undecided"


def test_the_margin_decides_three_ways() -> None:
    """200 cases, 8 for the second and 11 for the first: the drop of 1.5 points may be one of 5.3."""
    found = each(*[1] * 8, *[-1] * 11, *[0] * 181, rates=True)
    assert found.interval(0.9)[0] == pytest.approx(-0.0533756, abs=1e-6)
    assert verdict(found, found.p(), margin=0.05) == "undecided"
    assert verdict(found, found.p(), margin=0.06) == "non-inferior"
    assert verdict(found, found.p()) == "no detectable difference"
    drop = each(*[-1] * 40, *[0] * 160, rates=True)
    assert verdict(drop, drop.p(), margin=0.05) == "worse"
    assert verdict(drop, drop.p(), margin=0.3) == "non-inferior"
    rise = each(*[1] * 40, *[0] * 160, rates=True)
    assert verdict(rise, rise.p(), margin=0.05) == "better"


@given(small, st.booleans(), st.floats(0.5, 0.99))
def test_any_differences_have_an_interval_round_them(
    differences: list[float], rates: bool, confidence: float
) -> None:
    """Never nan, never inside out, never off the scale of rates."""
    found = each(*differences, rates=rates, repeats=6)
    low, high = found.interval(confidence)
    assert low - 1e-9 <= (found.mean or 0) <= high + 1e-9
    if rates:
        assert low >= -1
        assert high <= 1
    smallest = found.smallest()
    assert smallest is None or smallest >= 0
    assert 0 < found.p() <= 1


def test_equal_steps_up_are_no_difference_where_one_case_in_ten_may_fall() -> None:
    """Eight cases that scored 1.00 beside ones of 0.95: the ninth may score 0. On forty cases it would have shown."""
    few, many = each(*[0.05] * 8), each(*[0.05] * 150)
    assert verdict(few, few.p()) == "no detectable difference"
    assert verdict(many, many.p()) == "better"


def test_of_a_mean_on_an_unknown_scale_nothing_is_said() -> None:
    """Of any number of latencies: what the scale may hide does not show in what was seen. Their directions do."""
    for n in (5, 20, 500):
        data = Differences([(2.0,)] * n, scale=(-3, 3), scaled=False)
        assert verdict(data, data.p()) == "undecided"
        assert (data.interval(), data.directions) == ((-math.inf, math.inf), (n, 0))
        assert data.p() == mcnemar(n, 0)
        assert data.smallest() is None


def test_scores_that_are_all_the_same_number_do_not_differ() -> None:
    """No scale, no difference, and a p-value of 1."""
    data = Differences([(0.0,)] * 30, scale=None, scaled=False)
    assert data.interval() == (0, 0)
    assert data.p() == 1


def test_the_difference_of_scores_of_few_clusters_is_not_known():
    """Two documents, five questions on each: t would say ±16 of a score from 0 to 1."""
    found = Differences([[0.4, 0.5, 0.6, 0.5, 0.5], [0.1, 0.0, 0.1, 0.0, 0.1]], scale=(-1, 1))
    assert found.interval() == (-math.inf, math.inf)
    assert verdict(found, found.p()) == "undecided"
    assert verdict(found, found.p(), margin=0.5) == "undecided"
