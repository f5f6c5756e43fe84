"""How sure the judges of a cascade have to be, so that few enough of the verdicts that stand are wrong."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from scipy import stats

from evenhand.stats.cascading import JudgedTwice, Limits, at_most, labels_needed, limits_of


def outputs(seed: int, size: int, *, errs: float = 0.05, sure: bool = True) -> list[JudgedTwice]:
    """Outputs; the first judge is as sure as it is likely to be right, or of none; the second errs so often."""
    rng = random.Random(seed)
    rows: list[JudgedTwice] = []
    for _ in range(size):
        chance = rng.uniform(0.5, 1)
        rows.append(
            JudgedTwice(
                first=round(chance, 3),
                then=1.0,
                first_right=rng.random() < (chance if sure else 0.5),
                then_right=rng.random() >= errs,
            )
        )
    return rows


def risk_of(limits: Limits, errs: float) -> float:
    """The share of the verdicts that stand which is wrong, of all outputs that `outputs` may draw."""
    least = 1.0 if limits.first is None else limits.first
    first = (1 - least) / 0.5  # whose chance to be right is from a half to one, all alike likely
    wrong = first * (1 - least) / 2
    if limits.then is None:
        return wrong / first if first else 0.0
    return wrong + (1 - first) * errs


@pytest.mark.thorough
@pytest.mark.parametrize("limits", [Limits(0.9, 1.0), Limits(0.7, None), Limits(None, 1.0)])
def test_the_risk_is_that_of_very_many_outputs(limits: Limits):
    """What the splits below are held against."""
    rows = [one for one in outputs(5, 50_000, errs=0.12) if limits.stage(one) != "people"]
    wrong = sum(not getattr(one, f"{limits.stage(one)}_right") for one in rows)
    assert risk_of(limits, 0.12) == pytest.approx(wrong / len(rows), abs=0.006)


@pytest.mark.parametrize(("wrong", "of"), [(0, 10), (3, 60), (21, 300), (40, 41)])
def test_the_tail_is_scipys(wrong: int, of: int):
    """Of the binomial distribution."""
    assert at_most(wrong, of, 0.1) == pytest.approx(stats.binom.cdf(wrong, of, 0.1))


def test_the_first_judge_decides_what_it_is_sure_of():
    """And the second one all the rest: nobody is left for a person."""
    rows = outputs(2, 1000, errs=0.03)
    limits = limits_of([rows[:300]], rows, 0.1)
    assert limits is not None
    stages = [limits.stage(one) for one in rows]
    assert 400 < stages.count("first") < 900
    assert "people" not in stages


def test_a_coin_decides_nothing():
    """However sure it says it is."""
    rows = outputs(2, 1000, errs=0.03, sure=False)
    limits = limits_of([rows[:300]], rows, 0.1)
    assert limits is not None
    assert sum(limits.stage(one) == "first" for one in rows) <= 100


def test_where_the_second_judge_errs_too_often_what_it_is_unsure_of_is_for_people():
    """It is wrong about what it is unsure of."""
    rows = [
        one._replace(then=0.3 if i % 3 == 0 else 0.9, then_right=bool(i % 3) or i % 2 == 0)
        for i, one in enumerate(outputs(1, 1000, sure=False))
    ]
    limits = limits_of([rows[:300]], rows, 0.1)
    assert limits is not None
    assert {limits.stage(one) for one in rows if one.then == 0.3} <= {"people", "first"}
    assert sum(limits.stage(one) == "then" for one in rows) > 500


def test_where_the_second_judge_is_a_coin_the_first_may_still_decide():
    """What it is sure of."""
    rows = outputs(1, 1000, errs=0.5)
    limits = limits_of([rows[:400]], rows, 0.25)
    assert limits is not None
    assert limits.then is None
    assert sum(limits.stage(one) == "first" for one in rows) > 300


@pytest.mark.parametrize("labels", [0, 5, 20])
def test_few_labels_choose_nothing(labels: int):
    """Not even where none is wrong."""
    right = JudgedTwice(first=0.9, then=1.0, first_right=True, then_right=True)
    assert limits_of([[right] * labels], [right] * 100, 0.1) is None


def test_no_output_has_no_limits():
    """Nor has a run without a draw."""
    assert limits_of([], [], 0.1) is None
    assert limits_of([], outputs(1, 10), 0.1) is None


@pytest.mark.parametrize(("risk", "delta"), [(0, 0.1), (1, 0.1), (0.1, 0), (-1, 0.1), (2, 0.1)])
def test_a_risk_that_is_none_is_refused(risk: float, delta: float):
    """Both lie between 0 and 1."""
    with pytest.raises(ValueError, match="risk"):
        limits_of([], [], risk, delta)


def unlabelled(one: JudgedTwice) -> JudgedTwice:
    """An output that nobody has labelled yet."""
    return one._replace(first_right=None, then_right=None)


def test_missing_labels_count_as_wrong_verdicts():
    """So that whoever looks after each label sees no limit that the whole draw would not have."""
    rows = outputs(3, 600)
    whole = limits_of([rows[:300]], rows, 0.1)
    assert whole is not None
    for looked in range(0, 300, 25):
        drawn = rows[:looked] + [unlabelled(one) for one in rows[looked:300]]
        limits = limits_of([drawn], rows, 0.1)
        assert limits is None or (limits.first or 2) >= (whole.first or 2)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "draws",
    [
        lambda rows: [rows[:300]],
        lambda rows: [rows[:100], rows[100:200], rows[200:300]],
    ],
)
@pytest.mark.parametrize("errs", [0.02, 0.08, 0.12])
def test_more_are_wrong_than_agreed_in_few_splits(
    draws: Callable[[list[JudgedTwice]], list[list[JudgedTwice]]], errs: float
):
    """Of one draw and of three, after any of which somebody looks: in 150 splits; the first seed is 7."""
    above = 0
    for seed in range(150):
        rows = outputs(seed + 7, 600, errs=errs)
        each = draws(rows)
        looks = (limits_of(each[: i + 1], rows, 0.1) for i in range(len(each)))
        above += any(one is not None and risk_of(one, errs) > 0.1 for one in looks)
    assert above <= 13  # of 150 splits at 5 %, so many or fewer come in 98 %


Judge = Callable[[random.Random], list[tuple[float, bool]]]


def as_sure_as_right(rng: random.Random) -> list[tuple[float, bool]]:
    """How sure one judge is whose confidence is its chance to be right, from a half to one, and whether it is right."""
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


def rows_of(items: list[tuple[float, bool]]) -> tuple[list[JudgedTwice], list[JudgedTwice]]:
    """The verdicts of one judge: with labels, and without."""
    labelled = [JudgedTwice(None, sure, then_right=right) for sure, right in items]
    return labelled, [unlabelled(one) for one in labelled]


def of_one(
    labelled: list[JudgedTwice], bare: list[JudgedTwice], labels: int, of: int, risk: float
) -> float | None:
    """From which certainty on a judge decides by so many labels of a draw of so many."""
    limits = limits_of([labelled[:labels] + bare[labels:of]], bare, risk)
    return None if limits is None else limits.then


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "judge", [as_sure_as_right, equally_sure, sure_at_random, wrong_where_sure]
)
def test_one_judge_errs_too_often_in_at_most_a_twentieth_of_draws_however_often_somebody_looks(
    judge: Judge,
):
    """After every ten of 200 labels: any threshold that there ever was counts. The seed is 3."""
    rng = random.Random(3)
    too_many = 0
    for _ in range(80):
        items = judge(rng)
        rng.shuffle(items)
        rows = rows_of(items)
        thresholds = {of_one(*rows, labels, 200, 0.2) for labels in range(10, 201, 10)} - {None}
        above = [[right for sure, right in items if sure >= (one or 0)] for one in thresholds]
        too_many += any(each.count(False) > 0.2 * len(each) for each in above)
    assert too_many <= 8  # of 80 draws at 5 %, so many or fewer come in 98 %


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("wrong", "labels", "least"), [(0.1, 200, 0.9), (0.02, 40, 0.8)])
def test_one_good_judge_decides_nearly_all(wrong: float, labels: int, least: float):
    """One that is wrong half as often as it may be, and one that hardly ever is; the seed is 5."""
    rng = random.Random(5)
    accepted = 0.0
    for _ in range(60):
        items = [(rng.random(), rng.random() >= wrong) for _ in range(600)]
        threshold = of_one(*rows_of(items), labels, labels, 0.2)
        if threshold is not None:
            accepted += sum(sure >= threshold for sure, _ in items) / 600 / 60
    assert accepted >= least


def test_what_one_judge_takes_is_known_before_anybody_labels():
    """Without errors, and with some; never where there are as many errors as may be."""
    needed = labels_needed(0.1) or 0
    items = [(0.9 - 0.1 * (i % 2), True) for i in range(10_000)]
    rows = rows_of(items)
    assert of_one(*rows, needed, needed, 0.1) is not None
    assert of_one(*rows, needed - 1, needed - 1, 0.1) is None
    few, many = labels_needed(0.1, 0.02), labels_needed(0.1, 0.08)
    assert few is not None
    assert many is not None
    assert few < many
    assert labels_needed(0.1, 0.1) is None
