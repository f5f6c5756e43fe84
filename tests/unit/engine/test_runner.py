"""Plans walked, trials settled, runs that end early."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import AuthError, JudgeError, StoreError, UsageError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.plan import Plan
from evenhand.core.run import ProgressSnapshot, TrialResult
from evenhand.core.score import Score, check
from evenhand.core.variant import Variant
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.engine.runner import Runner
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example


class Scores:
    """A scorer that gives, raises or awaits what it is told."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def score(self, output: Any, trial: Trial) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def __str__(self) -> str:
        return "scores"


class ScoresLater(Scores):
    """The same, a moment later."""

    async def score(self, output: Any, trial: Trial) -> Any:
        await asyncio.sleep(0.001)
        return super().score(output, trial)


def expecting(*scorers: Any):
    """A body that expects each of these of one text."""

    async def body(trial: Trial) -> object:
        for scorer in scorers:
            trial.expect(Expectation("output", scorer))
        return "output"

    return body


async def settled(plan: Plan, home: Path, **more: Any):
    """How a run of this plan ended, and its results."""
    finished = await door.settle(plan, Settings(home=home), **more)
    with RunFile.open(finished.path) as run:
        return finished, list(run.trials())


async def test_results_are_in_the_plans_order_whatever_finishes_first(tmp_path: Path):
    """The later a case stands, the sooner it is done."""

    async def body(trial: Trial) -> object:
        await asyncio.sleep(0.02 - trial.case.vars["n"] * 0.001)
        return trial.case.vars["n"]

    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    _, trials = await settled(example(10, body, variants=variants, repeats=2), tmp_path)
    assert [t.index for t in trials] == list(range(40))
    assert [t.output for t in trials] == [n for n in range(10) for _ in range(4)]
    assert [t.variant for t in trials[:4]] == [0, 1, 0, 1]
    assert [t.repeat for t in trials[:4]] == [0, 0, 1, 1]


async def test_outcomes_stand_in_the_order_in_which_they_were_expected(tmp_path: Path):
    """Those that wait and those that do not."""
    body = expecting(ScoresLater(check(True)), Scores(check(False, "no")), ScoresLater(check(True)))
    _, (trial,) = await settled(example(1, body), tmp_path)
    assert [o.outcome for o in trial.outcomes] == ["pass", "fail", "pass"]
    assert trial.outcome == "fail"
    assert trial.reason == "no"


@pytest.mark.parametrize("kind", [Scores, ScoresLater])
@pytest.mark.parametrize(
    ("result", "slug"),
    [
        (ValueError("boom"), "code"),
        (JudgeError("mumbled"), "judge"),
        (Score(math.nan), "code"),
        (Score(math.inf), "code"),
        ("great", "code"),
        (None, "code"),
    ],
)
async def test_a_scorer_that_gives_no_score_is_an_error_and_costs_its_neighbours_nothing(
    tmp_path: Path, kind: Any, result: Any, slug: str
):
    """Error is a state of its own, not a number."""
    _, (trial,) = await settled(example(1, expecting(Scores(check(True)), kind(result))), tmp_path)
    assert [o.outcome for o in trial.outcomes] == ["pass", "error"]
    assert trial.outcomes[1].score is None
    assert trial.outcomes[1].error == slug
    assert trial.outcome == "error"
    assert trial.score is None
    assert trial.error is not None
    assert trial.error.slug == slug


async def test_a_failure_decides_though_a_neighbour_is_in_error(tmp_path: Path):
    """Whatever the missing one would have said, the trial has failed."""
    _, (trial,) = await settled(
        example(1, expecting(Scores(ValueError()), Scores(check(False)))), tmp_path
    )
    assert trial.outcome == "fail"


