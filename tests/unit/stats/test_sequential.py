"""Tests and intervals that hold whenever one looks."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

import pytest

from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.sequential import (
    Bet,
    ShareWatch,
    share_sequence,
)

RUN = [1, 1, 1, 0, 1] * 10


def confidence_sequence(values: Sequence[float]) -> tuple[float, float]:
    """The means that no bet of half the capital on each side rejects: the hedged capital process."""
    alpha = 1 - CONFIDENCE
    return _end(values, "higher", alpha / 2, 2 / alpha), _end(values, "lower", alpha / 2, 2 / alpha)


def _end(
    values: Sequence[float], on: Literal["higher", "lower"], alpha: float, enough: float
) -> float:
    """The lower (`higher`) or upper (`lower`) end of the means that no such bet rejects."""
    outside = 0.0 if on == "higher" else 1.0
    if not values:
        return outside
    # A bet takes no mean of 0 or 1.
    limit, inside = outside, min(1 - 1e-9, max(1e-9, math.fsum(values) / len(values)))
    while abs(inside - outside) > 1e-9:
        middle = (inside + outside) / 2
        bet = Bet(middle, on, alpha)
        for value in values:
            bet.add(value)
        if bet.capital >= enough:
            outside = middle
        else:
            inside = middle
    return limit if outside == limit else inside


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
    """Robbins' mixture."""
    assert share_sequence(40, 10) == pytest.approx((0.5909468, 0.9346225), abs=1e-7)
    assert share_sequence(400, 100) == pytest.approx((0.7329519315, 0.8573627346), abs=1e-9)


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


def test_a_bound_on_a_number_of_items_is_decided_at_the_latest_when_nothing_can_turn_it():
    """Exactly the bound keeps it; the first failure misses a bound of all."""
    for bound, values, word in (
        (1.0, [0.0], "missed"),
        (0.9, [0.0] * 11, "missed"),
        (0.9, [1.0] * 90, "kept"),
        (0.5, [1.0, 0.0] * 50, "kept"),
        (0.5, [1.0, 0.0] * 49 + [0.0, 0.0], "missed"),
        (0.0, [], "kept"),
        (1.0, [1.0] * 100, "kept"),
    ):
        watch = ShareWatch(bound, 100)
        for value in values:
            watch.add(value)
        assert watch.decides(word), (bound, len(values), word)
        assert not watch.decides("missed" if word == "kept" else "kept")


@pytest.mark.thorough
def test_a_bound_is_decided_otherwise_than_by_all_items_at_most_at_the_level():
    """1,000 orders of 200 items just below, and just at, a bound of 90 %; the seed is 13."""
    rng = random.Random(13)
    for passes, wrong in ((179, "kept"), (180, "missed")):
        items = [1.0] * passes + [0.0] * (200 - passes)
        errors = 0
        for _ in range(500):
            rng.shuffle(items)
            watch = ShareWatch(0.9, 200)
            for item in items:
                watch.add(item)
                if watch.decides(wrong):
                    errors += 1
                    break
        assert errors <= 0.05 * 500 + 15


def test_a_bound_far_away_is_decided_early():
    """70 % where 90 % are asked for, and 99 % where 80 % are: less than half of 500 items; the seed is 14."""
    rng = random.Random(14)
    for passes, bound, word in ((350, 0.9, "missed"), (495, 0.8, "kept")):
        items = [1.0] * passes + [0.0] * (500 - passes)
        used = 0
        for _ in range(20):
            rng.shuffle(items)
            watch = ShareWatch(bound, 500)
            for item in items:
                watch.add(item)
                if watch.decides(word):
                    break
            used += watch.n
        assert used < 0.4 * 500 * 20


def test_more_items_than_there_are_and_bounds_beyond_are_refused():
    """They would be a mistake in whoever counts."""
    watch = ShareWatch(0.5, 1)
    watch.add(1.0)
    with pytest.raises(ValueError, match="more than 1 items"):
        watch.add(1.0)
    for bad in ((1.1, 5), (-0.1, 5), (0.5, 0)):
        with pytest.raises(ValueError, match=r"bound|items"):
            ShareWatch(*bad)


@pytest.mark.parametrize("word", ["kept", "missed"])
def test_of_several_bounds_each_takes_more_items_to_be_decided(word: Literal["kept", "missed"]):
    """Or one of them would be called so by chance more often than one alone."""
    watch, first = ShareWatch(0.5, 1000), dict[int, int]()
    for n in range(1, 100):
        watch.add(float(word == "kept"))
        for of in (1, 10):
            if watch.decides(word, of):
                first.setdefault(of, n)
    assert first[1] < first[10]


def test_items_in_error_show_neither_that_a_bound_is_kept_nor_that_it_is_missed():
    """They may come to anything."""
    watch = ShareWatch(0.5, 1000)
    for _ in range(400):
        watch.add(0.0, 1.0)
    assert not watch.decides("kept")
    assert not watch.decides("missed")
