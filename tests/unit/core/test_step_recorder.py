"""The steps of live trials: what scorers see is what is read back from the run's file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.step import Step
from evenhand.core.step_recorder import StepLog
from evenhand.doors.eval_sets.expect import Expect
from evenhand.doors.recording import tool
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.render.trial_steps import step_row, steps_of
from evenhand.store.runfile import RunFile
from evenhand.testing import example


@tool
def find(order: int) -> dict[str, Any]:
    """An order."""
    if order == 7:
        raise KeyError("no such order")
    return {"order": order}


@tool
async def refund(order: int) -> str:
    """Looks the order up itself."""
    await asyncio.sleep(0)
    return f"refunded {find(order)['order']}"


async def agent(trial: Trial) -> None:
    """An agent that reports, nests, fails and goes on in threads."""
    expect = Expect(trial)
    with expect.step("planner", kind="agent") as planner:
        await refund(3)
        await asyncio.to_thread(find, 4)
        planner.result = "done"
    with pytest.raises(KeyError):
        find(7)
    expect.step("mail", {"to": ["x"]}, error="no route")
    with pytest.raises(ZeroDivisionError), expect.step("count"):
        _ = 1 / 0
    expect.step("assistant", kind="message", result="Bye.", tokens_out=2, cost_usd=0.5)


WANTED = [
    ("planner", None, "ok", "done", ""),
    ("refund", 0, "ok", "refunded 3", ""),
    ("find", 1, "ok", {"order": 3}, ""),
    ("find", 0, "ok", {"order": 4}, ""),
    ("find", None, "error", None, "KeyError: no such order"),
    ("mail", None, "error", None, "no route"),
    ("count", None, "error", None, "ZeroDivisionError: division by zero"),
    ("assistant", None, "ok", "Bye.", ""),
]


async def test_steps_are_the_same_live_and_read_back_and_nothing_is_stored_twice(tmp_path: Path):
    """Nested ones, failed ones, and those of threads."""
    live: list[list[Step]] = []

    async def body(trial: Trial) -> object:
        await agent(trial)
        live.append(list(trial.steps))
        return "done"

    path = (await door.settle(example(1, body), Settings(home=tmp_path))).path
    with RunFile.open(path) as run:
        trial = run.trial(0)
        assert trial is not None
        read = steps_of(run, trial)
        kept = run.kept_steps(0)
    assert [(s.name, s.parent, s.status, s.result, s.error) for s in read] == WANTED
    assert [step_row(step) for step in live[0]] == [step_row(step) for step in read]
    times = [step.started_s or 0.0 for step in read]
    assert times == sorted(times)
    assert times[0] == 0.0
    assert kept is not None
    assert [step.result for step in kept if step.record] == [None] * 4


async def test_a_trial_that_reports_nothing_keeps_nothing(tmp_path: Path):
    """No row, and no steps."""

    async def body(trial: Trial) -> object:
        assert list(trial.steps) == []
        return "x"

    path = (await door.settle(example(1, body), Settings(home=tmp_path))).path
    with RunFile.open(path) as run:
        trial = run.trial(0)
        assert trial is not None
        assert run.kept_steps(0) is None
        assert run.stepped() == frozenset()
        assert steps_of(run, trial) == []


async def test_two_agents_at_once_have_their_own_steps_below_them(tmp_path: Path):
    """Tasks inherit the step that they are started in."""

    async def body(trial: Trial) -> object:
        expect = Expect(trial)

        async def one(name: str) -> None:
            with expect.step(name, kind="agent"):
                await asyncio.sleep(0)
                await refund(len(name))

        await asyncio.gather(one("a"), one("bb"))
        by_place = list(trial.steps)
        return [[by_place[step.parent].name, step.arguments["order"]] for step in by_place
                if step.name == "refund" and step.parent is not None]  # fmt: skip

    path = (await door.settle(example(1, body), Settings(home=tmp_path))).path
    with RunFile.open(path) as run:
        assert [trial.output for trial in run.trials()] == [[["a", 1], ["bb", 2]]]


async def test_words_that_there_are_not_are_refused(tmp_path: Path):
    """With the nearest one."""
    seen: list[UsageError] = []

    async def body(trial: Trial) -> object:
        with pytest.raises(UsageError) as error:
            Expect(trial).step("x", kind="tol")  # type: ignore[arg-type]
        seen.append(error.value)
        return "x"

    await door.settle(example(1, body), Settings(home=tmp_path))
    assert "kind is 'tol'" in seen[0].message
    assert seen[0].hint == "Did you mean 'tool'?"


def test_a_parent_is_an_earlier_step():
    """Neither a later one nor itself."""
    log = StepLog()
    assert log.add(Step("agent", "a")) == 0
    assert log.add(Step("tool", "b", parent=0)) == 1
    with pytest.raises(ValueError, match="no earlier step"):
        log.add(Step("tool", "c", parent=2))


def test_steps_that_are_reported_afterwards_follow_each_other() -> None:
    """Each ends where the next one begins at the latest, whatever they took; all have ended by now."""
    log = StepLog()
    log.add(Step("tool", "seen", started_s=0.0))
    for seconds in (0.2, 0.5, 0.0, 3.0):
        log.add(Step("tool", "reported", duration_s=seconds))
    for place in (1, 2, 3):
        one, following = log[place], log[place + 1]
        assert (one.started_s or 0.0) + (one.duration_s or 0.0) <= (
            following.started_s or 0.0
        ) + 1e-9
    assert (log[4].started_s or 0.0) + 3.0 <= log.now()
    assert log[0].started_s == 0.0
