"""Verdicts that can stand by themselves at an agreed risk."""

from __future__ import annotations

import random

import pytest

from evenhand.stats.selective import acceptable, labels_for_errors, labels_for_nothing_wrong


def test_the_surest_verdicts_are_accepted_as_far_as_the_labels_allow():
    """A judge that is right where it is sure, and guesses elsewhere, decides what it is sure of."""
    labelled = [(0.9, i != 7) for i in range(60)] + [(0.3, i % 2 == 0) for i in range(40)]
    found = acceptable(labelled, [0.9] * 600 + [0.3] * 400, 0.1)
    assert found == (0.9, 60, 1, 600)
    assert acceptable(labelled, [0.9] * 600 + [0.3] * 400, 0.4) == (0.3, 100, 21, 1000)


@pytest.mark.parametrize("labelled", [[], [(1.0, True)] * 20, [(1.0, False)] * 200])
def test_too_few_labels_or_too_many_wrong_accept_nothing(labelled: list[tuple[float, bool]]):
    """20 right ones of 500 are one too few for a risk of 10 %."""
    assert acceptable(labelled, [1.0] * 500, 0.1) is None


def test_what_it_takes_is_known_before_anybody_labels():
    """Without errors, and with some; never where there are as many errors as may be."""
    assert labels_for_nothing_wrong(0.1) == 22
    assert acceptable([(1.0, True)] * 22, [1.0] * 500, 0.1) is not None
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
    ("cases", "repeats", "labels"), [(40, 5, 100), (20, 10, 100), (100, 3, 60)]
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


def test_more_than_the_agreed_share_is_wrong_in_no_more_than_the_agreed_share_of_draws():
    """A judge whose confidence is its chance to be right, from a half to one; the seed is 3, the draws are 300.

    At a risk of .2, verdicts surer than .6 could stand, 80 %; with 200 labels, more than half of these are accepted.
    """
    rng = random.Random(3)
    items = [(sure, rng.random() < sure) for sure in (rng.uniform(0.5, 1) for _ in range(2000))]
    too_many = 0
    accepted = 0.0
    for _ in range(300):
        rng.shuffle(items)
        found = acceptable(items[:200], [sure for sure, _ in items], 0.2)
        if found is None:
            continue
        rest = [agrees for sure, agrees in items[200:] if sure >= found.threshold]
        accepted += len(rest) / 1800 / 300
        too_many += sum(rest) < 0.8 * len(rest)
    assert too_many <= 0.12 * 300
    assert accepted >= 0.4
