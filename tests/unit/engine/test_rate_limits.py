"""Permits, headers and the width, on a clock of our own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace

import pytest
from tests.unit.engine.asker import Asker

from evenhand.core.errors import (
    AuthError,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    RateLimited,
    Unreachable,
)
from evenhand.core.provider import RateLimits
from evenhand.engine.rate_limits import HeaderBucket, Limits


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def taken(acc: Asker, count: int, tokens: int = 0) -> int:
    """How many of so many calls are let through at once."""
    tasks = [asyncio.create_task(acc.ask(i, tokens)) for i in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    done = sum(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


async def go_on(acc: Asker, count: int) -> None:
    """So many calls are answered, while the next one waits each time."""
    for _ in range(count):
        waiting = [asyncio.create_task(acc.ask()) for _ in range(2 * int(acc.pace.width))]
        await asyncio.sleep(0)
        acc.answer()
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_no_more_calls_are_in_flight_than_the_limit():
    """Ten permits, and the eleventh waits until one is given back."""
    acc = Asker(Clock())
    for i in range(10):
        await acc.ask(i, 0)
    waiting = asyncio.create_task(acc.ask(10, 0))
    await asyncio.sleep(0)
    assert not waiting.done()
    acc.answer()
    await asyncio.wait_for(waiting, 20)
    assert acc.in_flight == 10


async def test_earlier_trials_are_let_through_first():
    """Whoever waits with a lower number goes before those that came earlier with a higher one."""
    acc = Asker(Clock(), start=1)
    await acc.ask(0, 0)
    order: list[int] = []

    async def call(number: int) -> None:
        await acc.ask(number, 0)
        order.append(number)
        acc.answer()

    tasks = [asyncio.create_task(call(number)) for number in (9, 3, 5)]
    await asyncio.sleep(0)
    acc.answer()
    await asyncio.gather(*tasks)
    assert order == [3, 5, 9]


async def test_a_cancelled_wait_loses_no_permit():
    """Cancelled before, and cancelled in the moment it is let through."""
    acc = Asker(Clock(), start=1)
    await acc.ask(0, 0)
    early = asyncio.create_task(acc.ask(1, 0))
    late = asyncio.create_task(acc.ask(2, 0))
    await asyncio.sleep(0)
    early.cancel()
    await asyncio.sleep(0)
    acc.answer()
    late.cancel()
    await asyncio.gather(early, late, return_exceptions=True)
    assert acc.in_flight == 0
    await asyncio.wait_for(acc.ask(3, 0), 20)


async def test_one_refused_call_holds_nobody_else():
    """A gateway that sheds single requests is no reason to wait; the call itself does, by its policy."""
    acc = Asker(Clock())
    await acc.refuse(1, 7)
    assert acc.waiting() == ""
    assert await taken(acc, 10) == 10


async def test_an_account_that_refuses_all_that_is_sent_is_not_asked_before_the_time_that_it_says():
    """By nobody; then by one, until that one is accepted."""
    clock = Clock()
    acc = Asker(clock)
    await acc.refuse(10, 7)
    assert await taken(acc, 3) == 0
    assert acc.waiting() == "api.example.com paused, resumes in 7 s"
    clock.now += 6.9
    assert await taken(acc, 3) == 0
    clock.now += 0.2
    assert await taken(acc, 3) == 1
    assert acc.waiting() == ""
    clock.now += 0.1
    acc.answer()
    assert acc.waiting() == ""
    assert not acc.pace.closing.alone


async def test_an_account_that_says_no_time_is_closed_for_pauses_that_double():
    """A quarter of a second, a half, and so on, up to eight."""
    clock = Clock()
    acc = Asker(clock)
    await acc.refuse(10)
    pauses: list[float] = []
    for _ in range(8):
        pauses.append(acc.pace.closing.until - clock.now)
        clock.now = acc.pace.closing.until
        await acc.refuse(1)
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


async def test_a_permit_waits_for_an_account_that_has_closed_since_it_was_given():
    """It goes at once where the account is open, and fails where that has failed for good."""
    clock = Clock()
    acc = Asker(clock, start=11)
    permit = await acc.acquire(0, 0)
    await acc.passable(permit)
    await acc.refuse(10)
    acc.pace.closing.close(clock.now, 0.02)
    waiting = asyncio.create_task(acc.passable(permit))
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now += 1
    await asyncio.wait_for(waiting, 20)
    assert permit.sent_at == clock.now
    acc.fail(AuthError("no"))
    with pytest.raises(AuthError):
        await acc.passable(permit)


async def test_what_was_in_flight_and_not_refused_is_taken_for_the_width():
    """All the refusals of one episode are one sign: the width is what is left of those that were in flight."""
    acc = Asker(Clock(), start=20)
    for i in range(20):
        await acc.ask(i)
    for _ in range(8):
        acc.answer(RateLimited("x"))
    assert acc.pace.width == 12
    for _ in range(2):
        acc.answer(RateLimited("x"))
    assert acc.pace.width == 10
    width = acc.pace.width
    for _ in range(10):
        acc.answer()
    assert acc.pace.width >= width


async def test_the_width_grows_only_while_it_is_used_up():
    """One call at a time says nothing about more; ten at once double it."""
    acc = Asker(Clock(), start=10)
    for i in range(50):
        await acc.ask(i)
        acc.answer()
    assert acc.pace.width == 10
    for i in range(10):
        await acc.ask(i)
    await go_on(acc, 10)
    assert acc.pace.width == 20


async def test_the_width_never_passes_its_ceiling():
    """However long it goes well."""
    acc = Asker(Clock(), ceiling=12, start=10)
    for i in range(10):
        await acc.ask(i)
    await go_on(acc, 200)
    assert acc.pace.width == 12


async def test_after_refusals_the_width_grows_slowly_and_up_to_the_ceiling():
    """By one at first, and by larger steps while that goes well."""
    clock = Clock()
    acc = Asker(clock, ceiling=16, start=16)
    for i in range(16):
        await acc.ask(i)
    for _ in range(8):
        acc.answer(RateLimited("x"))
    low = acc.pace.width
    assert low < 16
    widths: list[float] = []
    while acc.in_flight > low:
        acc.answer()
    for _ in range(30):
        clock.now += 0.6
        await go_on(acc, int(acc.pace.width))
        widths.append(acc.pace.width)
    assert widths[0] <= low + 2
    assert widths == sorted(widths)
    assert widths[-1] == 16


async def test_faults_of_the_vendors_own_cut_nothing():
    """A 500 is no sign of asking too often."""
    acc = Asker(Clock(), start=10)
    await acc.ask(0, 0)
    acc.answer(Overloaded("500"))
    assert acc.pace.width == 10


async def test_headers_hold_calls_back_until_their_window_ends():
    """Two requests are left, so the third waits for the reset."""
    clock = Clock()
    acc = Asker(clock)
    await acc.ask(0, 0)
    acc.answer(None, RateLimits(requests_remaining=2, requests_reset_s=5), 0)
    assert await taken(acc, 5) == 2
    clock.now += 5.1
    assert await taken(acc, 5) == 5


async def test_tokens_are_debited_and_hold_back_what_needs_more():
    """A small request may go where a large one has to wait."""
    clock = Clock()
    acc = Asker(clock)
    await acc.ask(0, 0)
    acc.answer(None, RateLimits(tokens_remaining=100, tokens_reset_s=10), 0)
    large = asyncio.create_task(acc.ask(1, 150))
    await asyncio.sleep(0)
    assert not large.done()
    large.cancel()
    await asyncio.gather(large, return_exceptions=True)
    await asyncio.wait_for(acc.ask(2, 60), 20)


def test_a_bucket_believes_headers_only_downwards_within_a_window():
    """Answers overtake each other: an older one must not hand permits back."""
    bucket = HeaderBucket()
    assert bucket.wait_s(1, 0) == 0
    bucket.learn(None, 5, 10, 0)
    bucket.learn(None, 9, 10, 1)
    assert bucket.remaining == 5
    bucket.learn(None, None, None, 1)
    bucket.take(5, 2)
    assert bucket.wait_s(1, 2) == pytest.approx(8)
    assert bucket.wait_s(1, 11) == 0


async def test_a_fatal_error_reaches_all_who_wait_and_all_who_come():
    """Nobody waits for an account that has failed."""
    acc = Asker(Clock(), start=1)
    await acc.ask(0, 0)
    waiting = [asyncio.create_task(acc.ask(i, 0)) for i in range(3)]
    await asyncio.sleep(0)
    acc.fail(AuthError("wrong key"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, AuthError) for result in results)
    with pytest.raises(AuthError):
        await acc.ask(9, 0)


async def test_an_account_that_never_answers_is_doubted_and_then_given_up():
    """Thirty failures without an answer turn away who failed; thirty more that fail at once, everybody."""
    clock = Clock()
    acc = Asker(clock, start=40)
    for i in range(30):
        clock.now += 0.2
        await acc.ask(i, 0)
        acc.answer(ConnectionFailed("refused", hint="Is it up?"))
    with pytest.raises(Unreachable, match="30 attempts") as caught:
        await acc.ask(3, 0)
    assert caught.value.hint == "Is it up?"
    for i in range(30, 60):
        await acc.ask(i, 0)
        acc.answer(ConnectionFailed("refused"))
    with pytest.raises(Unreachable, match="30 attempts"):
        await acc.ask(60, 0)


async def test_an_account_that_answers_another_trial_is_doubted_no_longer():
    """What failed may be asked again."""
    clock = Clock()
    acc = Asker(clock, start=40)
    for _ in range(40):
        clock.now += 0.2
        with contextlib.suppress(Unreachable):
            await acc.ask(0, 0)
            acc.answer(ConnectionFailed("refused"))
    with pytest.raises(Unreachable):
        await acc.ask(0, 0)
    await acc.ask(1, 0)
    acc.answer()
    await acc.ask(0, 0)


async def test_a_doubted_account_turns_away_who_has_failed_and_waits():
    """Whoever comes from the queue would fail again."""
    clock = Clock()
    acc = Asker(clock, start=2)
    await acc.ask(0, 0)
    acc.answer(ConnectionFailed("refused"))
    await acc.ask(1, 0)
    await acc.ask(1, 0)
    waiting = [asyncio.create_task(acc.ask(trial, 0)) for trial in (0, 7)]
    await asyncio.sleep(0)
    acc._failures = 29
    clock.now += 60.0
    acc.answer(ConnectionFailed("refused"))
    with pytest.raises(Unreachable):
        await waiting[0]
    await waiting[1]


async def test_another_model_of_a_doubted_account_is_asked():
    """As a judge's fallback is, for the same trial: its answer ends the doubt."""
    clock = Clock()
    account = Limits(100, clock=clock).account("api")
    for _ in range(31):
        clock.now += 1
        with contextlib.suppress(Unreachable):
            permit = await account.acquire(0, 0, "down")
            account.release(permit, ConnectionFailed("refused"), None, 0)
    with pytest.raises(Unreachable):
        await account.acquire(0, 0, "down")
    account.release(await asyncio.wait_for(account.acquire(0, 0, "up"), 1), None, None, 0)
    account.release(await asyncio.wait_for(account.acquire(0, 0, "down"), 1), None, None, 0)


