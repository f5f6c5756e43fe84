"""Votes of several judges, combined by labels: against the majority, and honest about itself."""

from __future__ import annotations

import math
import random

import pytest

from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.votes import (
    APART,
    PRIOR_WEIGHT,
    SHIFT,
    TOGETHER,
    VoteWeights,
    cross_fitted,
    fitted_weights,
)

Rates = list[tuple[float, float]]
EQUAL: Rates = [(0.8, 0.8)] * 3
ONE_GOOD: Rates = [(0.92, 0.92), (0.6, 0.6), (0.6, 0.6)]
LENIENT: Rates = [(0.95, 0.4)] * 3


def drawn(rng: random.Random, judges: Rates, n: int) -> tuple[list[list[float]], list[bool]]:
    """Votes of independent judges with these true and false positive rates, and what people say."""
    passes = [rng.random() < 0.6 for _ in range(n)]
    votes = [
        [1.0 if rng.random() < (tpr if ok else 1 - tnr) else -1.0 for tpr, tnr in judges]
        for ok in passes
    ]
    return votes, passes


def right(weights: VoteWeights, votes: list[list[float]], passes: list[bool]) -> float:
    """The share of verdicts that are people's."""
    return sum(weights.passes(v) == ok for v, ok in zip(votes, passes, strict=True)) / len(passes)


def test_without_labels_the_votes_come_to_the_majority():
    """Each vote counts the same, for and against."""
    weights = VoteWeights(0.0, (PRIOR_WEIGHT,) * 3)
    assert weights.passes([1, 1, -1])
    assert not weights.passes([1, -1, -1])
    assert not weights.passes([1, -1, 0]), "an even split passes nothing, as a jury's does"
    assert cross_fitted([[1.0, 1.0, -1.0]], [False], [0]) == [True]
    assert fitted_weights([], []) == (0.0, ())


def test_the_weights_are_where_the_penalised_likelihood_is_highest():
    """Of 80 outputs, seed 3: a step in any direction makes it lower."""
    votes, passes = drawn(random.Random(3), ONE_GOOD, 80)
    best = fitted_weights(votes, passes)

    def height(intercept: float, weights: tuple[float, ...]) -> float:
        chosen = VoteWeights(intercept, weights)
        likely = sum(
            math.log(chosen.chance(v) if ok else 1 - chosen.chance(v))
            for v, ok in zip(votes, passes, strict=True)
        )
        mean = sum(w - PRIOR_WEIGHT for w in weights) / 3
        apart = sum((w - PRIOR_WEIGHT - mean) ** 2 for w in weights) / APART**2
        together = 3 * mean**2 / (APART**2 + 3 * TOGETHER**2)  # all weights moved alike
        return likely - (intercept**2 / SHIFT**2 + apart + together) / 2

    top = height(*best)
    for i in range(4):
        for step in (-0.02, 0.02):
            moved = [best.intercept, *best.weights]
            moved[i] += step
            assert height(moved[0], tuple(moved[1:])) < top


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("judges", "gain"), [(EQUAL, -0.01), (ONE_GOOD, 0.08), (LENIENT, 0.05)], ids=str
)
def test_the_combination_is_never_much_worse_than_the_majority_and_better_where_judges_differ(
    judges: Rates, gain: float
):
    """100 labels, 20 draws, seed 4, judged on 1,000 other outputs; what is reported of it is what it comes to."""
    rng, gains, reported = random.Random(4), 0.0, 0.0
    for _ in range(20):
        votes, passes = drawn(rng, judges, 100)
        new = drawn(rng, judges, 1_000)
        truth = right(fitted_weights(votes, passes), *new)
        gains += truth - right(VoteWeights(0.0, (1.0,) * 3), *new)
        own = cross_fitted(votes, passes, [i % 10 for i in range(100)])
        reported += sum(a == b for a, b in zip(own, passes, strict=True)) / 100 - truth
    assert gains / 20 >= gain
    assert abs(reported / 20) <= 0.025, "what it says of itself is neither too good nor too bad"


def test_equal_judges_are_seldom_said_to_be_better_weighted():
    """200 runs with 60 labels, seed 5: at most 5 % say that weights beat the majority."""
    rng, better = random.Random(5), 0
    for _ in range(200):
        votes, passes = drawn(rng, EQUAL, 60)
        own = cross_fitted(votes, passes, [i % 5 for i in range(60)])
        gained = [
            [(a == ok) - ((sum(v) > 0) == ok)] for a, v, ok in zip(own, votes, passes, strict=True)
        ]
        differences = Differences(gained, rates=True)
        better += verdict(differences, differences.p()) == "better"
    assert better <= 10


def test_a_judge_that_copies_another_adds_nothing():
    """300 outputs, seed 6: two copies share about the weight that one has alone."""
    votes, passes = drawn(random.Random(6), [(0.8, 0.8), (0.7, 0.7)], 300)
    alone = fitted_weights(votes, passes)
    copied = fitted_weights([[v[0], v[0], v[1]] for v in votes], passes)
    assert copied.weights[0] == pytest.approx(copied.weights[1])
    assert sum(copied.weights[:2]) == pytest.approx(alone.weights[0], abs=0.2)


@pytest.mark.parametrize("judges", [3, 5, 9, 15])
def test_weights_are_the_likeliest_for_juries_that_are_large_or_often_wrong_too(judges: int):
    """Their votes say nothing of what people say. From the prior, a whole step leads far past the maximum."""
    rng = random.Random(20_261_128)
    cases = [
        (rng.random() < 0.5, [rng.choice((-1.0, 1.0)) for _ in range(judges)]) for _ in range(20)
    ]
    passes, votes = [ok for ok, _ in cases * 10], [row for _, row in cases * 10]
    found = fitted_weights(votes, passes)

    def unlikely(weights: VoteWeights) -> float:
        apart = [one - PRIOR_WEIGHT for one in weights.weights]
        shared = TOGETHER**2 / (APART**2 + judges * TOGETHER**2)
        prior = (sum(one * one for one in apart) - shared * sum(apart) ** 2) / APART**2
        chances = [weights.chance(row) for row in votes]
        seen = sum(math.log(p if ok else 1 - p) for p, ok in zip(chances, passes, strict=True))
        return (prior + (weights.intercept / SHIFT) ** 2) / 2 - seen

    best = unlikely(found)
    for place in range(judges):
        for moved in (-0.01, 0.01):
            other = list(found.weights)
            other[place] += moved
            assert unlikely(VoteWeights(found.intercept, tuple(other))) > best
    assert unlikely(VoteWeights(found.intercept + 0.01, found.weights)) > best
