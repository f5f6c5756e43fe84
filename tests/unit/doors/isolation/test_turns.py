"""Turns are taken first come, first served, by plain and async functions alike."""

from __future__ import annotations

import asyncio
import contextlib
import math

import pytest

from evenhand.core.errors import CodeError, UsageError
from evenhand.doors.isolation.trial_resources import claimed, must_be_alone, one_trial, peek
from evenhand.doors.isolation.turns import Crossed, Turns
from evenhand.engine.code import CodeHost


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
        await asyncio.wait_for(leave, 20)
        await asyncio.wait_for(asyncio.gather(*waiting), 20)


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


async def test_time_spent_waiting_for_a_turn_is_not_the_functions_own():
    """Plain or async, a function that waits longer than its limit is let in; afterwards its limit holds again."""
    host, turns = CodeHost(limit_s=0.1), Turns(1)

    def plain() -> str:
        with turns.taken():
            return "plain"

    async def asynchronous() -> str:
        async with turns.awaited():
            return "async"

    async def dawdles() -> None:
        async with turns.awaited():
            await asyncio.sleep(5)

    with host.open():
        async with turns.awaited():
            calls = [plain, asynchronous, dawdles]
            waiting = [asyncio.create_task(host.call(call, name=call.__name__)) for call in calls]
            await asyncio.sleep(0.3)
            assert not any(task.done() for task in waiting)
        done = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 20)
    assert done[:2] == ["plain", "async"]
    assert "dawdles took longer than 0.1 s" in str(done[2])


async def test_one_that_nobody_wants_any_more_stops_waiting():
    """Its thread is free again, and those behind it come before their time."""
    host, turns = CodeHost(threads=1), Turns(1)
    log: list[str] = []

    def waits() -> None:
        try:
            with turns.taken():
                log.append("inside")
        except CodeError as error:
            log.append(error.message)

    with host.open():
        async with turns.awaited():
            task = asyncio.create_task(host.call(waits, name="waits"))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for _ in range(100):
                await asyncio.sleep(0.01 * (not log))
        assert log == ["it was given up while it waited for its turn at a database"]


async def test_only_who_would_wait_for_ever_gives_way():
    """Three trials in a circle: the last one is told, and when it has let go, the others come to their end."""
    queues = [Turns(1), Turns(1), Turns(1)]
    begun, log = list[int](), list[str]()

    async def trial(i: int) -> None:
        with one_trial(lambda: False):
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(queues[i].awaited())
                begun.append(i)
                while len(begun) < 3:
                    await asyncio.sleep(0)
                try:
                    await stack.enter_async_context(queues[(i + 1) % 3].awaited())
                except Crossed:
                    log.append("gave way")
                else:
                    log.append("both")

    await asyncio.wait_for(asyncio.gather(*map(trial, range(3))), 20)
    assert sorted(log) == ["both", "both", "gave way"]


async def test_room_for_several_is_counted_before_anybody_gives_way():
    """Two hold what the other wants, but one of them has room for a third that will let go."""
    wide, narrow = Turns(2), Turns(1)
    bystander = contextlib.AsyncExitStack()
    await bystander.enter_async_context(wide.awaited())

    async def holds_narrow() -> None:
        with one_trial(lambda: False):
            async with narrow.awaited():
                await asyncio.sleep(0.02)
                async with wide.awaited():
                    pass

    async def holds_wide() -> None:
        with one_trial(lambda: False):
            async with wide.awaited():
                await asyncio.sleep(0.04)
                async with narrow.awaited():
                    pass

    tasks = [asyncio.create_task(holds_wide()), asyncio.create_task(holds_narrow())]
    await asyncio.sleep(0.1)
    assert not any(task.done() for task in tasks)
    await bystander.aclose()
    await asyncio.wait_for(asyncio.gather(*tasks), 20)