async def test_an_account_that_answers_now_and_then_is_not_given_up():
    """An answer starts the count again."""
    acc = Asker(Clock(), start=40)
    for i in range(100):
        await acc.ask(i, 0)
        acc.answer(None if i % 20 == 0 else ConnectionFailed("refused"))
    await acc.ask(101, 0)


async def test_calls_that_all_fail_are_not_sent_one_after_the_other():
    """A request that is wrong is answered at once; so is a call of broken code."""
    for number in range(2):
        account = Limits(100, clock=Clock()).account("api")
        permit = await account.acquire(0, 0)
        if number:
            account.forget(permit)
        else:
            account.release(permit, BadRequest("what?"), None, 0)
        for _ in range(100):
            await asyncio.wait_for(account.acquire(0, 0), 20)


async def test_a_withdrawn_permit_is_free_again():
    """Nothing was sent, nothing is learnt."""
    acc = Asker(Clock(), start=1)
    await acc.ask(0, 0)
    acc.give_up()
    assert acc.in_flight == 0


async def test_what_a_withdrawn_call_was_debited_comes_back():
    """At a rate, and where headers count: the next call need not wait for what nobody sent."""
    clock = Clock()
    by_rate = Asker(clock)
    by_rate.pace.flow.begin(10, clock.now)
    clock.now += 1
    by_headers = Asker(clock)
    await by_headers.ask()
    by_headers.answer(None, RateLimits(requests_remaining=1, requests_reset_s=60))
    by_tokens = Asker(clock)
    await by_tokens.ask()
    by_tokens.answer(None, RateLimits(tokens_remaining=500, tokens_reset_s=60))
    for account in (by_rate, by_headers, by_tokens):
        await account.ask(0, 400)
        assert await taken(account, 1, 400) == 0
        account.give_up()
        assert await taken(account, 1, 400) == 1


