"""Verdicts that can stand by themselves at an agreed risk."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from evenhand.stats.selective import acceptable, labels_for_errors, labels_for_nothing_wrong


def test_the_surest_verdicts_are_accepted_as_far_as_the_labels_allow():
    """A judge that is right where it is sure, and guesses elsewhere, decides what it is sure of."""
    labelled = [(0.9, i != 7) for i in range(90)] + [(0.3, i % 2 == 0) for i in range(60)]
    found = acceptable(labelled, [0.9] * 600 + [0.3] * 400, 0.1)
    assert found == (0.9, 90, 1, 600)
    assert acceptable(labelled, [0.9] * 600 + [0.3] * 400, 0.4) == (0.3, 150, 31, 1000)


@pytest.mark.parametrize("labelled", [[], [(1.0, True)] * 30, [(1.0, False)] * 200])
def test_too_few_labels_or_too_many_wrong_accept_nothing(labelled: list[tuple[float, bool]]):
    """30 right ones of 500 are too few for a risk of 10 %."""
    assert acceptable(labelled, [1.0] * 500, 0.1) is None


def test_what_it_takes_is_known_before_anybody_labels():
    """Without errors, and with some; never where there are as many errors as may be."""
    assert labels_for_nothing_wrong(0.1) == 41
    sure = [0.9] * 5000 + [0.8] * 5000
    assert acceptable([(0.9, True)] * 41, sure, 0.1) is not None
    assert acceptable([(0.9, True)] * 40, sure, 0.1) is None
    assert acceptable([(1.0, True)] * 32, [1.0] * 500, 0.1) is not None
    few, many = labels_for_errors(0.1, 0.02), labels_for_errors(0.1, 0.08)
    assert few is not None
    assert many is not None
    assert few < many
    assert labels_for_errors(0.1, 0.1) is None


@pytest.mark.parametrize(("risk", "delta"), [(0, 0.1), (1, 0.1), (0.1, 0), (-1, 0.1), (2, 0.1)])
def test_a_risk_that_is_none_is_refused(risk: float, delta: float):
    """Both lie between 0 and 1."""
    with pytest.raises(ValueError, match="risk"):
        acceptable([(1.0, True)], [1.0], risk, delta)


@pytest.mark.parametrize(
    ("cases", "repeats", "labels"), [(40, 5, 150), (20, 10, 150), (100, 3, 250)]
)
def test_the_promise_holds_where_repeats_of_a_case_are_right_or_wrong_together(
    cases: int, repeats: int, labels: int
):
    """A judge as above, whose verdicts on a case are all alike: in at most a tenth of 200 draws of 20 runs each."""
    rng = random.Random(11)
    too_many = decided = 0
    for _ in range(20):
        chances = [rng.uniform(0.5, 1) for _ in range(cases)]
        items = [one for sure in chances for one in [(sure, rng.random() < sure)] * repeats]
        for _ in range(10):
            found = acceptable(rng.sample(items, labels), [sure for sure, _ in items], 0.2)
            if found is not None:
                decided += 1
                agrees = [right for sure, right in items if sure >= found.threshold]
                too_many += sum(agrees) < 0.8 * len(agrees)
    assert decided >= 100
    assert too_many <= 20


Judge = Callable[[random.Random], list[tuple[float, bool]]]


def as_sure_as_right(rng: random.Random) -> list[tuple[float, bool]]:
    """How sure a judge is whose confidence is its chance to be right, from a half to one, and whether it is right."""
    return [(sure, rng.random() < sure) for sure in (rng.uniform(0.5, 1) for _ in range(600))]


def equally_sure(rng: random.Random) -> list[tuple[float, bool]]:
    """One that is always as sure, and wrong a little too often: in 121 of 600."""
    verdicts = [(1.0, number >= 121) for number in range(600)]
    rng.shuffle(verdicts)
    return verdicts


def sure_at_random(rng: random.Random) -> list[tuple[float, bool]]:
    """The same, whose confidence says nothing."""
    return [(rng.random(), right) for _, right in equally_sure(rng)]


def wrong_where_sure(rng: random.Random) -> list[tuple[float, bool]]:
    """One that is wrong in a quarter of what it is surest of, and elsewhere in a twentieth."""
    return [
        (sure, rng.random() > (0.25 if sure > 0.5 else 0.05)) for sure, _ in sure_at_random(rng)
    ]


@pytest.mark.parametrize("every", [5, 200])
@pytest.mark.parametrize(
    "judge", [as_sure_as_right, equally_sure, sure_at_random, wrong_where_sure]
)
def test_too_many_are_wrong_in_at_most_a_tenth_of_draws_however_often_somebody_looks(
    judge: Judge, every: int
):
    """After every five, and once: the first answer is taken. The seed is 3."""
    rng = random.Random(3)
    draws = 40
    too_many = 0
    for _ in range(draws):
        items = judge(rng)
        rng.shuffle(items)
        sure = [one for one, _ in items]
        found = next(
            (
                found
                for looked in range(every, 201, every)
                if (found := acceptable(items[:looked], sure, 0.2)) is not None
            ),
            None,
        )
        if found is not None:
            agrees = [right for one, right in items if one >= found.threshold]
            too_many += agrees.count(False) > 0.2 * len(agrees)
    assert too_many <= 7  # of 40 draws at 10 %, so many or fewer come in 96 %


@pytest.mark.parametrize(("wrong", "labels", "least"), [(0.1, 200, 0.9), (0.02, 40, 0.8)])
def test_a_good_judge_is_accepted(wrong: float, labels: int, least: float):
    """One that is wrong half as often as it may be, and one that hardly ever is; the seed is 5."""
    rng = random.Random(5)
    accepted = 0.0
    for _ in range(100):
        items = [(rng.random(), rng.random() >= wrong) for _ in range(600)]
        found = acceptable(items[:labels], [sure for sure, _ in items], 0.2)
        accepted += 0 if found is None else found.accepted / 600 / 100
    assert accepted >= least


def test_what_was_shown_is_not_accepted_against_later_labels():
    """40 right ones would do; 30 wrong ones after them contradict it."""
    labelled = [(1.0, True)] * 40
    assert acceptable(labelled, [1.0] * 500, 0.1) is not None
    assert acceptable([*labelled, *[(1.0, False)] * 30], [1.0] * 500, 0.1) is None
