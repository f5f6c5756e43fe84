"""Rates that are corrected by probabilities: narrower where these tell something, the same where they don't."""

from __future__ import annotations

import math
import random

import pytest

from evenhand.stats.correction import corrected_rate
from evenhand.stats.recalibration import (
    GradedItem,
    GradedLabel,
    ProbabilityLabel,
    brier,
    cross_fitted,
    graded_rate,
    log_odds,
    platt,
    reliability,
    verdicts_in,
)

Rows = tuple[list[bool], list[GradedItem]]


def made_up(rng: random.Random, ahead: float, items: int = 400) -> Rows:
    """People's verdicts and a judge's that errs on a fifth, `ahead` surer where it is right."""
    people: list[bool] = []
    judged: list[GradedItem] = []
    for _ in range(items):
        good = rng.random() < 0.6
        right = rng.random() < 0.8
        passed = good is right
        sure = abs(rng.gauss(1.0 + (ahead if right else 0.0), 0.7))
        people.append(good)
        judged.append(GradedItem(passed, 1 / (1 + math.exp(-sure if passed else sure))))
    return people, judged


def drawn(rng: random.Random, rows: Rows, labels: int = 60) -> list[GradedLabel]:
    """A random draw of labels."""
    people, judged = rows
    places = rng.sample(range(len(people)), labels)
    return [GradedLabel(str(i), people[i], *judged[i]) for i in places]


@pytest.mark.thorough
@pytest.mark.parametrize(("ahead", "narrower"), [(0.0, 0.98), (2.5, 0.85)])
def test_it_is_never_wider_than_by_verdicts_and_holds_the_truth(ahead: float, narrower: float):
    """However much the probabilities tell."""
    seed = 11
    print(f"seed {seed}")  # noqa: T201 (to run it again)
    rng = random.Random(seed)
    rows = made_up(rng, ahead)
    truth = sum(rows[0]) / len(rows[0])
    held, ratios = 0, []
    for _ in range(60):
        labels = drawn(rng, rows)
        found = graded_rate(rows[1], labels)
        plain = corrected_rate(verdicts_in(rows[1], labels))
        assert found is not None
        assert plain is not None
        ratio = (found.estimate.high - found.estimate.low) / (plain.high - plain.low)
        assert ratio <= 1 + 1e-9
        assert 0 <= found.explained < 1
        ratios.append(ratio)
        held += found.estimate.low <= truth <= found.estimate.high
    assert held >= 53
    assert (sum(ratios) / len(ratios) < narrower) is (ahead > 0)


def test_probabilities_that_are_all_alike_change_nothing():
    """Then it is the rate by verdicts, to the last digit."""
    people, judged = made_up(random.Random(2), 1.0)
    flat = [GradedItem(item.passed, 0.9 if item.passed else 0.1) for item in judged]
    labels = drawn(random.Random(3), (people, flat))
    found = graded_rate(flat, labels)
    assert found is not None
    assert found.explained == 0
    assert found.estimate == corrected_rate(verdicts_in(flat, labels))


def test_without_labels_there_is_no_rate():
    """Nor with labels of too few cases, as by verdicts."""
    assert graded_rate([GradedItem(True, 0.9)], []) is None


def test_a_judge_that_is_too_sure_has_a_line_that_is_flatter():
    """And one whose probabilities mean what they say has about the line that changes nothing."""
    rng = random.Random(7)
    chances = [rng.uniform(0.02, 0.98) for _ in range(2000)]
    labels = [rng.random() < chance for chance in chances]
    honest = platt(list(zip(chances, labels, strict=True)))
    odds = [math.log(chance / (1 - chance)) for chance in chances]
    too_sure = [1 / (1 + math.exp(-3 * one)) for one in odds]
    flatter = platt(list(zip(too_sure, labels, strict=True)))
    assert honest.slope == pytest.approx(1, abs=0.1)
    assert honest.intercept == pytest.approx(0, abs=0.15)
    assert flatter.slope == pytest.approx(1 / 3, abs=0.1)


@pytest.mark.parametrize("end", [0.0, 0.001, 0.02])
def test_a_judge_that_says_0_or_1_and_errs_has_a_line_that_says_how_often(end: float):
    """Its line is at the mode, where a whole step of Newton's method only leads to and fro over it."""
    labels = [(end, i < 10) for i in range(26)] + [(1 - end, i < 46) for i in range(54)]
    line = platt(labels)
    # The derivatives of likelihood and prior by both parameters.
    misses = [(line(probability) - people, log_odds(probability)) for probability, people in labels]
    assert line.intercept + sum(miss for miss, _ in misses) == pytest.approx(0, abs=1e-6)
    slope = (line.slope - 1) / 0.25
    assert slope + sum(miss * x for miss, x in misses) == pytest.approx(0, abs=1e-5)
    assert line(end) == pytest.approx(10 / 26, abs=0.03)
    assert line(1 - end) == pytest.approx(46 / 54, abs=0.03)


def test_a_line_through_nothing_changes_nothing():
    """Nor does one through labels that are all alike go to an end."""
    assert platt([])(0.3) == pytest.approx(0.3)
    one_sided = platt([(0.9, True)] * 50)
    assert 0.9 < one_sided(0.9) < 1


def test_no_label_has_a_part_in_its_own_line():
    """Other labels of its case neither."""
    rng = random.Random(1)
    labels = [ProbabilityLabel(f"case {i // 2}", rng.random() < 0.5, 0.7) for i in range(40)]
    turned = [
        one._replace(people=not one.people) if one.case == "case 3" else one for one in labels
    ]
    assert cross_fitted(labels).left_out("case 3") == cross_fitted(turned).left_out("case 3")
    assert cross_fitted(labels).left_out("case 4") != cross_fitted(turned).left_out("case 4")


def test_a_coins_brier_score_is_a_quarter():
    """A perfect one's is 0; its interval isn't."""
    coin = brier([(str(i), 0.5, i % 2 == 0) for i in range(50)])
    perfect = brier([(str(i), float(i % 2), i % 2 == 1) for i in range(50)])
    assert coin is not None
    assert perfect is not None
    assert coin.value == 0.25
    assert perfect.value == 0
    assert perfect.high > 0.02
    assert brier([]) is None


def test_a_reliability_curve_holds_every_label_once():
    """In points of some labels each; equal probabilities are never divided."""
    rows = [(i / 100, i % 3 == 0) for i in range(53)] + [(0.9, True)] * 30
    points = reliability(rows)
    assert sum(point.labels for point in points) == len(rows)
    assert all(point.labels >= 5 for point in points)
    assert [point.stated for point in points] == sorted(point.stated for point in points)
    assert points[-1].labels >= 30
    assert reliability([]) == []
    assert [point.labels for point in reliability([(i / 100, True) for i in range(100)])] == [
        20
    ] * 5
