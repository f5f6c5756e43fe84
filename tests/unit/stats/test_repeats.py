from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.interval import clopper_pearson, wilson
from evenhand.stats.tallies import Tally, of_tries, pass_at, pass_hat

tallies = st.integers(1, 7).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))
)


def test_published_numbers() -> None:
    """(10, 3, 5), (200, 13, 10), (5, 5, 3) of pass@k, (4, 2, 2) of pass^k."""
    assert pass_at(10, 3, 5) == pytest.approx(0.9166667, abs=1e-7)
    assert pass_at(200, 13, 10) == pytest.approx(0.4975511, abs=1e-7)
    assert pass_at(5, 5, 3) == 1
    assert pass_hat(4, 2, 2) == pytest.approx(1 / 6)


@given(tallies)
def test_they_are_the_shares_of_all_draws(tally: tuple[int, int, int]) -> None:
    """Of all ways to draw k repeats: those with a pass, and those of passes alone."""
    passed, n, k = tally
    draws = [sum(i < passed for i in draw) for draw in combinations(range(n), k)]
    assert len(draws) == comb(n, k)
    assert pass_at(n, passed, k) == pytest.approx(sum(map(bool, draws)) / len(draws))
    assert pass_hat(n, passed, k) == pytest.approx(draws.count(k) / len(draws))


@pytest.mark.parametrize(("n", "passed", "k"), [(3, 4, 1), (3, 1, 4), (3, 1, 0), (3, -1, 1)])
def test_what_cannot_be_is_refused(n: int, passed: int, k: int) -> None:
    """More passes than repeats, more tries than repeats, no tries."""
    for estimate in (pass_at, pass_hat):
        with pytest.raises(ValueError, match="tries"):
            estimate(n, passed, k)


def test_cases_with_too_few_repeats_are_left_out() -> None:
    """They are counted out, not taken for failures; with none left there is no number."""
    found = of_tries([[Tally(4, 0)], [Tally(0, 4)], [Tally(2, 1)]], 4)
    assert found is not None
    assert (found.k, found.cases, found.once[0], found.always[0]) == (4, 2, 0.5, 0.5)
    assert of_tries([[Tally(1, 1)]], 3) is None
    assert of_tries([], 1) is None


def test_intervals_are_over_cases() -> None:
    """In as many tries as repeats each case passes or does not: Wilson's interval over the cases."""
    found = of_tries([[Tally(3, 0)]] * 6 + [[Tally(1, 2)]] * 2 + [[Tally(0, 3)]] * 2, 3)
    assert found is not None
    assert found.once == pytest.approx((0.8, 0.8, *wilson(8, 10)))
    assert found.always == pytest.approx((0.6, 0.6, *wilson(6, 10)))


def test_a_repeat_in_error_may_have_passed_or_failed() -> None:
    """In three tries, two of them passed and one in error: every time is open, at least once is not."""
    found = of_tries([[Tally(2, 0, 1)]] * 6 + [[Tally(0, 1, 2)]] * 4, 3)
    assert found is not None
    assert found.cases == 10
    assert found.once == pytest.approx((0.6, 1, wilson(6, 10)[0], 1))
    assert found.always == pytest.approx((0, 0.6, 0, wilson(6, 10)[1]))


def test_exact_intervals_at_their_ends() -> None:
    """None, all, nothing at all; a proportion that cannot be is refused."""
    assert clopper_pearson(0, 20)[0] == 0
    assert clopper_pearson(20, 20)[1] == 1
    assert clopper_pearson(20, 20, 0.9)[0] == pytest.approx(0.05 ** (1 / 20))
    assert clopper_pearson(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="not a proportion"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="confidence"):
        clopper_pearson(1, 2, 1.0)


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_intervals_hold_the_rate(counts: tuple[int, int]) -> None:
    """And their upper and lower ends rise together."""
    k, n = counts
    low, high = clopper_pearson(k, n)
    assert low <= (k / n if n else 0.5) <= high
    if k < n:
        assert clopper_pearson(k + 1, n)[0] > low
