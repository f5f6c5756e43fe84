"""A loop whose clock jumps to the next timer, and a folder to run plans in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.plan import Plan
from evenhand.core.run import CallRecord, TrialResult
from evenhand.engine import door
from evenhand.store.runfile import RunFile


class FakeTime(asyncio.SelectorEventLoop):
    """A loop that never waits: where it would, its clock jumps. With nothing to wait for, it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        select = self._selector.select

        def jump(timeout: float | None = None) -> Any:
            events = select(0)
            if events:
                return events
            assert timeout is not None, "everybody waits, and nothing will ever wake them"
            self.now += timeout
            return events

        self._selector.select = jump

    def time(self) -> float:
        return self.now

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What the coroutine returns."""
        return self.run_until_complete(work)


@pytest.fixture
def timeline() -> Iterator[FakeTime]:
    """A loop with a clock of its own."""
    loop = FakeTime()
    yield loop
    loop.close()


class Runs:
    """Runs plans in one folder, and reads what became of them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.notes: list[str] = []
        self.last: door.Finished

    def run(self, plan: Plan, *, resume: Path | None = None, **settings: Any) -> door.Finished:
        """Runs a plan, or goes on with a run of it."""
        self.last = door.run(
            plan,
            door.Settings(home=self.home, **settings),
            resume=resume,
            note=self.notes.append,
        )
        return self.last

    def trials(self) -> list[TrialResult]:
        """The last run's results, in its order."""
        with RunFile.open(self.last.path) as run:
            return list(run.trials())

    def calls(self) -> list[CallRecord]:
        """The last run's calls."""
        with RunFile.open(self.last.path) as run:
            return list(run.calls())

    def status(self) -> str:
        """What the last run's file says of it."""
        with RunFile.open(self.last.path) as run:
            return run.meta.status


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Runs that are kept in a folder of the test's own."""
    return Runs(tmp_path / "home")


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Coroutine[Any, Any, None]]:
    """Waits until something is so, a few milliseconds at a time, two seconds at most."""

    async def wait(so: Callable[[], bool]) -> None:
        for _ in range(400):
            if so():
                return
            await asyncio.sleep(0.005)
        raise AssertionError("it never was so")

    return wait
