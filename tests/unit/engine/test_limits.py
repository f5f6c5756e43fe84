"""Gates, buckets and the in-flight limit, on a clock of our own."""

from __future__ import annotations

import asyncio
import random

import pytest

from evenhand.core.errors import AuthError, ConnectionFailed, Overloaded, RateLimited, Unreachable
from evenhand.core.provider import RateLimits
from evenhand.engine.limits import Account, Bucket, Limits
from evenhand.engine.retry import RetryPolicy


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def account(clock: Clock, ceiling: int = 100, start: int = 10) -> Account:
    """An account on this clock."""
    return Account("api.example.com", ceiling, start, RetryPolicy(), clock, random.Random(1))


async def taken(acc: Account, count: int) -> int:
    """How many of so many calls are let through at once."""
    tasks = [asyncio.create_task(acc.acquire(i, 0)) for i in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    done = sum(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


async def test_no_more_calls_are_in_flight_than_the_limit():
    """Ten permits, and the eleventh waits until one is given back."""
    acc = account(Clock())
    for i in range(10):
        await acc.acquire(i, 0)
    waiting = asyncio.create_task(acc.acquire(10, 0))
    await asyncio.sleep(0)
    assert not waiting.done()
    acc.release(None, None, 0)
    await asyncio.wait_for(waiting, 1)
    assert acc.in_flight == 10


async def test_earlier_trials_are_let_through_first():
    """Whoever waits with a lower number goes before those that came earlier with a higher one."""
    acc = account(Clock(), start=1)
    await acc.acquire(0, 0)
    order: list[int] = []

    async def call(number: int) -> None:
        await acc.acquire(number, 0)
        order.append(number)
        acc.release(None, None, 0)

    tasks = [asyncio.create_task(call(number)) for number in (9, 3, 5)]
    await asyncio.sleep(0)
    acc.release(None, None, 0)
    await asyncio.gather(*tasks)
    assert order == [3, 5, 9]


async def test_a_cancelled_wait_loses_no_permit():
    """Cancelled before, and cancelled in the moment it is let through."""
    acc = account(Clock(), start=1)
    await acc.acquire(0, 0)
    early = asyncio.create_task(acc.acquire(1, 0))
    late = asyncio.create_task(acc.acquire(2, 0))
    await asyncio.sleep(0)
    early.cancel()
    await asyncio.sleep(0)
    acc.release(None, None, 0)
    late.cancel()
    await asyncio.gather(early, late, return_exceptions=True)
    assert acc.in_flight == 0
    await asyncio.wait_for(acc.acquire(3, 0), 1)


async def test_a_vendor_that_asks_to_wait_is_not_asked_before_by_anybody():
    """The gate holds all callers, also those with a permit, and opens when the time has come."""
    clock = Clock()
    acc = account(clock)
    await acc.acquire(0, 0)
    acc.release(RateLimited("slow down", retry_after_s=7), None, 0)
    assert await taken(acc, 3) == 0
    assert acc.waiting() == "api.example.com throttled, resumes in 7 s"
    clock.now += 6.9
    assert await taken(acc, 3) == 0
    clock.now += 0.2
    assert 1 <= await taken(acc, 3) < 3
    clock.now += 2
    assert await taken(acc, 3) == 3
    assert acc.waiting() == ""


async def test_passable_waits_for_a_gate_that_closed_after_the_permit_was_given():
    """It returns at once when there is no gate, and raises when the account has failed."""
    clock = Clock()
    acc = account(clock)
    await acc.passable()
    await acc.acquire(0, 0)
    await acc.acquire(1, 0)
    acc.release(RateLimited("x", retry_after_s=0.02), None, 0)
    waiting = asyncio.create_task(acc.passable())
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now += 1
    await asyncio.wait_for(waiting, 1)
    acc.fail(AuthError("no"))
    with pytest.raises(AuthError):
        await acc.passable()


async def test_all_the_429s_of_one_episode_cut_the_limit_once():
    """To 0.7 of what it was; a later episode cuts again."""
    clock = Clock()
    acc = account(clock, start=10)
    for i in range(6):
        await acc.acquire(i, 0)
    for _ in range(6):
        acc.release(RateLimited("x"), None, 0)
    assert acc.limit == pytest.approx(7)
    clock.now += 60
    await acc.acquire(9, 0)
    acc.release(RateLimited("x"), None, 0)
    assert acc.limit == pytest.approx(4.9)


async def test_the_limit_grows_only_when_it_is_nearly_used_up():
    """One call at a time says nothing about more; ten at once double it."""
    acc = account(Clock(), start=10)
    for i in range(50):
        await acc.acquire(i, 0)
        acc.release(None, None, 0)
    assert acc.limit == 10
    for i in range(10):
        await acc.acquire(i, 0)
    for i in range(40):
        await_ = asyncio.create_task(acc.acquire(i, 0))
        await asyncio.sleep(0)
        acc.release(None, None, 0)
        await await_
    assert acc.limit >= 20


async def test_the_limit_never_passes_its_ceiling():
    """However long it goes well."""
    acc = account(Clock(), ceiling=12, start=10)
    for i in range(10):
        await acc.acquire(i, 0)
    for i in range(200):
        waiting = asyncio.create_task(acc.acquire(i, 0))
        await asyncio.sleep(0)
        acc.release(None, None, 0)
        await waiting
    assert acc.limit == 12


async def test_after_a_cut_growth_is_slow():
    """By a twentieth, at least one, for each clean round."""
    clock = Clock()
    acc = account(clock, start=10)
    await acc.acquire(0, 0)
    acc.release(RateLimited("x"), None, 0)
    clock.now += 100
    for i in range(7):
        await acc.acquire(i, 0)
    for i in range(14):
        waiting = asyncio.create_task(acc.acquire(i, 0))
        await asyncio.sleep(0)
        acc.release(None, None, 0)
        await waiting
    assert 7 < acc.limit <= 9


async def test_faults_of_the_vendors_own_cut_nothing():
    """A 500 is no sign of asking too often."""
    acc = account(Clock(), start=10)
    await acc.acquire(0, 0)
    acc.release(Overloaded("500"), None, 0)
    assert acc.limit == 10


async def test_headers_hold_calls_back_until_their_window_ends():
    """Two requests are left, so the third waits for the reset."""
    clock = Clock()
    acc = account(clock)
    await acc.acquire(0, 0)
    acc.release(None, RateLimits(requests_remaining=2, requests_reset_s=5), 0)
    assert await taken(acc, 5) == 2
    clock.now += 5.1
    assert await taken(acc, 5) == 5


async def test_tokens_are_debited_and_hold_back_what_needs_more():
    """A small request may go where a large one has to wait."""
    clock = Clock()
    acc = account(clock)
    await acc.acquire(0, 0)
    acc.release(None, RateLimits(tokens_remaining=100, tokens_reset_s=10), 0)
    large = asyncio.create_task(acc.acquire(1, 150))
    await asyncio.sleep(0)
    assert not large.done()
    large.cancel()
    await asyncio.gather(large, return_exceptions=True)
    await asyncio.wait_for(acc.acquire(2, 60), 1)


def test_a_bucket_believes_headers_only_downwards_within_a_window():
    """Answers overtake each other: an older one must not hand permits back."""
    bucket = Bucket()
    assert bucket.wait_s(1, 0) == 0
    bucket.learn(5, 10, 0)
    bucket.learn(9, 10, 1)
    assert bucket.remaining == 5
    bucket.learn(None, None, 1)
    bucket.take(5, 2)
    assert bucket.wait_s(1, 2) == pytest.approx(8)
    assert bucket.wait_s(1, 11) == 0


async def test_a_fatal_error_reaches_all_who_wait_and_all_who_come():
    """Nobody waits for an account that has failed."""
    acc = account(Clock(), start=1)
    await acc.acquire(0, 0)
    waiting = [asyncio.create_task(acc.acquire(i, 0)) for i in range(3)]
    await asyncio.sleep(0)
    acc.fail(AuthError("wrong key"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, AuthError) for result in results)
    with pytest.raises(AuthError):
        await acc.acquire(9, 0)


async def test_an_account_that_never_answers_is_given_up():
    """Thirty failures over some seconds without one answer, and the run is told where to look."""
    clock = Clock()
    acc = account(clock, start=40)
    for i in range(30):
        clock.now += 0.2
        await acc.acquire(i, 0)
        acc.release(ConnectionFailed("refused", hint="Is it up?"), None, 0)
    with pytest.raises(Unreachable, match="30 attempts") as caught:
        await acc.acquire(31, 0)
    assert caught.value.hint == "Is it up?"


async def test_an_account_that_answers_now_and_then_is_not_given_up():
    """An answer starts the count again."""
    acc = account(Clock(), start=40)
    for i in range(100):
        await acc.acquire(i, 0)
        acc.release(None if i % 20 == 0 else ConnectionFailed("refused"), None, 0)
    await acc.acquire(101, 0)


async def test_a_withdrawn_permit_is_free_again():
    """Nothing was sent, nothing is learnt."""
    acc = account(Clock(), start=1)
    await acc.acquire(0, 0)
    acc.withdraw()
    assert acc.in_flight == 0


def test_accounts_are_kept_by_name_and_say_together_what_holds_them_up():
    """The part after the mark tells keys apart, and is not shown."""
    clock = Clock()
    limits = Limits(10, 5, clock=clock)
    one = limits.account("api.example.com #1a2b")
    assert limits.account("api.example.com #1a2b") is one
    assert limits.account("other") is not one
    assert one.name == "api.example.com"
    assert limits.waiting() == ""


async def test_a_timer_lets_waiters_through_when_the_gate_opens():
    """On the real clock: nobody has to come by."""
    acc = Account("x", 10, 10, RetryPolicy())
    await acc.acquire(0, 0)
    acc.release(RateLimited("x", retry_after_s=0.03), None, 0)
    await asyncio.wait_for(asyncio.gather(*(acc.acquire(i, 0) for i in range(5))), 3)
    assert acc.in_flight == 5
