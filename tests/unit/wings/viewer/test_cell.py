"""Steps as the page draws them: bounded, whatever a trial did."""

from __future__ import annotations

import pytest
from tests.runs import (
    Make,
    result,
)

from evenhand.core.encoding import encode
from evenhand.core.score import Outcome
from evenhand.core.step import Step
from evenhand.wings.viewer.cell import PAGE, TEXT, steps_page, whole_step

LONG = "x" * 900_000


@pytest.mark.thorough
async def test_a_page_of_steps_is_bounded_and_holds_the_first_that_is_blamed(
    make_run: Make,
):
    """10,000 steps, long results; places that are none are left out."""
    blame = Outcome("no loops", "fail", 0.0, metadata={"steps": [700, 99_999, -1, True, "x"]})
    steps = [Step("tool", "a", {"i": i}, "y", started_s=float(i)) for i in range(10_000)]
    run = await make_run([result(0, ok=False, outcomes=(blame,), steps=tuple(steps))])
    trial = run.trial(0)
    assert trial is not None
    page = steps_page(run, trial)
    assert page is not None
    assert (page.first, page.total, len(page.steps), page.took_s) == (600, 10_000, PAGE, 9999.0)
    assert page.blamed == [(700, ["no loops"])]
    assert [(s.name, s.count) for s in page.sums] == [("a", 10_000)]
    last = steps_page(run, trial, 9_900)
    assert last is not None
    assert len(last.steps) == 100
    beyond = steps_page(run, trial, 99_000)
    assert beyond is not None
    assert beyond.steps == []
    assert len(encode(page)) < 200_000


async def test_long_values_are_cut_in_a_page_and_whole_when_they_are_asked_for(
    make_run: Make,
):
    """So are names and errors."""
    steps = (Step("tool", LONG, {"a": LONG}, LONG, "error", LONG), Step("message", "user"))
    run = await make_run([result(0, steps=steps), result(1)])
    trial, other = run.trial(0), run.trial(1)
    assert trial is not None
    assert other is not None
    page = steps_page(run, trial)
    assert page is not None
    assert page.steps[0].cut
    assert not page.steps[1].cut
    assert len(encode(page)) < 6 * TEXT
    whole = whole_step(run, trial, 0)
    assert whole is not None
    assert whole["result"] == LONG
    assert whole_step(run, trial, 2) is None
    assert steps_page(run, other) is None


async def test_the_first_page_of_a_trial_that_did_not_pass_holds_its_first_failure(
    make_run: Make,
):
    """Even if no expectation names a step; what failed on the way to a pass is not led to."""
    steps = (*(Step("tool", "a") for _ in range(400)), Step("tool", "b", status="error"))
    run = await make_run([result(0, ok=False, steps=steps), result(1, steps=steps)])
    for index, first in ((0, PAGE), (1, 0)):
        trial = run.trial(index)
        assert trial is not None
        page = steps_page(run, trial)
        assert page is not None
        assert page.first == first
