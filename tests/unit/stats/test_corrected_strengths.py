"""Strengths that are corrected by people's labels."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

from evenhand.stats.bradley_terry import Comparison, NotEstimable, fit
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair, corrected_strengths

_BENCH = runpy.run_path(str(Path(__file__).resolve().parents[3] / "bench/rankings_corrected.py"))
Setting, judged_run = _BENCH["Setting"], _BENCH["judged_run"]
SEED = 20_261_123
POOR = Setting(40, (0.6, 0.0, -0.6), (-1.0, 0.8, 0.5), 2.0, 1.5, 50)
TRUTH = [0.5785, 0.5016, 0.4199]
"""What people say of 20,000 such cases."""


def test_intervals_cover_what_people_say_though_the_judge_is_biased():
    """A small one of the simulations of bench/rankings_corrected.py; the seed is 20261123."""
    draw = random.Random(SEED)
    hits = count = 0
    for _ in range(16):
        pairs = judged_run(draw, POOR)
        labels = draw.sample(pairs, POOR.labels)
        found = corrected_strengths(labels, [pair.judge for pair in pairs]).strengths
        for column in found.columns:
            _, low, high = found.chance(column)
            hits += low <= TRUTH[column] <= high
            count += 1
    assert hits / count >= 0.9


def test_without_weight_they_are_those_of_people_alone():
    """With λ = 0 the judge has no part in it."""
    pairs = judged_run(random.Random(SEED), POOR)
    labels = pairs[::2]
    found = corrected_strengths(labels, [pair.judge for pair in pairs], weight=0.0)
    assert found.strengths.strengths == pytest.approx(
        fit([label.people for label in labels]).strengths
    )


@pytest.mark.parametrize("cases", [4, 8, 40])
def test_without_weight_they_are_as_sure_as_people_alone(cases: int):
    """The factor of the jackknife for few cases is in both: three quarters for four."""
    pairs = judged_run(random.Random(SEED), POOR._replace(cases=2 * cases, labels=cases))
    labels = pairs[: len(pairs) // 2]  # those of the first cases
    found = corrected_strengths(labels, [pair.judge for pair in pairs], weight=0.0)
    alone = fit([pair.people for pair in labels])
    for row, other in zip(found.strengths.covariance, alone.covariance, strict=True):
        assert row == pytest.approx(other, rel=1e-6, abs=1e-9)


def test_where_all_pairs_are_labelled_the_judge_changes_nothing():
    """What it adds is what it takes away."""
    pairs = judged_run(random.Random(SEED), POOR)
    found = corrected_strengths(pairs, [pair.judge for pair in pairs], weight=1.0)
    assert found.strengths.strengths == pytest.approx(
        fit([pair.people for pair in pairs]).strengths, abs=1e-6
    )


def test_a_judge_that_knows_people_narrows_the_intervals_and_one_that_guesses_has_little_weight():
    """λ follows from the labels; the seed is 20261123."""
    draw = random.Random(SEED)
    pairs = judged_run(draw, POOR._replace(cases=150))
    sure = [_judged_as(pair, pair.people.answer) for pair in pairs]
    guessing = [_judged_as(pair, draw.choice(("first", "second", "tie"))) for pair in pairs]
    alone = fit([pair.people for pair in pairs[::7]])
    good = corrected_strengths(sure[::7], [pair.judge for pair in sure])
    bad = corrected_strengths(guessing[::7], [pair.judge for pair in guessing])
    assert good.weight > 0.8
    assert bad.weight < 0.5
    narrow, wide = good.strengths.chance(0), alone.chance(0)
    assert narrow.high - narrow.low < 0.6 * (wide.high - wide.low)


def _judged_as(pair: LabelledPair, answer: str) -> LabelledPair:
    people = pair.people
    judge = JudgedPair(
        people.cluster,
        people.first,
        people.second,
        float(answer == "first"),
        float(answer == "second"),
    )
    return LabelledPair(people, judge)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([(0, 1, "first"), (1, 0, "first")], "do not connect"),
        ([(0, 1, "tie"), (2, 1, "tie")], "every label is a tie"),
        ([], "compared nothing"),
    ],
)
def test_labels_that_say_nothing_of_a_column_are_refused(
    answers: list[tuple[int, int, str]], why: str
):
    """Rather than answered by the prior."""
    judged = [JudgedPair("a", i, j, 1.0, 0.0) for i, j in ((0, 1), (1, 2), (0, 2))]
    labels = [
        LabelledPair(Comparison("a", one, two, answer), judged[0]) for one, two, answer in answers
    ]
    with pytest.raises(NotEstimable, match=why):
        corrected_strengths(labels, judged)


@pytest.mark.parametrize("seed", range(12))
def test_labels_are_never_worth_more_than_if_all_pairs_were_labelled(seed: int):
    """Not even where the judge says what people say of each pair."""
    pairs = judged_run(random.Random(SEED + seed), POOR)
    sure = [_judged_as(pair, pair.people.answer) for pair in pairs]
    labels = sure[::2]
    assert corrected_strengths(labels, [one.judge for one in sure]).left >= len(labels) / len(sure)


def test_a_missing_pair_counts_as_one_of_all_pairs_and_not_as_one_of_the_labels():
    """Half of the pairs are labelled, so people would have labelled half of the missing ones."""
    pairs = judged_run(random.Random(SEED), POOR)
    labels = pairs[::2]
    missing = [Comparison(f"gone {i}", 0, 2, "second") for i in range(20)]
    found = corrected_strengths(labels, [pair.judge for pair in pairs], missing, weight=0.0)
    share = len(labels) / len(pairs)
    halves = [one._replace(weight=share) for one in missing]
    alone = fit([*(label.people for label in labels), *halves])
    assert found.strengths.strengths == pytest.approx(alone.strengths)


def test_without_weight_they_are_no_surer_than_people_alone():
    """Each case is left out in turn, there as here."""
    pairs = judged_run(random.Random(SEED), POOR._replace(cases=12))
    labels = pairs[::2]
    found = corrected_strengths(labels, [pair.judge for pair in pairs], weight=0.0)
    alone = fit([label.people for label in labels])
    for i, row in enumerate(alone.covariance):
        assert found.strengths.covariance[i][i] >= row[i]


def test_a_judge_that_says_the_same_of_every_pair_makes_nothing_surer():
    """Cases have different numbers of pairs and of labels; that is no knowledge of people."""
    draw = random.Random(SEED)
    labels: list[LabelledPair] = []
    judged: list[JudgedPair] = []
    for case in range(30):
        for number in range(1 + case % 4 * 3):
            judged.append(JudgedPair(f"c{case}", 0, 1, 0.8, 0.2))
            if number % 2 == 0:
                shown = (0, 1) if number % 4 else (1, 0)
                people = Comparison(f"c{case}", *shown, draw.choice(("first", "second")))
                labels.append(LabelledPair(people, judged[-1]))
    assert corrected_strengths(labels, judged, weight=1.0).left == pytest.approx(1)
