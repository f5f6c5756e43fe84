"""Trials that a simulator spoilt are errors: what is said of pass^k holds whatever they would have come to."""

from __future__ import annotations

import random
from functools import cache

import pytest

from evenhand.stats.tallies import Tally, of_tries, pass_hat

SEED = 7
DRAWS = 1_000
CASES, TRIALS, SPOILT = 20, 2, 0.25
RATE = 1.2 / 2.2
"""The true pass^1: the mean of the cases' rates, which are drawn from Beta(1.2, 1)."""


def drawn(chance: random.Random) -> list[Tally]:
    """The trials of each case, a quarter of them in error."""
    tallies = list[Tally]()
    for _ in range(CASES):
        rate = chance.betavariate(1.2, 1.0)
        passed = failed = errors = 0
        for _ in range(TRIALS):
            # A mistake of the simulator is likelier where the task is hard, and the conversation long.
            spoilt = chance.random() < SPOILT * (1.5 - rate) / (1.5 - RATE)
            success = chance.random() < rate
            errors += spoilt
            passed += success and not spoilt
            failed += not success and not spoilt
        tallies.append(Tally(passed, failed, errors))
    return tallies


@cache  # few draws are unlike all others
def interval(passed: tuple[int, ...]) -> tuple[float, float]:
    """The interval of pass^1 where so many trials of each case passed and all others failed."""
    found = of_tries([[Tally(count, TRIALS - count)] for count in passed], 1)
    assert found is not None
    return found.always.low, found.always.high


@pytest.mark.thorough
def test_the_interval_of_pass_1_covers_the_truth_without_mistakes():
    """1,000 draws of 20 cases with 2 trials each, a quarter of them spoilt; seed 7."""
    chance = random.Random(SEED)
    covered = fooled = 0
    for _ in range(DRAWS):
        tallies = drawn(chance)
        low, below = interval(tuple(sorted(t.passed for t in tallies)))
        _, high = interval(tuple(sorted(t.passed + t.errors for t in tallies)))
        covered += low <= RATE <= high
        fooled += not low <= RATE <= below
    assert covered >= 0.94 * DRAWS
    assert fooled > 0.2 * DRAWS  # counted as failures of the agent's, they would mislead


def test_errors_widen_an_interval_to_both_sides():
    """Errors widen an interval to both sides."""
    chance = random.Random(SEED)
    for _ in range(3):
        tallies = drawn(chance)
        found = of_tries([[tally] for tally in tallies], 1)
        assert found is not None
        least, _ = interval(tuple(sorted(t.passed for t in tallies)))
        _, most = interval(tuple(sorted(t.passed + t.errors for t in tallies)))
        assert (found.always.low, found.always.high) == (pytest.approx(least), pytest.approx(most))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_bounds_of_pass_k_hold_whatever_errors_would_have_come_to(k: int):
    """The bounds of pass k hold whatever errors would have come to."""
    tallies = [Tally(2, 1, 1), Tally(0, 2, 2), Tally(4, 0, 0), Tally(1, 0, 3)]
    found = of_tries([[tally] for tally in tallies], k)
    assert found is not None
    least = sum(pass_hat(t.n, t.passed, k) for t in tallies) / len(tallies)
    most = sum(pass_hat(t.n, t.passed + t.errors, k) for t in tallies) / len(tallies)
    share = found.always
    assert (share.least, share.most) == (pytest.approx(least), pytest.approx(most))
    assert share.low <= least <= most <= share.high
