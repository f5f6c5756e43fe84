"""Trials that come after others: their order, what they are told, and what a resumed run does with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from evenhand.core.expect import Trial
from evenhand.core.plan import Plan, PlannedTrial, Row, RunOptions
from evenhand.engine import agenda as agenda_module
from evenhand.engine.agenda import Agenda
from evenhand.testing import example


def linked(
    count: int,
    body: Any,
    after: Callable[[int], tuple[int, ...]] = lambda _: (),
    alone: Callable[[int], bool] = lambda _: False,
    **more: Any,
) -> Plan:
    """A plan of so many cases, whose trials come after others, or stand alone."""
    plan = example(count, body, **more)
    (sheet,) = plan.sheets

    def rows() -> Iterator[Row]:
        for place, row in enumerate(sheet.rows()):
            (slot,) = row.slots(row.cases[0], place)
            slots = [replace(slot, after=after(place))]
            yield replace(row, slots=lambda *_, slots=slots: slots, alone=alone(place))

    plan.sheets = [replace(sheet, rows=rows)]
    return plan


@dataclass(slots=True)
class Chain:
    """A body that says what its predecessor kept, adds its own number, and keeps that."""

    after: Callable[[int], tuple[int, ...]]
    under_way: int = 0
    most: int = 0
    fail_at: int = -1
    begun: list[int] = field(default_factory=list)

    async def __call__(self, trial: Trial) -> object:
        n = trial.case.vars["n"]
        self.begun.append(n)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.001)
        self.under_way -= 1
        if n == self.fail_at:
            raise ValueError("not now")
        before = [trial.kept(index) or "-" for index in self.after(n)]
        said = "".join(before) + str(n)
        trial.keep(said)
        return said


def by_tens(n: int) -> tuple[int, ...]:
    """Ten chains side by side: each trial comes after the one ten places before."""
    return (n - 10,) if n >= 10 else ()


def one_by_one(n: int) -> tuple[int, ...]:
    """One chain of all trials."""
    return (n - 1,) if n else ()


def test_a_trial_is_told_what_the_one_before_it_kept(runs: Any) -> None:
    """Chains run side by side, each in its own order."""
    body = Chain(by_tens)
    runs.run(linked(40, body, after=by_tens), concurrency=20)
    outputs = [trial.output for trial in runs.trials()]
    assert outputs[:2] == ["0", "1"]
    assert outputs[33] == "3132333"
    assert body.most > 5


def test_one_long_chain_is_walked_one_by_one(runs: Any) -> None:
    """However many could be under way."""
    body = Chain(one_by_one)
    runs.run(linked(12, body, after=one_by_one), concurrency=8)
    assert body.most == 1
    assert runs.trials()[-1].output == "01234567891011"


def test_only_so_many_steps_are_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is not read to its end while everything waits for one trial."""
    monkeypatch.setattr(agenda_module, "ASIDE", 5)
    taken: list[int] = []

    async def body(trial: Trial) -> object:
        return None

    def planned_trials() -> Iterator[PlannedTrial]:
        for planned in linked(100, body, after=lambda n: (0,) if n else ()).trials():
            taken.append(planned.index)
            yield planned

    async def walk() -> list[int]:
        order = Agenda(planned_trials())
        first = await order.next()
        assert first is not None
        second = asyncio.ensure_future(order.next())
        await asyncio.sleep(0)
        assert not second.done()
        assert len(taken) == 6
        order.done(first)
        found = [first.index]
        planned = await second
        while planned is not None:
            found.append(planned.index)
            order.done(planned)
            planned = await order.next()
        return found

    assert asyncio.run(walk()) == list(range(100))


def test_what_was_kept_long_ago_is_read_from_the_runs_file(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not everything is held in memory."""
    monkeypatch.setattr(agenda_module, "KEPT", 1)

    def after(n: int) -> tuple[int, ...]:
        return (0,) if n == 19 else (n - 1,) if n else ()

    async def body(trial: Trial) -> object:
        n = trial.case.vars["n"]
        await asyncio.sleep(0.3 if n == 19 else 0)
        kept = trial.kept(0) if n == 19 else ""
        trial.keep(f"from {n}")
        return kept

    runs.run(linked(20, body, after=after), concurrency=2)
    assert runs.trials()[-1].output == "from 0"


def test_a_resumed_run_reads_what_settled_trials_kept(runs: Any) -> None:
    """They are not run again for that."""
    body = Chain(one_by_one, fail_at=3)
    plan = linked(4, body, after=one_by_one)
    finished = runs.run(plan)
    assert runs.trials()[3].outcome == "error"
    body.fail_at = -1
    body.begun.clear()
    runs.run(plan, resume=finished.path)
    assert body.begun == [3]
    assert runs.trials()[3].output == "0123"


def test_what_came_after_a_trial_that_is_redone_is_redone_too(runs: Any) -> None:
    """It was made from what is no longer so."""
    body = Chain(one_by_one, fail_at=1)
    plan = linked(4, body, after=one_by_one)
    finished = runs.run(plan)
    assert [trial.output for trial in runs.trials()] == ["0", None, "-2", "-23"]
    body.fail_at = -1
    body.begun.clear()
    runs.run(plan, resume=finished.path)
    assert body.begun == [1, 2, 3]
    assert [trial.output for trial in runs.trials()] == ["0", "01", "012", "0123"]


def test_steps_that_stand_alone_come_first_and_one_by_one(runs: Any) -> None:
    """Nothing else is under way while they are."""
    body = Chain(lambda _: ())
    plan = linked(20, body, alone=lambda n: n in (5, 15), options=RunOptions(some_alone=True))
    runs.run(plan, concurrency=4)
    assert body.begun[:2] == [5, 15]
    assert sorted(body.begun) == list(range(20))
    assert [trial.output for trial in runs.trials()] == [str(n) for n in range(20)]


async def test_whoever_waits_for_a_step_is_told_when_no_more_are_handed_out():
    """The run is ending: one that comes after a trial under way is not begun, and nobody waits for it."""
    plan = linked(3, None, after=lambda n: (n - 1,) if n else ())
    order = Agenda(iter(list(plan.trials())))
    first = await order.next()
    waiting = asyncio.ensure_future(order.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    order.end()
    assert await waiting is None
    assert first is not None
    order.done(first)
    assert await order.next() is None
