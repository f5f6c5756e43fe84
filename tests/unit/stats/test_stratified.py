"""The odds of two groups, compared among those alike in a third thing."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction
from itertools import product

import pytest

from evenhand.stats.stratified import OddsRatio, Stratum, common_odds_ratio

RABBITS = [
    Stratum(0, 6, 0, 5),
    Stratum(3, 6, 0, 6),
    Stratum(6, 6, 2, 6),
    Stratum(5, 6, 6, 6),
    Stratum(2, 2, 5, 5),
]
"""Penicillin at once or after 1.5 hours; Mantel (1963), the example of R's mantelhaen.test."""


def p_by_enumeration(strata: list[Stratum]) -> tuple[Fraction, Fraction]:
    """The chances of a larger, and of a smaller sum over the strata, half of those as large in each: every table."""
    seen = sum(s.first for s in strata)
    larger = smaller = Fraction(0)
    for firsts in product(*(range(s.of_first + 1) for s in strata)):
        chance = Fraction(1)
        for s, k in zip(strata, firsts, strict=True):
            rest = s.first + s.second - k
            if rest < 0:
                chance = Fraction(0)
                break
            total = math.comb(s.of_first + s.of_second, s.first + s.second)
            chance *= Fraction(math.comb(s.of_first, k) * math.comb(s.of_second, rest), total)
        larger += chance if sum(firsts) > seen else chance / 2 if sum(firsts) == seen else 0
        smaller += chance if sum(firsts) < seen else chance / 2 if sum(firsts) == seen else 0
    return larger, smaller


def test_the_estimate_is_that_of_r_and_the_p_value_that_of_all_tables_weighed():
    """R 4's mantelhaen.test(Rabbits, exact = TRUE) has the common odds ratio 10.36102."""
    found = common_odds_ratio(RABBITS)
    assert found is not None
    assert found.value == pytest.approx(10.36102, abs=1e-4)
    assert found.p == pytest.approx(2 * float(min(p_by_enumeration(RABBITS))), rel=1e-9)


def test_random_tables_have_the_p_value_of_all_tables_weighed_and_turn_around():
    """And the smallest p-value is that of the most uneven tables with the same margins."""
    rng = random.Random(20_261_104)  # the seed
    for _ in range(60):
        sizes = [(rng.randint(0, 6), rng.randint(0, 6)) for _ in range(rng.randint(1, 3))]
        strata = [Stratum(rng.randint(0, n), n, rng.randint(0, m), m) for n, m in sizes]
        found = common_odds_ratio(strata)
        turned = common_odds_ratio([Stratum(c, m, a, n) for a, n, c, m in strata])
        if found is None or turned is None:
            assert found is turned is None
            continue
        assert found.p == pytest.approx(min(1.0, 2 * float(min(p_by_enumeration(strata)))))
        assert found.least_p <= found.p + 1e-12
        assert turned.p == pytest.approx(found.p)
        for one, other in ((found.value, turned.value), (found.low, turned.high)):
            if one in (0, math.inf):
                assert {one, other} == {0, math.inf}
            else:
                assert one * other == pytest.approx(1, rel=1e-6)
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    "strata",
    [
        [],
        [Stratum(0, 0, 0, 0)],
        [Stratum(5, 5, 5, 5)],
        [Stratum(0, 5, 0, 5), Stratum(3, 7, 0, 0)],
    ],
    ids=["none", "empty", "all have it", "nobody has it, or one group is missing"],
)
def test_tables_that_say_nothing_give_no_number(strata: list[Stratum]):
    """And beside tables that say something they change nothing."""
    assert common_odds_ratio(strata) is None
    with_more = common_odds_ratio([*strata, *RABBITS])
    alone = common_odds_ratio(RABBITS)
    assert with_more is not None
    assert alone is not None
    assert with_more.value == pytest.approx(alone.value)
    assert (with_more.p, with_more.low) == (pytest.approx(alone.p), pytest.approx(alone.low))


def test_tables_as_uneven_as_can_be_are_bounded_on_one_side():
    """All of the one group and none of the other."""
    found = common_odds_ratio([Stratum(9, 9, 0, 9)])
    assert found is not None
    assert found.value == found.high == math.inf
    assert found.low > 10
    turned = common_odds_ratio([Stratum(0, 9, 9, 9)])
    assert turned is not None
    assert turned.value == turned.low == 0
    assert turned.high < 0.1


@pytest.mark.parametrize(
    "stratum", [Stratum(3, 2, 0, 1), Stratum(-1, 2, 0, 1), Stratum(0, 1, 2, 1)]
)
def test_what_is_no_table_is_refused(stratum: Stratum):
    """More than there are, or fewer than none."""
    with pytest.raises(ValueError, match="is not a table"):
        common_odds_ratio([stratum])


@pytest.mark.thorough
def test_thousands_of_labels_have_a_number_too():
    """It agrees with Mantel and Haenszel's there, and takes no time to speak of."""
    strata = [Stratum(1800, 2000, 1600, 2000), Stratum(900, 2000, 450, 2000)]
    start = time.process_time()
    found = common_odds_ratio(strata)
    assert time.process_time() - start < 60  # 0.2 s, and hours where all tables are counted
    assert found is not None
    up = sum(a * (m - c) / (n + m) for a, n, c, m in strata)
    down = sum(c * (n - a) / (n + m) for a, n, c, m in strata)
    assert found.value == pytest.approx(up / down, rel=0.01)
    assert found.low < found.value < found.high < 1.2 * found.value


@pytest.mark.thorough
@pytest.mark.parametrize("odds", [1.0, 3.0])
def test_intervals_hold_the_truth_and_equal_odds_are_rejected_in_five_per_cent(odds: float):
    """60 labels in two strata with base rates of 0.95 and 0.3, 2,000 draws; a standard error is 0.5 points."""
    rng = random.Random(7)  # the seed
    known: dict[tuple[Stratum, Stratum], OddsRatio | None] = {}
    held = rejected = draws = 0
    for _ in range(2_000):
        strata = (drawn(rng, 42, 0.95, odds), drawn(rng, 18, 0.3, odds))
        if strata not in known:
            known[strata] = common_odds_ratio(strata)
        found = known[strata]
        if found is not None:
            draws += 1
            held += found.low <= odds <= found.high
            rejected += found.p <= 0.05
    assert held / draws >= 0.945
    if odds == 1:
        assert rejected / draws <= 0.055


def drawn(rng: random.Random, n: int, base: float, odds: float) -> Stratum:
    """A stratum of n, about half of them in each group, with these odds for the first."""
    of_first = sum(rng.random() < 0.5 for _ in range(n))
    raised = base * odds / (1 - base + base * odds)
    return Stratum(
        sum(rng.random() < raised for _ in range(of_first)),
        of_first,
        sum(rng.random() < base for _ in range(n - of_first)),
        n - of_first,
    )
