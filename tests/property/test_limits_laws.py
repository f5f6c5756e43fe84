"""Laws of an account's limits under any order of asking, answering, failing, cancelling and waiting."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import (
    AuthError,
    BadRequest,
    Overloaded,
    ProviderError,
    RateLimited,
)
from evenhand.core.provider import RateLimits
from evenhand.engine.pace import Permit
from evenhand.engine.rate_limits import Account
from evenhand.engine.retry_pauses import RetryPolicy

LAW = settings(derandomize=True, max_examples=150, deadline=None, database=None)
SECONDS = st.floats(0.01, 30)
RATES = st.builds(
    RateLimits,
    requests_remaining=st.none() | st.floats(0, 5),
    requests_reset_s=SECONDS,
    tokens_remaining=st.none() | st.floats(0, 200),
    tokens_reset_s=SECONDS,
)
ERRORS = st.one_of(
    st.none(),
    st.none(),
    st.builds(lambda s: RateLimited("429", retry_after_s=s), st.none() | SECONDS),
    st.builds(lambda s: Overloaded("503", retry_after_s=s), st.none() | SECONDS),
    st.just(BadRequest("400")),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 5), st.integers(0, 120)),
        st.tuples(st.just("answer"), ERRORS, st.none() | RATES),
        st.tuples(st.just("withdraw")),
        st.tuples(st.just("cancel"), st.integers(0, 20)),
        st.tuples(st.just("turn")),
        st.tuples(st.just("wait"), SECONDS),
    ),
    max_size=60,
)


class Jumping(asyncio.SelectorEventLoop):
    """A loop that never waits: its clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        select = self._selector.select

        def jump(timeout: float | None = None) -> Any:
            events = select(0)
            if not events:
                assert timeout is not None, "somebody waits whom nothing will ever wake"
                self.now += timeout
            return events

        self._selector.select = jump

    def time(self) -> float:
        return self.now


class Users:
    """Those who hold a permit, and those who wait for one."""

    def __init__(self, loop: Jumping, ceiling: int, start: int) -> None:
        self.loop = loop
        self.ceiling = ceiling
        self.account = Account("x", ceiling, start, RetryPolicy(), loop.time, random.Random(0))
        self.tasks: list[asyncio.Task[Permit]] = []

    def holders(self) -> int:
        """How many have been let through and not given back."""
        return sum(t.done() and not t.cancelled() and t.exception() is None for t in self.tasks)

    def check(self) -> None:
        """The laws."""
        account = self.account
        assert 1 <= account.pace.width <= self.ceiling
        assert 0 <= account.in_flight <= self.ceiling

    async def do(self, step: tuple[Any, ...]) -> None:
        """One step."""
        match step:
            case ("ask", priority, tokens):
                self.tasks.append(asyncio.create_task(self.ask(priority, tokens)))
            case ("answer", error, rates):
                permit = self.give_back()
                if permit is not None:
                    self.account.release(permit, error, rates, 3)
            case ("withdraw",):
                permit = self.give_back()
                if permit is not None:
                    self.account.withdraw(permit)
            case ("cancel", i):
                if self.tasks:
                    task = self.tasks[i % len(self.tasks)]
                    if not task.done():
                        task.cancel()
            case ("turn",):
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            case ("wait", seconds):
                await asyncio.sleep(seconds)
        self.check()

    async def ask(self, priority: int, tokens: int) -> Permit:
        return await self.account.acquire(priority, tokens)

    def give_back(self) -> Permit | None:
        """Takes one who holds a permit off the list; None for nobody."""
        for task in list(self.tasks):
            if task.done():
                self.tasks.remove(task)
                if not task.cancelled() and task.exception() is None:
                    return task.result()
        return None

    async def finish(self) -> None:
        """Everybody who still waits is let through in the end, once others give back."""
        for _ in range(10_000):
            await asyncio.sleep(0.5)
            self.check()
            while (permit := self.give_back()) is not None:
                self.account.withdraw(permit)
            if not self.tasks:
                break
        assert not self.tasks, "somebody was never let through"
        assert self.account.in_flight == 0


@LAW
@given(STEPS, st.integers(1, 8), st.integers(1, 8))
def test_no_permit_is_lost_and_no_limit_passed_whatever_happens(steps, ceiling, start):
    """Never more in flight than the ceiling; in the end everybody went, and all permits are back."""
    loop = Jumping()

    async def scenario() -> None:
        users = Users(loop, ceiling, start)
        for step in steps:
            await users.do(step)
        await users.finish()

    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()


@pytest.mark.thorough
@LAW
@given(STEPS, st.integers(0, 59))
def test_an_account_that_fails_leaves_nobody_waiting(steps, when):
    """All who wait and all who come get the error; permits that were given come back."""
    loop = Jumping()

    async def scenario() -> None:
        users = Users(loop, 4, 2)
        for step in steps[:when]:
            await users.do(step)
        users.account.fail(AuthError("wrong key"))
        for step in steps[when:]:
            if step[0] == "ask":
                await users.do(step)
        done = await asyncio.gather(*users.tasks, return_exceptions=True)
        assert all(
            isinstance(result, (Permit, ProviderError, asyncio.CancelledError)) for result in done
        )
        while (permit := users.give_back()) is not None:
            users.account.withdraw(permit)
        assert users.account.in_flight == 0

    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()


@LAW
@given(STEPS)
def test_nobody_is_let_through_while_the_account_is_closed(steps):
    """Not one, whatever else happens meanwhile."""
    loop = Jumping()

    async def scenario() -> None:
        users = Users(loop, 8, 8)
        for step in steps:
            closed = loop.now < users.account.pace.closing.until
            count = users.account.in_flight
            await users.do(step)
            if closed and step[0] in ("ask", "withdraw", "cancel"):
                assert users.account.in_flight <= count

    try:
        loop.run_until_complete(scenario())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()
