"""While a debugger is open, no time is up, and a run begins one trial at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from evenhand.core.errors import CodeError
from evenhand.core.plan import RunOptions
from evenhand.engine import debugging
from evenhand.engine.agenda import Agenda
from evenhand.engine.code import CodeHost
from evenhand.engine.time_limit import TrialClock, clock, go_on, left_until, stands_still, stop
from evenhand.testing import example

LIMIT_S = 0.1
PAUSE_S = 0.3


@pytest.fixture
def paused() -> Iterator[None]:
    """A debugger that is open for a while from now on, longer than the limits."""
    stop()
    timer = threading.Timer(PAUSE_S, go_on)
    timer.start()
    yield
    timer.join()


@pytest.mark.usefixtures("paused")
async def test_no_limit_is_up_while_a_debugger_is_open() -> None:
    """Of a plain function, of an async one, and of a trial; each has its whole time after that."""

    async def waits() -> str:
        await asyncio.sleep(PAUSE_S + LIMIT_S / 4)
        return "async"

    def plain() -> str:
        time.sleep(PAUSE_S + LIMIT_S / 4)
        return "plain"

    async def trial() -> str:
        async with TrialClock(LIMIT_S) as _:
            await waits()
        return "trial"

    with CodeHost(LIMIT_S).open() as host:
        answers = await asyncio.gather(
            host.call(plain, name="plain"), host.call(waits, name="waits"), trial()
        )
    assert answers == ["plain", "async", "trial"]


@pytest.mark.usefixtures("paused")
async def test_afterwards_limits_hold_as_before() -> None:
    """What takes too long by itself is given up."""
    with CodeHost(LIMIT_S).open() as host:
        for function in (lambda: time.sleep(3), lambda: asyncio.sleep(60)):
            with pytest.raises(CodeError, match=r"took longer than 0\.1 s"):
                await host.call(function, name="slow")
    clocked = TrialClock(LIMIT_S)
    with pytest.raises(TimeoutError):
        async with clocked:
            await asyncio.sleep(60)
    assert clocked.expired()


def test_the_clock_leaves_out_what_a_debugger_waited() -> None:
    """However often it is stopped meanwhile."""
    before = clock()
    stop()
    stop()
    assert stands_still()
    time.sleep(0.05)
    assert clock() - before < 0.04
    assert left_until(clock() - 5) > 0
    go_on()
    go_on()
    assert clock() - before < 0.04
    assert left_until(clock() - 5) < 0


async def test_once_somebody_debugs_a_trial_begins_when_all_others_are_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where several wait for the next one."""

    async def body(_: Any) -> None: ...

    agenda = Agenda(example(3, body, options=RunOptions()).trials())
    first, second = await agenda.next(), await agenda.next()
    assert first
    assert second
    monkeypatch.setattr(debugging._state, "one_by_one", True)  # pyright: ignore[reportPrivateUsage] (as the first prompt does)
    third, end = asyncio.ensure_future(agenda.next()), asyncio.ensure_future(agenda.next())
    agenda.done(first)
    await asyncio.sleep(0)
    assert not third.done()
    agenda.done(second)
    last = await third
    assert last
    assert not end.done()
    agenda.done(last)
    assert await end is None
