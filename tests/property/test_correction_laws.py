"""What corrected rates and the test for a random draw promise, over many draws; the seeds are in the tests."""

from __future__ import annotations

import random
from collections import Counter
from statistics import correlation, fmean

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand.stats.corrected_differences import (
    JudgedCases,
    LabelledCase,
    corrected_difference,
    corrected_paired_difference,
    off_together,
)
from evenhand.stats.correction import (
    Verdicts,
    corrected_rate,
    drawn_at_random,
)
from evenhand.stats.interval import wilson

ARENA = {
    "claude-qwen gpt-5.2": (78, 32, 116, 49),
    "claude-qwen gpt-4o-mini": (28, 82, 34, 131),
    "claude-gemini gpt-4o-mini": (11, 54, 33, 178),
}
"""Arena votes of 2025 (yiqunchen/debias-llm-as-a-judge, MIT): both pass, missed, excused, both fail."""


def pairs(both: int, first: int, second: int, neither: int) -> list[tuple[float, float]]:
    """A table of two verdicts, item by item."""
    return [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither


@pytest.mark.parametrize("name", ARENA)
def test_corrected_intervals_cover_what_people_say_and_are_hardly_wider_than_theirs(name):
    """50 labels of a few hundred: of 60 draws at least 90 % cover, where the judge's own interval covers in none."""
    table = ARENA[name]
    items = pairs(*table)
    truth = (table[0] + table[1]) / len(items)
    judge_passes = table[0] + table[2]
    low, high = wilson(judge_passes, len(items))
    assert not low <= truth <= high
    rng = random.Random(5)  # the seed
    covered, widths, widths_alone = 0, 0.0, 0.0
    for _ in range(60):
        counts = Counter(rng.sample(items, 50))
        verdicts = Verdicts(
            *(counts[pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0))), judge_passes, len(items)
        )
        found = corrected_rate(verdicts)
        assert found is not None
        covered += found.low <= truth <= found.high
        alone = wilson(verdicts.both_pass + verdicts.missed, 50)
        widths, widths_alone = widths + found.high - found.low, widths_alone + alone[1] - alone[0]
    assert widths <= 1.02 * widths_alone
    assert covered >= 54


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize(
    ("rates", "common", "tpr", "tnr"),
    [
        ((0.7, 0.8), 0.5, 0.9, 0.7),
        ((0.9, 0.95), 0.5, 0.95, 0.5),
        ((0.5, 0.6), 0.8, 0.8, 0.8),
        ((0.7, 0.7), 0.0, 0.9, 0.7),
        ((0.95, 0.98), 0.8, 0.95, 0.9),
        ((0.9, 0.9), 0.9, 0.9, 0.7),
    ],
)
def test_corrected_differences_cover_what_people_find(
    rates: tuple[float, float], common: float, tpr: float, tnr: float
):
    """50 labels of 500 cases: at least 90 % of 60 draws cover, paired or not; pairing is narrower on like systems."""
    rng = random.Random(7)  # the seed
    cases, labels, draws = 500, 50, 60
    covered, widths = [0, 0], [0.0, 0.0]
    for _ in range(draws):
        people = [_verdicts(rng, rates, common) for _ in range(cases)]
        judge = [tuple(rng.random() < (tpr if p else 1 - tnr) for p in pair) for pair in people]
        truth = sum(b - a for a, b in people) / cases
        drawn = rng.sample(range(cases), labels)
        first, second = (
            corrected_rate(
                Verdicts(
                    *(
                        sum((people[i][side], judge[i][side]) == verdicts for i in drawn)
                        for verdicts in ((True, True), (True, False), (False, True), (False, False))
                    ),
                    sum(pair[side] for pair in judge),
                    cases,
                )
            )
            for side in (0, 1)
        )
        assert first is not None
        assert second is not None
        labelled = [
            LabelledCase(*zip(people[i], judge[i], strict=True))  # type: ignore[arg-type]
            for i in drawn
        ]
        paired = corrected_paired_difference(first, second, labelled)
        for k, one in enumerate((corrected_difference(first, second), paired)):
            covered[k] += one.low <= truth <= one.high
            widths[k] += one.high - one.low
    assert min(covered) >= 0.9 * draws, covered
    assert common < 0.5 or widths[1] < widths[0]


