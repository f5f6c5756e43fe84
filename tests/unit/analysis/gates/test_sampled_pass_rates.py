"""Pass rates of a suite of which a part is run: what counts, how sure it is, and when a bound is kept or missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, result
from tests.unit.analysis.gates.test_early_stopping import nothing
from tests.unit.analysis.gates.test_gate_verdict import ONE, against

from evenhand.analysis.gates.sampled_pass_rates import SampleDecider
from evenhand.core.case import Case
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.testing.plan import example_of

SAMPLE = 100


def suite(passing: int, failing: int, *, without: int = 0) -> list[TrialResult]:
    """Trials of cases, of which so many pass and fail, and nothing applies to the last."""
    trials = [result(i, case=f"c{i:03}", ok=i < passing) for i in range(passing + failing)]
    none = (Outcome("x", "not_applicable", None),)
    trials += (
        replace(result(i, case=f"c{i:03}", score=None, outcomes=none), outcome="not_applicable")
        for i in range(len(trials), len(trials) + without)
    )
    return trials


async def sampled(
    make: Make,
    folder: Path,
    before: Sequence[TrialResult],
    after: Sequence[TrialResult],
    bound: float = 0.7,
) -> SampleDecider:
    """What a sample of the cases decides."""
    baseline = await against(make, folder, list(before))
    plan = example_of(nothing, [Case(one.case) for one in after], variants=ONE)
    required = [Requirement(PASSED, Bound(bound), (0,))]
    decider = SampleDecider(baseline, plan, required, seed=3, sample=SAMPLE)
    of_case = {one.case: one for one in after}
    for planned in decider.arranged(plan.trials()):
        decider.add(of_case[planned.case.id])
    return decider


def column(decider: SampleDecider) -> dict[str, Any]:
    """What is decided of the only variant."""
    (one,) = decider.record()["columns"]
    return one


async def test_what_the_baseline_knows_predicts_the_cases_that_are_not_run(
    make_run: Make, tmp_path: Path
):
    """Nothing changed: a quarter fails as before, in the suite and not only in the sample."""
    decider = await sampled(make_run, tmp_path, suite(300, 100), suite(300, 100))
    one = column(decider)
    assert (one["of"], one["predicted"], one["state"]) == (400, True, "kept")
    assert one["low"] <= 0.75 <= one["high"]
    assert one["high"] - one["low"] < 0.05
    assert decider.record()["verdict"] == "passed"
    assert decider.decided == "100 of 400 cases run, drawn at random (seed 3)"


@pytest.mark.thorough
async def test_a_bound_that_all_of_the_interval_misses_fails_and_one_inside_it_is_open(
    make_run: Make, tmp_path: Path
):
    """Without a history that helps, the interval is that of a sample."""
    before = suite(400, 0)
    for bound, verdict in ((0.95, "failed"), (0.75, None), (0.5, "passed")):
        decider = await sampled(make_run, tmp_path, before, suite(300, 100), bound)
        assert decider.record()["verdict"] == verdict
        one = column(decider)
        assert 0.1 < one["high"] - one["low"] < 0.2


async def test_cases_to_which_nothing_applies_are_not_counted(make_run: Make, tmp_path: Path):
    """The baseline says to which of those that aren't run; in this run as in that one."""
    runs = suite(240, 60, without=100)
    one = column(await sampled(make_run, tmp_path, runs, runs))
    assert (one["of"], one["predicted"]) == (300, True)
    assert one["low"] <= 0.8 <= one["high"]


async def test_where_other_cases_apply_than_before_the_rest_is_not_taken_for_run(
    make_run: Make, tmp_path: Path
):
    """How many count is estimated from the sample, and the interval is as wide as theirs."""
    one = column(await sampled(make_run, tmp_path, suite(300, 100), suite(160, 40, without=200)))
    assert 140 < one["of"] < 260
    assert 0.1 < one["high"] - one["low"] < 0.35
    assert not one["predicted"]
