"""Corrected means of repeated cases hold as often as they promise; without repeats, they are what they were."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.stats.correction import Estimate
from evenhand.stats.design_effect import FEWEST_CASES, MeanEffect, ScoreLabel, mean_effect
from evenhand.stats.distributions import t_quantile
from evenhand.stats.interval import z_of
from evenhand.stats.paired_scores import (
    PairedScores,
    ScoredStratum,
    half_width_of_mean,
    paired_scores,
    weight_of_judge,
)

SEED = 20_261_127
TRUTH = 3.0


def run(random: Random, cases: int, repeats: int, alike: float) -> list[ScoreLabel]:
    """Scores of all outputs, by people and by a judge who is too kind; `alike` is the correlation within a case."""
    outputs: list[ScoreLabel] = []
    for case in range(cases):
        good, kind = random.gauss(0, alike**0.5), random.gauss(0.5, 0.6 * alike**0.5)
        for _ in range(repeats):
            people = TRUTH + good + random.gauss(0, (1 - alike) ** 0.5)
            judge = people + kind + random.gauss(0, 0.6 * (1 - alike) ** 0.5)
            outputs.append(ScoreLabel(str(case), people, judge))
    return outputs


def corrected(
    outputs: Sequence[ScoreLabel], labels: Sequence[ScoreLabel], *, by_case: bool = True
) -> Estimate:
    """The corrected mean; with each trial a case of its own, or as cases are."""
    found = paired_scores([ScoredStratum(len(outputs), [one[1:3] for one in labels])])
    assert found is not None
    judged = [(one.case, one.judge) for one in outputs]
    effect = mean_effect(judged, labels, weight_of_judge(found), same_trials=True)
    judge = fmean(score for _, score in judged)
    return as_student_has_it(found, judge, effect if by_case else MeanEffect())


def as_student_has_it(found: PairedScores, judge: float, effect: MeanEffect) -> Estimate:
    """PPI++'s mean, with Student's interval: it holds for scores like these, which have no rare disasters."""
    weight = weight_of_judge(found)
    value = found.people + weight * (judge - found.judge)
    free = found.free if effect.free is None else min(found.free, effect.free)
    half = half_width_of_mean(found, found.labels) / z_of() * t_quantile(0.95, free)
    return Estimate(value, value - half * effect.variance**0.5, value + half * effect.variance**0.5)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("cases", "repeats", "alike", "labels"),
    [(40, 5, 1.0, 100), (40, 3, 0.6, 100), (60, 5, 0.6, 60)],
)
def test_corrected_means_of_repeated_cases_cover(
    cases: int, repeats: int, alike: float, labels: int
):
    """Of 400 draws at least 372, or 93 %. Had each repeat been a case, 271 to 335 would."""
    random, covered, before = Random(SEED), 0, 0
    for _ in range(400):
        outputs = run(random, cases, repeats, alike)
        labelled = random.sample(outputs, labels)
        for by_case in (True, False):
            one = corrected(outputs, labelled, by_case=by_case)
            holds = one.low <= TRUTH <= one.high
            covered, before = covered + (by_case and holds), before + (not by_case and holds)
    assert before <= 340
    assert covered >= 372


@given(st.integers(0, 2**32), st.integers(20, 60))
@settings(deadline=None, max_examples=50)
def test_without_repeats_nothing_is_otherwise(seed: int, cases: int):
    """Each trial is a case."""
    random = Random(seed)
    outputs = run(random, cases, 1, 0.5)
    labelled = random.sample(outputs, 20)
    assert corrected(outputs, labelled) == corrected(outputs, labelled, by_case=False)


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(12, 40))
@settings(deadline=None, max_examples=50)
def test_repeats_that_are_all_alike_never_make_an_interval_narrower(
    seed: int, repeats: int, cases: int
):
    """Whoever runs and scores everything again, and gets the same, knows no more of other cases."""
    once = run(Random(seed), cases, 1, 0.5)
    one, other = corrected(once, once), corrected(once * repeats, once * repeats)
    assert other.high - other.low >= one.high - one.low - 1e-9


def test_labels_of_too_few_cases_say_so():
    """Scores of nine cases that were run six times; not nine scores of nine cases."""
    outputs = run(Random(SEED), FEWEST_CASES - 1, 6, 0.5)
    judged = [(one.case, one.judge) for one in outputs]
    assert mean_effect(judged, outputs[:40], 0.5, same_trials=True).too_few
    assert not mean_effect(judged[::6], outputs[::6], 0.5, same_trials=True).too_few
    assert not mean_effect(judged, [], 0.5, same_trials=True).too_few
