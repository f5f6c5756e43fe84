"""Runs that end as soon as enough is known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.plan import PlannedTrial
from evenhand.core.run import TrialResult
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import example


class After:
    """Has decided once so many results are there. It runs the plan backwards."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.results: list[int] = []

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        return iter(list(planned_trials)[::-1])

    def add(self, result: TrialResult) -> None:
        self.results.append(result.index)

    @property
    def decided(self) -> str:
        return f"enough: {len(self.results)}" if len(self.results) >= self.enough else ""

    def record(self) -> Mapping[str, Any]:
        return {"verdict": "passed", "results": len(self.results)}


async def body(trial: Trial) -> object:
    """A moment later."""
    await asyncio.sleep(0.001)
    return trial.case.vars["n"]


async def test_steps_are_run_in_the_deciders_order_until_it_has_decided(tmp_path: Path):
    """What is under way then is finished and kept; the file says what was decided."""
    decider = After(5)
    settings = Settings(home=tmp_path, concurrency=3, decider=decider)
    finished = await door.settle(example(40, body), settings)
    assert finished.ending.status == "decided"
    with RunFile.open(finished.path) as run:
        trials = [trial.index for trial in run.trials()]
        assert run.meta.status == "decided"
        assert run.meta.decided == {"verdict": "passed", "results": len(trials)}
        assert run.meta.message == f"enough: {len(trials)}"
    assert sorted(decider.results) == trials
    assert 5 <= len(trials) <= 8
    assert trials == list(range(40 - len(trials), 40)), "the last ones were first"


async def test_a_run_that_needs_all_its_trials_to_decide_is_finished(tmp_path: Path):
    """It did not end early."""
    finished = await door.settle(example(6, body), Settings(home=tmp_path, decider=After(6)))
    assert finished.ending.status == "finished"
    with RunFile.open(finished.path) as run:
        assert run.meta.status == "finished"


async def test_what_an_earlier_session_settled_is_evidence_and_not_run_again(tmp_path: Path):
    """Resumed, it takes in what is there first."""
    plan = example(40, body)
    first = await door.settle(plan, Settings(home=tmp_path, concurrency=1, decider=After(7)))
    again = After(7)
    finished = await door.settle(
        plan, Settings(home=tmp_path, concurrency=1, decider=again), resume=first.path
    )
    assert finished.ending.status == "decided"
    assert again.results == list(range(39, 32, -1))
    more = After(12)
    await door.settle(plan, Settings(home=tmp_path, concurrency=1, decider=more), resume=first.path)
    assert more.results[:7] == list(range(39, 32, -1))
    with RunFile.open(first.path) as run:
        assert [trial.index for trial in run.trials()] == list(range(28, 40))
