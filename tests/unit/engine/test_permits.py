"""Every permit comes back, on both event loops, whatever becomes of the calls."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.core.errors import (
    BadReply,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    ProviderError,
    RateLimited,
)
from evenhand.engine.rate_limits import Account
from evenhand.engine.retry_pauses import RetryPolicy

LOOPS = ("asyncio", "uvloop")


def loops(name: str) -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes such a loop."""
    return (
        pytest.importorskip("uvloop").new_event_loop if name == "uvloop" else asyncio.new_event_loop
    )


def run_on(name: str, scenario: Any) -> None:
    """Runs it on such a loop; it fails rather than hang."""
    with asyncio.Runner(loop_factory=loops(name)) as runner:
        runner.run(asyncio.wait_for(scenario, 50))


@pytest.mark.parametrize("loop", LOOPS)
def test_a_timer_that_is_due_at_once_keeps_no_call_from_waiting(loop: str):
    """A pause that ends within a millisecond, where uvloop's handle does not say when it is due."""

    async def scenario() -> None:
        time = asyncio.get_running_loop().time
        account = Account("api.example.com", 4, 4, RetryPolicy(), time, random.Random(1))
        for _ in range(40):
            account.pace.closing.until = time() + random.uniform(0.0001, 0.0006)
            permits = asyncio.gather(*(account.acquire(i, 0) for i in range(4)))
            for permit in await permits:
                account.release(permit, None, None, 0)
        assert account.in_flight == 0

    run_on(loop, scenario())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("nth", range(12))
def test_whatever_becomes_of_calls_none_is_left_waiting_and_no_permit_is_lost(nth: int, loop: str):
    """Answers, refusals with a wait and without one, failures, cancelled and withdrawn calls."""
    seed = os.environ.get("SEED") or f"{random.SystemRandom().randrange(10**9)}-{nth}"
    print(f"SEED={seed}")  # noqa: T201 (pytest shows it with the failure)
    draw = random.Random(seed)

    def outcome() -> ProviderError | None:
        wait = draw.choice((None, 0.0003, 0.001, 0.02))
        return draw.choice(
            (None,) * 6
            + (
                RateLimited("slow down", retry_after_s=wait),
                Overloaded("busy", retry_after_s=wait),
                BadReply("what is this?"),
                ConnectionFailed("gone"),
                BadRequest("what?"),
            )
        )

    async def scenario() -> None:
        time = asyncio.get_running_loop().time
        account = Account("api.example.com", 8, draw.choice((1, 4, 8)), RetryPolicy(), time, draw)
        ended: list[int] = []

        async def call(number: int) -> None:
            try:
                permit = await account.acquire(number, draw.randrange(200))
                try:
                    await account.passable(permit)
                    await asyncio.sleep(draw.choice((0, 0.0004, 0.003)))
                except BaseException:
                    account.withdraw(permit)
                    raise
                if draw.random() < 0.1:
                    draw.choice((account.withdraw, account.forget))(permit)
                else:
                    account.release(permit, outcome(), None, draw.randrange(50))
            finally:
                ended.append(number)

        tasks = [asyncio.ensure_future(call(number)) for number in range(120)]
        for task in draw.sample(tasks, 25):
            await asyncio.sleep(draw.choice((0, 0.0005, 0.002)))
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert result is None or isinstance(result, (asyncio.CancelledError, ProviderError))
        assert sorted(ended) == list(range(len(ended)))
        assert account.in_flight == 0
        again = await account.acquire(0, 0)
        account.release(again, None, None, 0)

    run_on(loop, scenario())


def test_a_permit_comes_back_where_what_is_learned_from_a_call_fails(
    monkeypatch: pytest.MonkeyPatch,
):
    """A fault of our own in one call must not hold up the others forever."""

    async def scenario() -> None:
        account = Account("api.example.com", 1, 1, RetryPolicy())
        permit = await account.acquire(0, 0)
        with monkeypatch.context() as broken:
            broken.setattr(account.pace, "accepted", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                account.release(permit, None, None, 0)
        assert account.in_flight == 0
        account.release(await account.acquire(1, 0), None, None, 0)

    run_on("asyncio", scenario())
