"""Fixtures are torn down whatever ends the trial."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from evenhand.core.errors import BudgetStop
from evenhand.core.run import TrialResult
from evenhand.doors.eval_sets import plan
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile


def logged(name: str = "trouble") -> tuple[EvalSet, list[str]]:
    """A set with two fixtures, one plain and one async, that tell when they are torn down."""
    evals, log = EvalSet(name), list[str]()

    @evals.fixture
    def plain():
        yield
        log.append("plain")

    @evals.fixture
    async def asynchronous(plain):
        yield
        log.append("async")

    return evals, log


async def ran(evals: EvalSet, home: Path) -> list[TrialResult]:
    """The trials of a set."""
    finished = await door.settle(plan_of([evals], env={}), Settings(home=home, cache=False))
    with RunFile.open(finished.path) as found:
        return list(found.trials())


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_after_a_body_that_takes_too_long(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The trial is an error, and the next thing that happens is the tear-down."""
    monkeypatch.setattr(plan, "LIMIT_S", 0.1)
    evals, log = logged()
    if kind == "plain":

        @evals.eval
        def sleeps(asynchronous):
            time.sleep(0.3)
    else:

        @evals.eval
        async def sleeps(asynchronous):
            await asyncio.sleep(30)

    (trial,) = await ran(evals, tmp_path)
    assert log == ["async", "plain"]
    assert [o.reason for o in trial.outcomes] == ["sleeps took longer than 0.1 s and was given up"]


async def test_after_a_run_that_was_cancelled(tmp_path: Path):
    """As a second Ctrl-C does; a tear-down that is cancelled itself does not keep the others from theirs."""
    evals, log = logged()
    begun, tearing = asyncio.Event(), asyncio.Event()

    @evals.fixture
    async def slow(asynchronous):
        yield
        tearing.set()
        try:
            await asyncio.sleep(30)
        finally:
            log.append("slow")

    @evals.eval
    async def sleeps(slow):
        begun.set()
        await asyncio.sleep(30)

    run = asyncio.create_task(ran(evals, tmp_path))
    await begun.wait()
    run.cancel()
    await tearing.wait()
    (worker,) = [t for t in asyncio.all_tasks() if t.get_coro().__qualname__ == "Runner._work"]
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    for _ in range(100):
        if len(log) == 3:
            break
        await asyncio.sleep(0.01)
    assert log == ["slow", "async", "plain"]


async def test_after_a_tear_down_that_ends_the_run(tmp_path: Path):
    """The others are torn down first."""
    evals, log = logged()

    @evals.fixture
    async def dear(asynchronous):
        yield
        raise BudgetStop("spent")

    @evals.eval
    async def asks(dear, expect):
        expect(True, "holds")

    assert await ran(evals, tmp_path) == []
    assert log == ["async", "plain"]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_after_a_fixture_that_yields_nothing(kind: str, tmp_path: Path):
    """It is named, those made before it are torn down, and the eval is not run."""
    evals, log = logged()
    if kind == "plain":

        @evals.fixture
        def nothing(asynchronous):
            yield from ()
    else:

        @evals.fixture
        async def nothing(asynchronous):
            for none in ():
                yield none

    @evals.eval
    def never(nothing):
        log.append("run")

    (trial,) = await ran(evals, tmp_path)
    assert log == ["async", "plain"]
    assert [o.reason for o in trial.outcomes] == ["fixture nothing yields nothing"]
