from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenhand.stats import bounded
from evenhand.stats.bounded import mean_on_scale, p_on_scale
from evenhand.stats.interval import wilson

shares = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=12)


def each(*scores: float) -> list[tuple[float, float]]:
    """Cases that stand alone."""
    return [(score, 1) for score in scores]


def interval(*scores: float, scale: bounded.Scale = (0, 1)) -> tuple[float, float]:
    """The interval of cases that stand alone."""
    found = mean_on_scale(each(*scores), scale)
    assert found is not None
    return found[1:]


def test_eight_scores_at_the_end_of_the_scale_do_not_make_the_mean_certain() -> None:
    """1.00 ± 0.00 would be wrong: one case in ten may score 0."""
    low, high = interval(*[5.0] * 7, 4.9, scale=(1, 5))
    assert low < 4
    assert 4.9 < high <= 5


def test_scores_of_yes_and_no_have_the_interval_of_a_rate() -> None:
    """The same data never have two intervals, whether they are called a rate or a score."""
    assert interval(1, 1, 1, 0) == wilson(3, 4)


@given(shares)
def test_the_interval_holds_the_mean_and_stays_on_the_scale(scores: list[float]) -> None:
    """Whatever the scores."""
    mean, low, high = mean_on_scale(each(*scores), (0, 1)) or (0, 0, 0)
    assert mean == pytest.approx(math.fsum(scores) / len(scores))
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1


@pytest.mark.thorough
@given(shares)
def test_turning_moving_and_stretching_the_scale_turns_moves_and_stretches_the_interval(
    scores: list[float],
) -> None:
    """Ratings from 1 to 5 say what shares from 0 to 1 say."""
    assume({*scores} - {0.0, 1.0})
    low, high = interval(*scores)
    turned = interval(*(1 - score for score in reversed(scores)))
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-5)
    rated = interval(*(1 + 4 * score for score in scores), scale=(1, 5))
    assert rated == pytest.approx((1 + 4 * low, 1 + 4 * high), abs=1e-4)


@pytest.mark.thorough
@given(shares, st.floats(0.01, 0.99))
def test_the_test_rejects_what_the_interval_leaves_out(scores: list[float], null: float) -> None:
    """P is at most 0.05 where the interval does not hold it, and above where it does."""
    assume({*scores} - {0.0, 1.0})
    low, high = interval(*scores)
    assume(min(abs(null - low), abs(null - high)) > 1e-4)
    assert (p_on_scale(each(*scores), (0, 1), null) > 0.05) == (low < null < high)


def test_the_chance_is_that_of_weights_that_are_thrown() -> None:
    """Exponential weights, 40,000 times: within what so many throws may be off."""
    random = Random(17)
    terms = [(0.3, 1), (-0.1, 3), (0.05, 2), (-0.4, 1)]
    (exact,) = bounded._shares(terms, [-0.2])
    hits = 0
    for _ in range(40_000):
        total = -0.2 * random.expovariate(1)
        for factor, count in terms:
            total += factor * sum(random.expovariate(1) for _ in range(count))
        hits += total <= 0
    assert hits / 40_000 == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("count", [1, 2, 8, 30, 100, 300, 3_000, 20_000])
def test_equal_scores_have_the_limits_of_a_formula(count: int) -> None:
    """Gaffke's limit of n equal scores is a power: ((bound − end) / (score − end))ⁿ, of which half has to be 2.5 %."""
    units = [(4.5, 1.0)] * count
    found = mean_on_scale(units, (1, 5))
    assert found is not None
    reach = 0.05 ** (1 / count)
    assert found == pytest.approx((4.5, 1 + 3.5 * reach, 5 - 0.5 * reach), rel=1e-7)


def test_clusters_vary_as_a_whole() -> None:
    """Ten questions on each of four documents are not forty documents."""
    scores = [0.9, 0.5, 0.7, 0.2]
    alone = mean_on_scale(each(*(score for score in scores for _ in range(10))), (0, 1))
    together = mean_on_scale([(10 * score, 10) for score in scores], (0, 1))
    assert alone is not None
    assert together is not None
    assert together[0] == pytest.approx(alone[0])
    assert together[1:] == pytest.approx(interval(*scores), abs=1e-6)
    assert together[1] < alone[1]


def test_very_many_different_scores_are_rounded_and_the_interval_is_not_moved() -> None:
    """Five thousand: near Student's, and the mean exact."""
    random = Random(23)
    scores = [random.betavariate(5, 2) for _ in range(5_000)]
    mean = math.fsum(scores) / 5_000
    spread = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / 4_999 / 5_000)
    found = mean_on_scale(each(*scores), (0, 1))
    assert found is not None
    assert found[0] == pytest.approx(mean, abs=1e-12)
    assert found[1:] == pytest.approx((mean - 1.96 * spread, mean + 1.96 * spread), abs=2e-4)


def test_nothing_and_what_is_off_the_scale() -> None:
    """No units: None and 1. A score off the scale, or no scale: refused."""
    assert mean_on_scale([], (0, 1)) is None
    assert mean_on_scale([(0.0, 0)], (0, 1)) is None
    assert p_on_scale([], (-1, 1)) == 1
    assert p_on_scale(each(0.0, 0.0), (-1, 1)) == 1
    with pytest.raises(ValueError, match="not on the scale"):
        mean_on_scale(each(1.2), (0, 1))
    with pytest.raises(ValueError, match="not on the scale"):
        p_on_scale(each(0.2), (0, 1), 2)
    for scale in ((1, 1), (1, 0), (0, math.inf)):
        with pytest.raises(ValueError, match="not a scale"):
            mean_on_scale(each(1), scale)


@pytest.mark.parametrize("different", [2, 200, 256, 257, 5_000])
def test_units_that_are_counted_together_come_to_what_each_alone_does(
    different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last digit, also of so many different ones that some are rounded, in whatever order."""
    draw = Random(different)
    units = [(draw.randrange(different) / different, draw.choice((1, 1, 0))) for _ in range(9_000)]
    together = mean_on_scale(units, (0, 1))
    monkeypatch.setattr(bounded, "_AT_ONCE", 1)
    assert mean_on_scale(units, (0, 1)) == together
