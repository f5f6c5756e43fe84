"""Turns are taken first come, first served, by plain and async functions alike."""

from __future__ import annotations

import asyncio
import contextlib
import math

import pytest

from evenhand.core.errors import UsageError
from evenhand.engine.code import CodeHost
from evenhand.isolation.kept import claimed, must_be_alone, one_trial, peek
from evenhand.isolation.turns import Turns


async def test_no_more_are_inside_than_there_is_room_for():
    """And they come in the order in which they asked; one that is cancelled while it waits leaves the queue."""
    turns, inside, order = Turns(2), set[int](), list[int]()

    async def enter(i: int) -> None:
        async with turns.awaited():
            inside.add(i)
            order.append(i)
            assert len(inside) <= 2
            await asyncio.sleep(0.001)
            inside.remove(i)

    tasks = [asyncio.create_task(enter(i)) for i in range(8)]
    await asyncio.sleep(0)
    tasks[4].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 2, 3, 5, 6, 7]


async def test_one_that_wants_to_be_alone_is():
    """It waits until all are out, and those behind it wait for it."""
    turns, log = Turns(3), list[str]()

    def alone() -> None:
        with turns.taken(alone=True):
            log.append("alone")

    async with contextlib.AsyncExitStack() as first:
        await first.enter_async_context(turns.awaited())
        thread = asyncio.create_task(asyncio.to_thread(alone))
        await asyncio.sleep(0.02)

        async def late() -> None:
            async with turns.awaited():
                log.append("late")

        behind = asyncio.create_task(late())
        await asyncio.sleep(0.02)
        assert log == []
    await asyncio.gather(thread, behind)
    assert log == ["alone", "late"]


async def test_functions_that_wait_leave_the_threads_to_those_that_they_wait_for():
    """With two threads and six functions waiting, the one that is inside still gets a thread to leave by."""
    host, turns = CodeHost(threads=2), Turns(1)
    first = turns.taken()
    first.__enter__()

    def waits() -> None:
        with turns.taken():
            pass

    with host.open():
        waiting = [asyncio.create_task(host.call(waits, name="waits")) for _ in range(6)]
        await asyncio.sleep(0.02)
        leave = host.call(lambda: first.__exit__(None, None, None), name="leaves")
        await asyncio.wait_for(leave, 5)
        await asyncio.wait_for(asyncio.gather(*waiting), 5)


def test_room_without_end_lets_everybody_in():
    """Alone or not."""
    turns = Turns(math.inf)
    with turns.taken(), turns.taken(), turns.taken():
        pass


def test_a_trial_cannot_claim_a_thing_twice():
    """It would wait for itself; afterwards, and in another trial, it can."""
    with one_trial(lambda: True):
        assert must_be_alone()
        for _ in range(2):
            with claimed("x", "the database"):
                assert peek("x")
                with pytest.raises(UsageError, match="the database is rolled back"):
                    claimed("x", "the database").__enter__()
    assert not must_be_alone()
    assert peek("x") is None


async def test_outside_of_a_trial_tasks_do_not_see_each_others():
    """Each task of a script has its own."""

    async def use() -> None:
        with claimed("x", "it"):
            await asyncio.sleep(0.001)

    await asyncio.gather(use(), use())
