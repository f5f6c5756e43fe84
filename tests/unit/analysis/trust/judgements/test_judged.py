"""What judges said in a run, item by item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.trust.judgements.judged import Item, certainties, criteria_of, judgements
from evenhand.analysis.trust.judgements.judged_basis import asked_alike
from evenhand.core.score import Outcome

ERROR = {"score": None, "passed": None, "error": "judge"}


def by_jury(metric: str, *judges: str) -> Outcome:
    """The outcome of a jury, of which those without a name gave an error."""
    rows = [
        {"judge": judge, "passed": True, "score": 1.0, "instrument": "i"} if judge else ERROR
        for judge in judges
    ]
    return Outcome(metric, "pass", 1.0, metadata={"jury": rows})


async def of_trials(make: Make, *outcomes: Outcome) -> dict[tuple[str, str], list[int]]:
    """By metric and judge the trials that they judged, each of which has one of these outcomes."""
    trials = [result(i, case=f"c{i}", outcomes=(one,)) for i, one in enumerate(outcomes)]
    metrics = judgements(await make(trials)).metrics
    return {key: [item.index for item in judge.items] for key, judge in metrics.items()}


async def test_a_jury_that_lacked_a_member_may_be_either_of_two(make_run: Make):
    """Its verdict counts for neither then."""
    assert await of_trials(make_run, by_jury("j", "a", "b"), by_jury("j", "a", "")) == {
        ("j", "a+b"): [0, 1]
    }
    juries = (by_jury("j", "a", "b"), by_jury("j", "a", "c"), by_jury("j", "a", ""))
    assert await of_trials(make_run, *juries) == {
        ("j", "a+b"): [0],
        ("j", "a+c"): [1],
        ("j", "a"): [2],
    }


async def test_a_jury_that_lacked_a_member_is_no_jury_of_another_metric(make_run: Make):
    """It never had all of its members."""
    assert await of_trials(make_run, by_jury("j", "a", "b"), by_jury("k", "a", "")) == {
        ("j", "a+b"): [0],
        ("k", "a"): [1],
    }


async def test_of_two_expectations_of_one_metric_the_less_certain_counts(make_run: Make):
    """Both must pass, and the scale is that of both."""
    sure = Outcome(
        "x", "pass", 4.0, metric="m", metadata={"judge": "a", "confidence": 0.9}, scale=(1.0, 10.0)
    )
    unsure = replace(sure, metadata={"judge": "a", "confidence": 0.6}, scale=(0.0, 5.0))
    failed = replace(sure, outcome="fail")
    trials = [
        result(i, case=f"c{i}", outcomes=pair)
        for i, pair in enumerate([(unsure, sure), (sure, unsure), (failed, sure)])
    ]
    (metric,) = judgements(await make_run(trials)).metrics.values()
    assert [item.certainty for item in metric.items] == [0.6, 0.6, 0.9]
    assert [item.passed for item in metric.items] == [True, True, False]
    assert metric.scale == (0.0, 10.0)


@pytest.mark.parametrize(
    "other",
    [
        {"name": "y"},
        {"at_least": 0.5},
        {"at_most": 0.5},
        {"metadata": {"threshold": 0.5}},
        {"metadata": {"category_scores": {"good": 1}}},
    ],
)
def test_another_name_or_bound_is_another_criterion(other: dict[str, Any]):
    """Scores and reasons are not."""
    outcome = Outcome("x", "pass", 1.0)
    assert criteria_of(replace(outcome, **other)) != criteria_of(outcome)
    assert criteria_of(replace(outcome, score=0.0, reason="so")) == criteria_of(outcome)


async def test_an_error_without_a_judge_counts_once_under_its_metric(make_run: Make):
    """With the judge that was met first, where several judged it."""
    by_two = [Outcome("m", "pass", 1.0, metadata={"judge": judge}) for judge in ("a", "b")]
    lost, other = Outcome("m", "error", None), Outcome("k", "error", None)
    trials = [
        result(i, case=f"c{i}", outcomes=(one,)) for i, one in enumerate([*by_two, lost, other])
    ]
    metrics = judgements(await make_run(trials)).metrics
    assert {key: dict(judge.errors) for key, judge in metrics.items()} == {
        ("m", "a"): {0: 1},
        ("m", "b"): {},
    }


def test_another_variant_of_a_case_is_no_repeat_of_it():
    """A judge that passes one and fails the other is no less sure of either."""
    items = [
        Item(index=0, case="c", variant=0, passed=True),
        Item(index=1, case="c", variant=1, passed=False),
    ]
    assert list(certainties(items).values()) == [1.0, 1.0]
    wavering = [
        Item(index=0, case="c", variant=0, passed=True),
        Item(index=1, case="c", variant=0, passed=False),
    ]
    assert list(certainties(wavering).values()) == [0.5, 0.5]


@pytest.mark.parametrize("edited", range(6))
def test_one_case_of_several_that_was_asked_otherwise_is_enough(edited: int):
    """Wherever it comes among them; cases that only one of two samples has say nothing."""
    before = {f"c{i}": {"system": "p q"} for i in range(6)}
    assert asked_alike(before, {**before, "new": {"system": "r"}}, "system") is True
    assert asked_alike(before, {**before, f"c{edited}": {"system": "r"}}, "system") is False
    assert asked_alike(before, {"new": {"system": "r"}}, "system") is None


def test_what_a_trial_in_error_lacks_is_no_other_question():
    """One run may know less of a case than the other."""
    assert asked_alike({"c": {"system": "p q"}}, {"c": {"system": "q"}}, "system") is True
