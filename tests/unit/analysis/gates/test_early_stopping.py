"""What a gate takes in before all cases are there."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make
from tests.unit.analysis.gates.test_gate_verdict import ONE, a_run, against, trials, verdicts

from evenhand.analysis.gates.early_stopping import GateDecider
from evenhand.analysis.gates.gate_results import Gate
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.case import Case
from evenhand.core.expect import Trial
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.testing.plan import example_of


async def nothing(trial: Trial) -> object:
    """Nothing is asked."""
    return trial.case.id


def graded(n: int, grade: float, ok: bool = True) -> list[TrialResult]:
    """So many trials that have this grade, of 0 to 10."""
    outcome = Outcome("x", "pass", grade, metric="grade", scale=(0.0, 10.0))
    return [
        replace(one, outcomes=(*one.outcomes, outcome), named_scores={"grade": grade})
        for one in trials(n, 0 if ok else n)
    ]


def with_copies(trial: TrialResult, count: int) -> TrialResult:
    """The trial with as many metrics of the same value."""
    (value,) = trial.named_scores.values()
    outcomes = tuple(
        Outcome("x", "pass" if value else "fail", value, metric=f"m{i}") for i in range(count)
    )
    scores = {f"m{i}": value for i in range(count)}
    return replace(trial, outcomes=outcomes, named_scores=scores)


async def decided(
    make: Make, folder: Path, before: list[TrialResult], after: list[TrialResult], **how: Any
) -> tuple[GateDecider, Gate]:
    """Runs cases until it is decided; what decided it, and what the gate says of that run then."""
    baseline = await against(make, folder, before)
    plan = example_of(nothing, [Case(one.case) for one in after], variants=ONE)
    margin = how.pop("margin", 0.05)
    decider = GateDecider(baseline, plan, margin, **how)
    of_case = {one.case: one for one in after}
    run: list[TrialResult] = []
    for planned in decider.arranged(plan.trials()):
        run.append(of_case[planned.case.id])
        decider.add(run[-1])
        if decider.decided:
            break
    status = "decided" if decider.decided else "finished"
    file = await a_run(make, run, planned=len(after), status=status)
    return decider, gate(baseline, file, margin, decider=decider, **how)


async def test_what_is_as_good_as_before_is_decided_early(make_run: Make, tmp_path: Path):
    """The limits hold although it was looked at after every case; how much worse it may be is no more than accepted."""
    decider, outcome = await decided(make_run, tmp_path, trials(400), trials(400))
    assert decider.record()["verdict"] == "not worse"
    assert outcome.asked == decider.record()["cases"] < 200
    assert outcome.stopping == decider.stopping(stopped=True)
    (one,) = outcome.results
    assert one.verdict == "not worse"
    assert one.at_worst is not None
    assert 0 < one.at_worst < 0.05
    assert one.compared is not None
    assert -0.06 < one.compared.low < 0 < one.compared.high < 0.06


async def test_so_many_more_cases_as_are_advised_decide_it(make_run: Make, tmp_path: Path):
    """By the level of the last look at that many, which isn't that of these."""
    decider, outcome = await decided(make_run, tmp_path, trials(20), trials(20), margin=0.15)
    more = outcome.results[0].more
    assert (decider.decided, more) == ("", 3)
    now = trials(20 + 3)
    _, outcome = await decided(make_run, tmp_path, now, now, margin=0.15)
    assert outcome.verdict == "not worse"


async def test_all_metrics_have_to_hold(make_run: Make, tmp_path: Path):
    """The pass rate is as it was; of the grade nobody can say yet."""
    decider, outcome = await decided(
        make_run, tmp_path, graded(80, 8.0), graded(80, 7.6), margin=0.5
    )
    assert not decider.decided
    assert set(verdicts(outcome)) >= {"passed", "grade"}
    decider, _ = await decided(
        make_run, tmp_path, graded(80, 8.0), graded(80, 7.6), margin=0.5, metrics=["passed"]
    )
    assert decider.decided


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize(
    ("errors_before", "errors_after", "expected"),
    [(0, 0, True), (400, 0, True), (0, 400, False), (400, 400, False)],
)
async def test_an_error_on_either_side_may_have_been_either_outcome(
    make_run: Make, tmp_path: Path, errors_before: int, errors_after: int, expected: bool
) -> None:
    """Where both are in error, one may have passed and the other failed: that is no difference of 0."""
    before = trials(401, errors=errors_before)
    decider, _ = await decided(make_run, tmp_path, before, trials(401, errors=errors_after))
    assert bool(decider.decided) is expected


