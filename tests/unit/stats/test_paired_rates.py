from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.interval import z_of
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.power import cases_needed

tables = st.integers(1, 300).flatmap(
    lambda n: st.integers(0, n).flatmap(
        lambda b: st.tuples(st.just(n), st.just(b), st.integers(0, n - b))
    )
)


def test_all_against_none_by_hand() -> None:
    """With every case for the first, Tango's bound solves n(1 − δ) = z²(1 + δ)."""
    z2 = z_of() ** 2
    found = paired_rates(8, 8, 0)
    assert found.difference == 1
    assert found.low == pytest.approx((8 - z2) / (8 + z2))
    assert found.high == 1


def test_no_case_differs() -> None:
    """The difference is 0, and how far it may be off falls with the number of cases."""
    found = paired_rates(20, 0, 0)
    assert found.difference == 0
    assert found.low == pytest.approx(-found.high)
    assert paired_rates(200, 0, 0).high < found.high


def test_no_cases_say_nothing() -> None:
    """Without pairs any difference is possible."""
    found = paired_rates(0, 0, 0)
    assert (found.low, found.high) == (-1, 1)


@pytest.mark.parametrize(("n", "b", "c"), [(3, 2, 2), (3, -1, 0)])
def test_more_differences_than_pairs_are_refused(n: int, b: int, c: int) -> None:
    """A table that cannot be is an error."""
    with pytest.raises(ValueError, match="differing pairs"):
        paired_rates(n, b, c)


@given(tables)
def test_an_interval_holds_the_difference_and_mirrors(table: tuple[int, int, int]) -> None:
    """The difference lies inside; exchanging the two turns the interval round."""
    n, b, c = table
    found, other = paired_rates(n, b, c), paired_rates(n, c, b)
    assert -1 <= found.low <= found.difference + 1e-9
    assert found.difference - 1e-9 <= found.high <= 1
    assert other.low == pytest.approx(-found.high, abs=1e-9)
    assert other.high == pytest.approx(-found.low, abs=1e-9)


@given(tables)
def test_the_interval_leaves_0_out_where_the_score_at_zero_does(
    table: tuple[int, int, int],
) -> None:
    """At a difference of 0 Tango's statistic is McNemar's: (b − c) / √(b + c)."""
    n, b, c = table
    statistic = (b - c) / math.sqrt(b + c) if b + c else 0.0
    if abs(abs(statistic) - z_of()) > 1e-6:
        found = paired_rates(n, b, c)
        assert (found.low > 0 or found.high < 0) == (abs(statistic) > z_of())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_repeats_make_an_interval_no_narrower_than_their_spread(
    pairs: list[tuple[int, int]],
) -> None:
    """With rates of three repeats a case, the interval is no narrower than z standard errors of the mean of n."""
    differences = [(a - b) / 3 for a, b in pairs]
    n = len(differences)
    found = paired_rates(
        n, sum(d for d in differences if d > 0), -sum(d for d in differences if d < 0)
    )
    mean = sum(differences) / n
    assert found.difference == pytest.approx(mean)
    variance = sum(d * d for d in differences) / n - mean * mean
    if found.low > -1 + 1e-6 and found.high < 1 - 1e-6:
        # A score interval pulls towards 0 as Wilson's does: with z² more cases it is at least as wide.
        assert (
            found.high - found.low
            >= 2 * z_of() * math.sqrt(max(0.0, variance) / (n + z_of() ** 2)) * 0.99
        )


def test_the_exact_test_by_hand() -> None:
    """Six to none: 2 · ½⁶. One to none: nothing. As many each way: nothing."""
    assert mcnemar(6, 0) == 2 / 64
    assert mcnemar(0, 6) == 2 / 64
    assert mcnemar(1, 0) == mcnemar(0, 0) == mcnemar(5, 5) == 1


def test_the_exact_test_of_many_cases_is_quick_and_in_range() -> None:
    """Ten thousand cases neither overflow nor take minutes."""
    assert 0 < mcnemar(5100, 4900) < 0.05
    assert mcnemar(10_000, 0) == 0
    assert mcnemar(520, 480) == pytest.approx(mcnemar(521, 481), abs=0.01)  # counted, and not


@pytest.mark.parametrize(("difference", "differing"), [(0, 0.2), (0.3, 0.2), (0.1, 1.2)])
def test_a_difference_that_cannot_be_has_no_size(difference: float, differing: float) -> None:
    """No difference is larger than the share of cases that differ."""
    with pytest.raises(ValueError, match="difference"):
        cases_needed(difference, differing)