async def test_a_body_that_raises_is_an_error_of_its_trial_alone(tmp_path: Path):
    """The others go on."""

    async def body(trial: Trial) -> object:
        if trial.case.vars["n"] == 1:
            raise RuntimeError("my bug")
        return "fine"

    finished, trials = await settled(example(3, body), tmp_path)
    assert finished.ending.status == "finished"
    assert [t.outcome for t in trials] == ["pass", "error", "pass"]
    assert trials[1].error is not None
    assert "my bug" in trials[1].error.message


async def test_a_fatal_error_raised_by_a_scorer_stops_the_run(tmp_path: Path):
    """A judge with a wrong key is no verdict on the output."""
    finished, trials = await settled(
        example(5, expecting(ScoresLater(AuthError("judge key")))), tmp_path
    )
    assert finished.ending.status == "stopped"
    assert trials == []


async def test_what_a_body_shows_is_stored_as_the_trials_variables(tmp_path: Path):
    """Instead of the case's own."""

    async def body(trial: Trial) -> object:
        trial.show({"text": "resolved"})
        return None

    _, (trial,) = await settled(example(1, body), tmp_path)
    assert trial.vars == {"text": "resolved"}


async def test_what_user_code_prints_is_stored_with_its_trial(tmp_path: Path):
    """And nowhere else."""

    async def body(trial: Trial) -> object:
        return await trial.call(print, f"case {trial.case.id}", name="p")

    _, trials = await settled(example(2, body), tmp_path)
    assert [t.log for t in trials] == ["case case-0\n", "case case-1\n"]


async def test_no_more_trials_are_under_way_than_asked_for(tmp_path: Path):
    """Concurrency is a promise in both directions."""
    model = Scripted(latency_s=0.05)

    async def body(trial: Trial) -> object:
        return (await trial.model(model, "subject").generate(trial.case.id)).text

    finished = await door.settle(
        example(30, body, providers=(model,)), Settings(home=tmp_path, concurrency=7)
    )
    assert finished.ending.status == "finished"
    assert model.most_at_once == 7


async def test_progress_is_told_to_the_end(tmp_path: Path):
    """The last word is that all are settled."""
    seen: list[ProgressSnapshot] = []
    finished = await door.settle(
        example(20, expecting(Scores(check(True)))), Settings(home=tmp_path), progress=seen.append
    )
    assert finished.ending.status == "finished"
    assert (seen[-1].settled, seen[-1].planned, seen[-1].passed) == (20, 20, 20)


async def test_progress_of_a_resumed_run_counts_what_is_left(tmp_path: Path):
    """Trials with a verdict are not waited for, so no time is reckoned for them."""
    failing = True

    async def body(trial: Trial) -> object:
        if failing and trial.case.vars["n"] < 3:
            raise ValueError("not yet")
        return ""

    seen: list[ProgressSnapshot] = []
    first = await door.settle(example(10, body), Settings(home=tmp_path))
    failing = False
    await door.settle(
        example(10, body), Settings(home=tmp_path), resume=first.path, progress=seen.append
    )
    assert (seen[-1].settled, seen[-1].planned) == (3, 3)


async def test_a_result_is_told_as_it_is_kept(tmp_path: Path):
    """An output that cannot be written is an error, for whoever looks on as for whoever reads the file."""

    async def body(trial: Trial) -> object:
        trial.expect(Expectation("output", Scores(check(True))))
        return object()

    told: list[TrialResult] = []
    seen: list[ProgressSnapshot] = []
    _, (trial,) = await settled(example(1, body), tmp_path, tell=told.append, progress=seen.append)
    assert trial.outcome == "error"
    assert [t.outcome for t in told] == ["error"]
    assert (seen[-1].passed, seen[-1].errors) == (0, 1)