@pytest.mark.parametrize("since", ["nothing", "a header", "a window"])
@pytest.mark.parametrize(
    "room",
    [
        RateLimits(requests_remaining=1, requests_reset_s=60),
        RateLimits(tokens_remaining=500, tokens_reset_s=60),
    ],
)
async def test_what_a_withdrawn_call_was_not_debited_does_not_come_back(
    room: RateLimits, since: str
):
    """It went out before any header, or a header has come since: that has not counted what never arrived."""
    clock = Clock()
    acc = Asker(clock)
    if since != "nothing":
        await acc.ask()
        acc.answer(None, replace(room, requests_remaining=9, tokens_remaining=9000))
    await acc.ask(0, 400)
    clock.now += 61 if since == "a window" else 1
    await acc.ask()
    acc.permits.reverse()
    acc.answer(None, room)
    acc.give_up()
    assert await taken(acc, 2, 400) == 1


def test_accounts_are_kept_by_name_and_say_together_what_holds_them_up():
    """The part after the mark tells keys apart, and is not shown."""
    clock = Clock()
    limits = Limits(10, 5, clock=clock)
    one = limits.account("api.example.com #1a2b")
    assert limits.account("api.example.com #1a2b") is one
    assert limits.account("other") is not one
    assert one.name == "api.example.com"
    assert limits.waiting() == ""