@pytest.mark.parametrize(
    ("people_alike", "judge_alike"), [(0.0, 1.0), (1.0, 0.0), (0.5, 1.0), (0.9, 0.9), (0.0, 0.0)]
)
def test_two_corrected_rates_are_off_together_as_far_as_is_said(
    people_alike: float, judge_alike: float
):
    """And no further, whichever of people and judge agree about both columns: 80 of 160 labelled, 700 draws, seed 9.

    The errors are those of the plain estimate of outputs like these, whose correlation is counted.
    """
    rng, cases, labels = random.Random(9), 160, 80
    errors: list[tuple[float, float]] = []
    told: list[float] = []
    for draw in range(700):
        people = [_verdicts(rng, (0.7, 0.7), people_alike) for _ in range(cases)]
        judge: list[tuple[bool, bool]] = []
        for pair in people:
            luck = rng.random()
            first, second = (
                (luck if rng.random() < judge_alike else rng.random()) < (0.85 if one else 0.2)
                for one in pair
            )
            judge.append((first, second))
        each = [
            LabelledCase((one[0], by[0]), (one[1], by[1]))
            for one, by in zip(people[:labels], judge[:labels], strict=True)
        ]
        if draw < 100:
            judged = JudgedCases(judge, (cases, cases))
            told.append(off_together(each, (labels, labels), judged))
        first_rate, second_rate = (
            _plain_rate([case[side] for case in each], [pair[side] for pair in judge])
            for side in (0, 1)
        )
        errors.append((first_rate, second_rate))
    true = correlation(*zip(*errors, strict=True))
    assert true - 0.2 < fmean(told) < true + 0.08


def _plain_rate(labelled: list[tuple[bool, bool]], judge: list[bool]) -> float:
    """People's rate, put together from what they say of what the judge passes and of what it fails."""
    passed = fmean(people for people, judged in labelled if judged)
    failed = fmean(people for people, judged in labelled if not judged)
    return passed * fmean(judge) + failed * (1 - fmean(judge))


def _verdicts(rng: random.Random, rates: tuple[float, float], common: float) -> tuple[bool, bool]:
    """People's verdicts on a case of two systems, which find the same cases hard so far."""
    hard = rng.random()
    first, second = ((hard if rng.random() < common else rng.random()) < rate for rate in rates)
    return first, second


def test_labels_that_lean_to_the_judges_passes_are_found_out_and_random_ones_are_not():
    """Odds of 3 : 1 towards a pass: nine of ten are found at 100 labels; of random draws, one in a hundred at most."""
    rng = random.Random(11)  # the seed
    passes, total, n = 465, 1000, 100
    leaning = chance = 0
    for _ in range(300):
        drawn = 0
        left_pass, left_fail = passes, total - passes
        for _ in range(n):
            if rng.random() < 3 * left_pass / (3 * left_pass + left_fail):
                drawn, left_pass = drawn + 1, left_pass - 1
            else:
                left_fail -= 1
        leaning += drawn_at_random((drawn, n), (passes, total)) < 0.01
        even = sum(i < passes for i in rng.sample(range(total), n))
        chance += drawn_at_random((even, n), (passes, total)) < 0.01
    assert leaning >= 270
    assert chance <= 8
    assert drawn_at_random((5, 10), (5, 10)) == 1.0


@settings(max_examples=20)
@given(
    table=st.tuples(*[st.integers(0, 60)] * 4).filter(any),
    more=st.tuples(st.integers(0, 100_000), st.integers(0, 100_000)),
)
@example((0, 0, 0, 5), (0, 100_000))
@example((1, 0, 0, 0), (0, 0))
@example((500, 10, 20, 400), (500_000, 400_000))
def test_every_table_has_a_corrected_rate_within_its_interval_from_0_to_1(
    table: tuple[int, int, int, int], more: tuple[int, int]
):
    """Whatever is 0 in it; and it is that of the other verdict, turned around, where all is turned around."""
    both, missed, excused, fail = table
    passed, failed = more[0] + both + excused, more[1] + missed + fail
    found = corrected_rate(Verdicts(*table, passed, passed + failed))
    turned = corrected_rate(Verdicts(fail, excused, missed, both, failed, passed + failed))
    assert found is not None
    assert turned is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert (1 - turned.value, 1 - turned.high, 1 - turned.low) == pytest.approx(
        tuple(found), abs=0.01
    )
