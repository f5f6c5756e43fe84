"""Tests and intervals that hold whenever one looks."""

from __future__ import annotations

import random

import pytest

from evenhand.stats.sequential import (
    Bet,
    MarginWatch,
    confidence_sequence,
    sequential_mcnemar,
    share_sequence,
)

RUN = [1, 1, 1, 0, 1] * 10


@pytest.mark.parametrize(
    ("n", "low", "high"), [(10, 0.3649, 1.0), (20, 0.516, 0.9901), (50, 0.6246, 0.942)]
)
def test_the_interval_is_that_of_the_published_program(n: int, low: float, high: float):
    """Confseq's betting_cs, whose grid has a thousand steps."""
    assert confidence_sequence(RUN[:n]) == (
        pytest.approx(low, abs=1e-3),
        pytest.approx(high, abs=1e-3),
    )


def test_closed_forms_are_those_of_their_sources():
    """Robbins' mixture, and the e-values of two pass rates."""
    assert share_sequence(40, 10) == pytest.approx((0.5909468, 0.9346225), abs=1e-7)
    assert share_sequence(400, 100) == pytest.approx((0.7329519315, 0.8573627346), abs=1e-9)
    assert sequential_mcnemar(10, 2, one_sided=True) == pytest.approx(9.440559440559433)
    assert sequential_mcnemar(20, 5, one_sided=True) == pytest.approx(48.52045201175636)
    assert sequential_mcnemar(0, 0) == pytest.approx(1.0)
    assert sequential_mcnemar(3, 9) == pytest.approx(sequential_mcnemar(9, 3))


def test_nothing_says_nothing_and_what_is_none_is_refused():
    """From 0 to 1 where nothing is known; never an end beyond."""
    assert confidence_sequence([]) == share_sequence(0, 0) == (0.0, 1.0)
    low, high = confidence_sequence([1.0] * 5)
    assert 0 < low < high == 1.0
    low, high = confidence_sequence([0.0] * 5)
    assert 0.0 == low < high < 1
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            confidence_sequence([wrong])
    for bad in ((0, 0.05), (1, 0.05), (0.5, 0), (0.5, 1)):
        with pytest.raises(ValueError, match="level"):
            Bet(bad[0], "higher", bad[1])
    with pytest.raises(ValueError, match="margin"):
        MarginWatch(0)
    with pytest.raises(ValueError, match="-1"):
        sequential_mcnemar(-1, 0)


def test_at_the_margin_nothing_is_decided_wrongly_more_often_than_the_level_however_often_one_looks():
    """300 pairs of runs of 300 cases, exactly 5 points worse at a margin of 5; the seed is 9."""
    rng = random.Random(9)
    decided = sum(_watched(rng, 300, 0.1, -0.05).verdict != "undecided" for _ in range(300))
    assert decided <= 0.04 * 300 + 6  # both directions at 2 %, and three standard deviations


def test_clear_cases_are_decided_early_and_stay_decided():
    """A drop of fifteen points, and none at all: a good part of 500 cases is saved; the seed is 10."""
    rng = random.Random(10)
    for difference, verdict, share in ((-0.15, "worse", 0.5), (0.0, "not worse", 0.85)):
        used = right = 0
        for _ in range(60):
            watch = _watched(rng, 500, 0.2 if difference else 0.1, difference, stop=True)
            used, right = used + watch.n, right + (watch.verdict == verdict)
            before = watch.verdict
            watch.extend([0.0] * 20)
            assert before in ("undecided", watch.verdict)
        assert used <= share * 500 * 60
        assert right >= 30


def _watched(
    rng: random.Random, cases: int, differing: float, difference: float, *, stop: bool = False
) -> MarginWatch:
    watch = MarginWatch(0.05)
    better = (differing + difference) / 2
    for _ in range(cases):
        u = rng.random()
        watch.add(1.0 if u < better else -1.0 if u < differing else 0.0)
        if stop and watch.verdict != "undecided":
            break
    return watch
