"""What a worker does while its driver is silent: nothing."""

from __future__ import annotations

import asyncio

from tests.unit.wings.fleet.conftest import Scene, start_of, turns

from evenhand.engine.pace import Permit
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.wings.fleet.far import DriverLine, FarBudget, FarJournal, FarLimits, Open
from evenhand.wings.fleet.messages import Message


def test_a_worker_that_hears_nothing_sends_nothing_and_gives_back_what_comes_late(scene: Scene):
    """Neither intent, room nor money without the driver's word; and nobody keeps what nobody waits for."""

    async def go() -> None:
        said: list[Message] = []
        line = DriverLine(said.extend, scene.loop)
        waits = [
            FarJournal(line, Open()).begin(start_of(0)),
            FarLimits(line, RetryPolicy()).account("api").acquire(0, 0),
            FarBudget(line, limited=True).when_free(0.1, "m"),
        ]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        await asyncio.sleep(3600)
        assert not any(task.done() for task in tasks)
        asked = {what: number for _, number, what, _ in said}
        assert set(asked) == {"begin", "acquire", "reserve"}
        for task in tasks:
            task.cancel()
        await turns()
        for number in asked.values():
            line.answered(number, 7, None)
        await turns()
        told = [(what, arguments) for kind, what, arguments in said[3:] if kind == "tell"]
        assert sorted(told) == [("book", (7, 0.0)), ("drop", (7, 0, 0)), ("withdraw", (7,))]

    scene.loop.run(go())


def test_a_permit_comes_home_with_what_became_of_its_call(scene: Scene):
    """Under its number: sent and answered, never sent, or nobody knows."""

    async def go() -> None:
        said: list[Message] = []
        account = FarLimits(DriverLine(said.extend, scene.loop), RetryPolicy()).account("api")
        account.release(Permit(number=1), None, None, 5)
        account.withdraw(Permit(number=2))
        account.forget(Permit(number=3))
        await turns()
        assert said == [
            ("tell", "release", (1, None, None, 5)),
            ("tell", "withdraw", (2,)),
            ("tell", "forget", (3,)),
        ]

    scene.loop.run(go())
