"""Cases that belong together: each cluster counts once, whatever its size, in every number that rests on them."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.analysis.gates.gate_rule import gate_rule
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.tallies import Tally, rate_of, rate_of_decisions, rate_over_clusters

_BENCH = runpy.run_path(str(Path(__file__).resolve().parents[3] / "bench/clusters.py"))

copied = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(1, 8)), min_size=1, max_size=12
)


@settings(max_examples=60)
@given(copied, st.booleans())
def test_copies_of_a_case_change_nothing(cases: list[tuple[float, int]], rates: bool) -> None:
    """Mean, limits, p-value and every verdict are those of the cases without their copies."""
    scale = None if rates else (-1.0, 1.0)
    with_copies = Differences([[d] * copies for d, copies in cases], rates, scale=scale)
    alone = Differences([[d] for d, _ in cases], rates, scale=scale)
    assert with_copies.mean == alone.mean
    assert with_copies.interval() == alone.interval()
    assert with_copies.p() == alone.p()
    for rule in (verdict, gate_rule):
        for margin in (None, 0.1):
            words = {rule(one, one.p(), margin=margin) for one in (with_copies, alone)}
            assert len(words) == 1


def test_copies_change_no_rate() -> None:
    """Eight copies of a case that fails are one case that fails."""
    cases = [Tally(1, 0, 0), Tally(0, 1, 0), Tally(1, 1, 0), Tally(1, 0, 1)]
    assert rate_over_clusters([[one] * (i + 1) for i, one in enumerate(cases)]) == rate_of(cases)
    assert rate_over_clusters([[Tally()], []]) is None
    assert rate_over_clusters([[Tally(), Tally(1, 0, 0)]]) == rate_of([Tally(1, 0, 0)])


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("number", "sizes", "icc"),
    [(20, (1,), 0.0), (12, (4,), 0.3), (15, (10,), 0.3), (10, (20,), 0.3), (12, (3, 40), 0.3)],
)
def test_equal_variants_are_rarely_found_to_differ_on_cases_that_go_together(
    number: int, sizes: tuple[int, ...], icc: float
) -> None:
    """At most 5 % of draws find a difference, 2.5 % block a gate, and limits hold; `bench/clusters.py` has more."""
    draws = 30
    shares = _BENCH["of_documents"](number, sizes, icc, draws, seed=3)
    assert shares.shown <= 5 + 100 / draws
    assert shares.gate_worse <= 2.5 + 200 / draws
    assert min(shares.difference_held, shares.rate_held) >= 90


@pytest.mark.parametrize(("number", "size", "rare", "large"), _BENCH["RARE"][:2])
def test_a_few_documents_may_turn_the_mean(number: int, size: int, rare: float, large: int) -> None:
    """Equal on average, a little better in most documents, much worse in a few that a draw may not hold."""
    assert _BENCH["of_rare_documents"](number, size, rare, large, 40, seed=3) <= 7.5


def test_one_large_cluster_weighs_as_much_as_a_small_one() -> None:
    """Half better in nine documents of 3 questions, worse in one of 40: by documents better, as is said."""
    clusters = [[0.5] * 3] * 9 + [[-0.338] * 40]
    data = Differences(clusters, scale=(-1, 1))
    assert data.mean == pytest.approx((4.5 - 0.338) / 10)
    assert sum(data.cases) / data.n == pytest.approx(0, abs=0.001)


def test_fewer_than_five_clusters_decide_nothing_however_many_cases_they_have() -> None:
    """A hundred cases of four documents are four."""
    for rates in (True, False):
        data = Differences([[1.0] * 25] * 4, rates, scale=None if rates else (-1, 1))
        for margin in (None, 0.1):
            assert verdict(data, 0.001, margin=margin) == "undecided"
            assert gate_rule(data.turned(), 0.001, margin=margin) == "undecided"


def test_limits_of_a_ratio_allow_for_one_more_unit_of_the_largest_weight() -> None:
    """Nine units of weight 0.1 and one of 1, all at 0.9: what was not seen may weigh as much as the largest."""
    even = mean_on_scale([(0.9, 1)] * 10, (0, 1))
    uneven = mean_on_scale([(0.09, 0.1)] * 9 + [(0.9, 1)], (0, 1))
    assert even is not None
    assert uneven is not None
    assert uneven[1] < even[1] - 0.1
    few = rate_of_decisions([Tally(1, 0, 0)] * 9 + [Tally(10, 0, 0)])
    many = rate_of_decisions([Tally(1, 0, 0)] * 10)
    assert few is not None
    assert many is not None
    assert few.low < many.low - 0.1


@pytest.mark.parametrize("n", [5, 20, 50, 200])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("times", [5, 20, 50])
def test_rare_large_values_make_no_verdict(n: int, share: float, times: float) -> None:
    """B is a little lower in most cases, and in a few many times as large: on average equal, so neither is better."""
    random = Random(f"{n} {share} {times}")
    mean = 1 + share * (times - 1)
    words = set()
    for _ in range(20):
        costs = [9.0 * (times if random.random() < share else 1) for _ in range(n)]
        differences = [[cost - 9 * mean] for cost in costs]
        reach = max(costs) - min(9.0, *costs)
        data = Differences(differences, scale=(-reach - 1, reach + 1), scaled=False)
        words |= {verdict(data, data.p()), verdict(data.turned(), data.p())}
        words |= {
            gate_rule(data, data.p(), margin=0.5),
            gate_rule(data.turned(), data.p(), margin=0.5),
        }
    assert words <= {"undecided", "non-inferior"}
