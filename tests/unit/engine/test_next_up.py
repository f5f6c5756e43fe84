"""The calls that are written down before they may be sent: few, the first ones first, and never fewer than one."""

from __future__ import annotations

import asyncio

from evenhand.engine.rate_limits import NextUp


class Calls:
    """Calls that come up, in the order in which they do."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.next_up = NextUp(lambda: self.most)
        self.up: list[int] = []

    async def come(self, priority: int) -> None:
        await self.next_up.come(priority)
        self.up.append(priority)

    async def start(self, *priorities: int) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self.come(priority)) for priority in priorities]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return tasks


async def test_only_so_many_are_next_and_earlier_trials_go_first():
    """What is written down and not sent is in doubt once the run is killed, so it is little."""
    calls = Calls(2)
    await calls.start(5, 4, 9, 7, 8)
    assert calls.up == [5, 4]
    assert len(calls.next_up) == 3
    calls.next_up.go()
    await asyncio.sleep(0)
    assert calls.up == [5, 4, 7]
    calls.most = 3  # more may go meanwhile: the next one that goes lets two up
    calls.next_up.go()
    await asyncio.sleep(0)
    assert calls.up == [5, 4, 7, 8, 9]


async def test_one_is_always_next():
    """Where nothing may be sent for a while, somebody has to be there when it may."""
    calls = Calls(0)
    await calls.start(1, 2)
    assert calls.up == [1]
    calls.next_up.go()
    await asyncio.sleep(0)
    assert calls.up == [1, 2]


async def test_a_call_that_is_given_up_leaves_its_place_to_the_next():
    """Nobody waits for a call that is gone."""
    calls = Calls(1)
    _, waiting, third = await calls.start(1, 2, 3)
    waiting.cancel()
    await asyncio.sleep(0)
    calls.next_up.go()
    await asyncio.sleep(0)
    assert calls.up == [1, 3]
    assert third.done()


async def test_a_call_that_is_given_up_in_the_moment_in_which_it_comes_up_leaves_its_place_too():
    """Its place would be taken for ever."""
    calls = Calls(1)
    _, waiting, third = await calls.start(1, 2, 3)
    calls.next_up.go()  # it is up, and does not know it yet
    waiting.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert calls.up == [1, 3]
    assert third.done()