@pytest.mark.thorough
async def test_one_worse_metric_of_several_takes_more_evidence(make_run: Make, tmp_path: Path):
    """Each of ten metrics is tested at a tenth of the level."""
    fails, before = trials(60, 14, metric="good"), trials(60, metric="good")
    random.Random(5).shuffle(fails)
    fails = [replace(one, case=f"c{i:03}") for i, one in enumerate(fails)]
    cases: list[int] = []
    for metrics in (1, 12):
        decider, outcome = await decided(
            make_run,
            tmp_path,
            [with_copies(one, metrics) for one in before],
            [with_copies(one, metrics) for one in fails],
            metrics=[f"m{i}" for i in range(metrics)],
        )
        assert outcome.verdict == "worse"
        cases.append(decider.record()["cases"])
    assert cases[0] < cases[1]


@pytest.mark.parametrize(
    ("before", "after", "lower", "verdict", "difference"),
    [
        (10.0, 0.0, ["grade"], "better", -10.0),
        (0.0, 10.0, ["grade"], "worse", 10.0),
        (0.0, 10.0, [], "better", 10.0),
        (10.0, 0.0, [], "worse", -10.0),
    ],
)
async def test_limits_are_in_the_metrics_unit_and_direction(
    make_run: Make,
    tmp_path: Path,
    before: float,
    after: float,
    lower: list[str],
    verdict: str,
    difference: float,
):
    """A fall by 10 is −10 whether less is better or worse."""
    decider, outcome = await decided(
        make_run,
        tmp_path,
        graded(200, before),
        graded(200, after),
        margin=0.5,
        metrics=["grade"],
        lower=lower,
    )
    assert decider.decided
    (one,) = outcome.results
    assert one.verdict == verdict
    assert one.compared is not None
    low, high = one.compared.low, one.compared.high
    assert (low if difference < 0 else high) == pytest.approx(difference)
    assert 2 < high - low < 12


@pytest.mark.parametrize(("before", "after"), [(0.0, 12.0), (10.0, -2.0)])
async def test_a_value_off_the_declared_scale_ends_the_watch(
    make_run: Make, tmp_path: Path, before: float, after: float
):
    """Nobody knows then how far values can be apart: only all cases can decide it."""
    decider, _ = await decided(
        make_run, tmp_path, graded(100, before), graded(100, after), metrics=["grade"]
    )
    assert not decider.decided
    assert decider.stopping(stopped=False).open == ("grade",)


async def test_trials_of_which_nothing_is_expected_decide_nothing(make_run: Make, tmp_path: Path):
    """They pass, and nothing applied to them."""
    unexpected = [replace(one, outcomes=()) for one in trials(200)]
    decider, _ = await decided(make_run, tmp_path, trials(200), unexpected)
    assert not decider.decided


@pytest.mark.parametrize(("margin", "metric"), [(1.0, "passed"), (0.0, "passed"), (0.05, "cost")])
async def test_what_cannot_be_decided_early_is_said(
    make_run: Make, tmp_path: Path, margin: float, metric: str
):
    """A margin of nothing or of everything, and dollars, which have no scale."""
    timed = [replace(one, cost_usd=0.5) for one in trials(80)]
    decider, outcome = await decided(
        make_run, tmp_path, timed, timed, margin=margin, metrics=[metric]
    )
    assert not decider.decided
    assert f"stopping early: {metric} can only be decided by all cases" in decider.hints[0]
    assert outcome.stopping is not None
    assert outcome.stopping.open == (metric,)