async def test_a_timer_lets_waiters_through_when_the_account_opens():
    """On the real clock: nobody has to come by."""
    acc = Asker(time.monotonic)
    acc.pace.closing.close(time.monotonic(), 0.03)

    async def call() -> None:
        await acc.ask()
        acc.answer()

    await asyncio.wait_for(asyncio.gather(*(call() for _ in range(5))), 30)
    assert acc.in_flight == 0


def test_a_bucket_that_refills_is_told_from_a_window_by_two_headers():
    """Twice as much used that takes twice as long to come back: then what is missing is waited for, and no more."""
    refilled, window = HeaderBucket(), HeaderBucket()
    refilled.learn(100, 90, 1.0, 0)
    refilled.learn(100, 20, 8.0, 1)
    assert refilled.refill == 10
    assert refilled.wait_s(25, 1) == pytest.approx(0.5)
    window.learn(100, 90, 50, 0)
    window.learn(100, 20, 49, 1)
    assert window.refill == 0
    assert window.wait_s(25, 1) == pytest.approx(49)


@pytest.mark.parametrize(
    ("limit", "first", "second", "at_first", "a_second"),
    [
        (6000, (5990, 0.1), (5900, 1.0), 100, 100),
        (6000, (5990, 0.12), (5900, 1.1), 100, 100),
        (6000, (5998, 0.011), (5900, 1.0), 100, 100),
        (14_400, (14_399, 6.0), (14_390, 60.0), 0, 0),
        (6000, (5990, 50.0), (5900, 49.0), 0, 0),
        (6000, (5400, 6.5), (4200, 5.5), 100, 0),
        (600, (500, 5.0), (300, 15.0), 0, 0),
    ],
    ids=[
        *("by the minute", "rounded", "a part of one", "by the day", "a window", "a window's end"),
        "by half a minute",
    ],
)
def test_headers_name_a_rate_where_a_limit_by_the_minute_refills(
    limit, first, second, at_first, a_second
):
    """A day's reserve may be used in an hour, a window's in a second; one header is taken for what it looks like."""
    bucket = HeaderBucket()
    bucket.learn(limit, *first, 0)
    assert bucket.a_second == at_first
    bucket.learn(limit, *second, 1)
    assert bucket.a_second == a_second


def test_what_is_known_of_a_bucket_that_refills_holds_for_as_long_as_headers_come():
    """A header that tells nothing new moves the time at which the bucket is full."""
    bucket = HeaderBucket()
    bucket.learn(100, 90, 1.0, 0)
    bucket.learn(100, 0, 10.0, 1)
    bucket.take(95, 1)
    bucket.learn(100, 3, 9.7, 10)
    assert bucket.wait_s(1, 11.5) == 0
    assert bucket.wait_s(30, 11.5) > 0


async def test_what_a_call_used_beyond_what_was_known_is_debited_once():
    """Ten tokens are known of each call, and ninety come on top: of 1,000 left, ten calls can be paid."""
    account = Limits(100, clock=Clock()).account("api")
    counted = RateLimits(tokens_limit=1000, tokens_remaining=1000, tokens_reset_s=60)
    for _ in range(5):  # so many say what usually comes on top
        account.release(await account.acquire(0, 10), None, None, 90)
    account.release(await account.acquire(0, 10), None, counted, 90)
    for _ in range(10):
        permit = await asyncio.wait_for(account.acquire(0, 10), 20)
        account.release(permit, None, None, 90)
    waiting = asyncio.create_task(account.acquire(0, 10))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