async def test_draining_finishes_what_was_begun_and_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A second request stops at once."""
    runners: list[Runner] = []
    plain = Runner.run

    async def spied(self: Runner) -> Any:
        runners.append(self)
        return await plain(self)

    monkeypatch.setattr(Runner, "run", spied)
    begun: list[str] = []

    async def body(trial: Trial) -> object:
        begun.append(trial.case.id)
        if len(begun) == 4:
            runners[0]._drain(2, 60)
        await asyncio.sleep(0.01)
        return ""

    notes: list[str] = []
    finished = await door.settle(
        example(50, body), Settings(home=tmp_path, concurrency=4), note=notes.append
    )
    assert finished.ending.status == "interrupted"
    assert finished.ending.signal == 2
    assert len(begun) == 4
    assert "finishing 4 trials" in notes[0]
    with RunFile.open(finished.path) as run:
        assert run.totals().trials == 4
        assert run.meta.status == "interrupted"


async def test_stopping_gives_up_what_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What never ends does not keep the run from ending."""
    runners: list[Runner] = []
    plain = Runner.run

    async def spied(self: Runner) -> Any:
        runners.append(self)
        return await plain(self)

    monkeypatch.setattr(Runner, "run", spied)

    async def body(trial: Trial) -> object:
        asyncio.get_running_loop().call_soon(runners[0]._drain, 2, 60)
        await asyncio.sleep(60)
        return ""

    finished = await asyncio.wait_for(
        door.settle(example(5, body), Settings(home=tmp_path, concurrency=2)), 5
    )
    assert finished.ending.status == "interrupted"


async def test_a_changed_plan_is_not_resumed_and_its_run_not_touched(tmp_path: Path):
    """Results of two different plans are never mixed."""
    finished = await door.settle(
        example(2, expecting(Scores(check(True)))), Settings(home=tmp_path)
    )
    before = finished.path.read_bytes()
    with pytest.raises(UsageError, match="cannot be resumed"):
        await door.settle(
            example(2, expecting(), fingerprint="other"),
            Settings(home=tmp_path),
            resume=finished.path,
        )
    assert finished.path.read_bytes() == before


async def test_a_finished_run_that_is_resumed_does_nothing_again(tmp_path: Path):
    """There is nothing left to do."""
    begun = 0

    async def body(trial: Trial) -> object:
        nonlocal begun
        begun += 1
        return ""

    finished = await door.settle(example(3, body), Settings(home=tmp_path))
    again = await door.settle(example(3, body), Settings(home=tmp_path), resume=finished.path)
    assert begun == 3
    assert again.ending.status == "finished"


def test_a_run_can_be_waited_for_from_ordinary_code(tmp_path: Path):
    """A script has no loop."""
    finished = door.run(example(2, expecting(Scores(check(True)))), Settings(home=tmp_path))
    assert find(tmp_path, str(finished.path)) == finished.path


async def test_a_run_can_be_waited_for_inside_a_running_loop(tmp_path: Path):
    """A notebook cell is inside one; the run takes a thread of its own, and errors come back."""
    here = threading.get_ident()
    threads: list[int] = []

    async def body(trial: Trial) -> object:
        threads.append(threading.get_ident())
        return ""

    finished = door.run(example(1, body), Settings(home=tmp_path))
    assert finished.ending.status == "finished"
    assert threads[0] != here
    with pytest.raises(UsageError):
        door.run(
            example(1, body, fingerprint="other"), Settings(home=tmp_path), resume=finished.path
        )


async def test_a_plan_that_cannot_be_walked_to_its_end_ends_the_run_with_its_error(tmp_path: Path):
    """The file says so, and can be resumed."""
    plan = example(5, expecting(Scores(check(True))))
    (sheet,) = plan.sheets

    def torn():
        yield from itertools.islice(sheet.rows(), 2)
        raise StoreError("the tests changed while they were read")

    plan.sheets = [replace(sheet, rows=torn)]
    with pytest.raises(StoreError, match="changed"):
        await door.settle(plan, Settings(home=tmp_path))
    with RunFile.open(next((tmp_path / "runs").glob("*.db"))) as run:
        assert run.meta.status == "stopped"
