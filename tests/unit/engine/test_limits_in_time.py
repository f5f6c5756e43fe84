"""What limits come to as time goes by, on a loop whose clock jumps to the next timer."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.engine.asker import Asker

from evenhand.core.errors import (
    AuthError,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Unreachable,
)
from evenhand.core.provider import RateLimits
from evenhand.engine.opening import OVERLOADS
from evenhand.engine.rate_limits import FAILURES, PATIENCE_S, SILENCE_S, Limits
from evenhand.engine.retry_pauses import RetryPolicy


def account_on(loop, ceiling=4, start=4, **policy):
    """An account on this loop's clock."""
    return Asker(loop.time, ceiling, start, RetryPolicy(**policy))


def slow_down(seconds=None):
    """What a vendor says to one who asks too often."""
    return RateLimited("slow down", retry_after_s=seconds)


async def turns(count=3):
    """Lets the loop turn a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_waiting_calls_go_by_priority_then_by_arrival(timeline):
    """Trials begun earlier are finished first."""

    async def scenario():
        account = account_on(timeline, 1, 1)
        await account.ask(0, 0)
        order = []

        async def call(priority, name):
            await account.ask(priority, 0)
            order.append(name)
            account.answer()

        tasks = [
            asyncio.create_task(call(p, n)) for p, n in [(5, "e"), (2, "b1"), (9, "z"), (2, "b2")]
        ]
        await turns()
        account.answer()
        await asyncio.gather(*tasks)
        assert order == ["b1", "b2", "e", "z"]

    timeline.run(scenario())


def test_nobody_asks_an_account_that_is_closed_and_then_one_at_first(timeline):
    """All that was sent is refused: it stays closed as long as the vendor says, and no herd meets its opening."""

    async def scenario():
        account = account_on(timeline, 20, 20)
        await account.refuse(20, 7.0)
        assert account.waiting() == "api.example.com paused, resumes in 7 s"
        started = []

        async def call(i):
            await account.ask(i)
            started.append(timeline.now)
            await asyncio.sleep(0.1)
            account.answer()

        await asyncio.gather(*(call(i) for i in range(10)))
        assert started[0] >= 1007.0
        assert started[1] >= started[0] + 0.1
        assert account.waiting() == ""

    timeline.run(scenario())


def test_a_shorter_wait_does_not_open_an_account_that_is_closed_for_longer(timeline):
    """Answers overtake each other; the first wait holds."""

    async def scenario():
        account = account_on(timeline)
        account.pace.closing.close(timeline.now, 9.0)
        account.pace.closing.close(timeline.now, 1.0)
        await account.ask()
        assert timeline.now >= 1009.0

    timeline.run(scenario())


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (slow_down(86_400.0), QuotaExhausted, "left alone for 24.0 hours: slow down"),
        (slow_down(3 * 86_400.0), QuotaExhausted, "left alone for 3 days: slow down"),
        (slow_down(1e20), QuotaExhausted, "left alone for more than a year: slow down"),
        (
            Overloaded("upkeep", retry_after_s=3600.0),
            Unreachable,
            "left alone for 60 minutes: upkeep",
        ),
    ],
)
def test_a_vendor_that_asks_for_hours_ends_the_run_rather_than_holding_it(
    timeline, error, kind, says
):
    """All who wait and all who come are told to resume later."""

    async def scenario():
        account = account_on(timeline, 1, 1, longest_wait_s=60.0)
        await account.ask(0, 0)
        waiting = asyncio.create_task(account.ask(1, 0))
        await turns()
        account.answer(error)
        for call in (waiting, account.ask(2, 0)):
            with pytest.raises(kind, match=says):
                await call
        assert timeline.now == 1000.0

    timeline.run(scenario())


def test_the_width_is_never_less_than_one(timeline):
    """One call at a time always goes, in the end."""

    async def scenario():
        account = account_on(timeline, 2, 2)
        for _ in range(20):
            await account.refuse(1)
        assert account.pace.width >= 1.0
        await account.ask()

    timeline.run(scenario())


def test_a_width_that_is_used_up_doubles_up_to_the_ceiling(timeline):
    """Slow start, up to the ceiling and no further."""

    async def scenario():
        account = account_on(timeline, 30, 4)
        sizes = []
        for _ in range(6):
            busy = [asyncio.create_task(account.ask(0, 0)) for _ in range(60)]
            await turns()
            for _ in range(int(account.pace.width)):
                account.answer()
                await turns()
            sizes.append(int(account.pace.width))
            for task in busy:
                task.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
            while account.in_flight:
                account.give_up()
        assert sizes[0] == 8
        assert sizes[-1] == 30
        assert sizes == sorted(sizes)
        assert account.pace.width == 30

    timeline.run(scenario())


def test_faults_of_the_vendors_own_lower_nothing(timeline):
    """A 503 is no sign of asking too often; it only starts the count of good answers again."""

    async def scenario():
        account = account_on(timeline, 100, 4)
        for i in range(4):
            await account.ask(i)
        account.answer(Overloaded("busy", retry_after_s=3.0))
        for _ in range(3):
            account.answer()
        assert account.pace.width == 4
        assert account.waiting() == ""

    timeline.run(scenario())


def test_a_vendor_that_is_too_busy_for_several_calls_in_a_row_is_left_alone_for_as_long_as_it_says(
    timeline,
):
    """Fewer are an accident, after which only the call itself waits."""

    async def scenario():
        account = account_on(timeline, 20, 20)
        for i in range(OVERLOADS):
            await account.ask(i)
        for _ in range(OVERLOADS - 1):
            account.answer(Overloaded("busy", retry_after_s=3.0))
        assert account.waiting() == ""
        account.answer(Overloaded("busy", retry_after_s=3.0))
        assert account.waiting() == "api.example.com paused, resumes in 3 s"
        await account.ask()
        assert timeline.now >= 1003.0

    timeline.run(scenario())


def test_a_call_that_asks_whether_an_overload_is_over_uses_up_none_of_its_attempts(timeline):
    """Only while the account is closed for it; with no retries at all, there are none then either."""

    async def scenario():
        busy = Overloaded("busy")
        account = account_on(timeline, 50, 50)
        assert account.retry_in(busy, 6, 1) is None
        for _ in range(5):
            await account.ask(0, 0)
        for _ in range(5):
            account.answer(busy, None, 0)
        assert account.retry_in(busy, 6, 1) is not None
        assert account.retry_in(ConnectionFailed("gone"), 6, 1) is None
        assert account.retry_in(busy, 6, 901) is None
        once = account_on(timeline, 50, 50, attempts=1)
        once.pace.closing.close(timeline.now, None, overload=True)
        assert once.retry_in(busy, 1, 1) is None

    timeline.run(scenario())


def test_an_answer_to_a_call_that_was_sent_before_does_not_open_a_closed_account(timeline):
    """It says nothing of now: after the pause one call is sent, and not all that wait."""

    async def scenario():
        account = account_on(timeline, 50, 50)
        for _ in range(6):
            await account.ask(0, 0)
        for _ in range(5):
            account.answer(Overloaded("busy", retry_after_s=3), None, 0)
        account.answer(None, None, 0)
        waiting = [asyncio.create_task(account.ask(0, 0)) for _ in range(5)]
        await asyncio.sleep(4)
        assert sum(task.done() for task in waiting) == 1
        account.answer(None, None, 0)
        await asyncio.gather(*waiting)

    timeline.run(scenario())


def test_cancelling_one_who_waits_leaves_no_permit_behind(timeline):
    """Before it was let through, and in the very moment in which it was."""

    async def scenario():
        account = account_on(timeline, 1, 1)
        await account.ask(0, 0)
        waiting = asyncio.create_task(account.ask(1, 0))
        await turns()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert account.in_flight == 1
        chosen = asyncio.create_task(account.ask(1, 0))
        await turns()
        account.answer()  # lets it through …
        chosen.cancel()  # … and it is cancelled before it hears of it
        await asyncio.gather(chosen, return_exceptions=True)
        assert account.in_flight == 0
        await account.ask(2, 0)

    timeline.run(scenario())


def test_cancelling_the_one_that_holds_up_the_others_lets_them_go(timeline):
    """The first in the line waits for many tokens; when it leaves, those who need few go at once."""

    async def scenario():
        account = account_on(timeline)
        await account.ask(0, 0)
        account.answer(None, RateLimits(tokens_remaining=100, tokens_reset_s=60), 0)
        greedy = asyncio.create_task(account.ask(0, 5_000))
        await turns()
        modest = asyncio.create_task(account.ask(1, 10))
        await turns()
        assert not modest.done()
        greedy.cancel()
        await modest
        assert timeline.now < 1001.0

    timeline.run(scenario())


def test_tokens_beyond_the_guess_are_debited_when_the_answer_is_there(timeline):
    """A call that needs more than is left waits for the window's end; headers have counted what they count."""

    async def scenario():
        account = account_on(timeline, 50, 50)
        await account.ask(0, 0)
        await account.ask(0, 0)
        account.answer(None, RateLimits(tokens_remaining=1000, tokens_reset_s=10), 900)
        account.answer(None, None, 900)
        await account.ask(0, 100)
        assert timeline.now == 1000.0
        await account.ask(0, 1)
        assert timeline.now >= 1010.0

    timeline.run(scenario())


def test_what_calls_use_beyond_what_is_known_is_debited_beforehand_once_it_has_been_seen(timeline):
    """Five calls that used 900 tokens more than was known: the sixth waits for 1,000, although 100 are known."""

    async def scenario():
        account = account_on(timeline, 50, 50)
        for _ in range(5):
            await account.ask(0, 100)
            account.answer(None, RateLimits(tokens_remaining=999, tokens_reset_s=10), 900)
        assert timeline.now == 1000.0
        await account.ask(0, 100)
        assert timeline.now >= 1010.0

    timeline.run(scenario())


def test_a_reset_that_turns_out_to_be_sooner_wakes_those_who_wait_sooner(timeline):
    """A later header may say that the window ends earlier."""

    async def scenario():
        account = account_on(timeline, 50, 50)
        await account.ask(0, 0)
        await account.ask(0, 0)
        account.answer(None, RateLimits(requests_remaining=1, requests_reset_s=60), 0)
        await account.ask(0, 0)
        waiting = asyncio.create_task(account.ask(0, 0))
        await turns()
        account.answer(None, RateLimits(requests_remaining=-1, requests_reset_s=2), 0)
        await waiting
        assert timeline.now < 1003.0

    timeline.run(scenario())


def test_a_limit_that_headers_name_is_waited_for_and_told_or_left_to_a_refusal(timeline):
    """Nothing said why a run stood still, for a day if the limit was one by the day."""

    async def scenario(reset_s: float, told: str, until: float):
        began = timeline.now
        account = account_on(timeline, 1, 1)
        await account.ask(0, 0)
        account.answer(None, RateLimits(requests_remaining=0, requests_reset_s=reset_s), 0)
        waiting = asyncio.create_task(account.ask(1, 0))
        await turns()
        assert account.waiting() == told
        await waiting
        assert timeline.now - began == pytest.approx(until, abs=0.1)

    told = f"{account_on(timeline).name}: the limit is used up, as its headers say; resumes in 60 s"
    timeline.run(scenario(60.0, told, 60.0))
    timeline.run(scenario(86_400.0, "", 0.0))


def test_a_failed_account_tells_all_who_wait_and_all_who_come(timeline):
    """The first fatal error is the one that everybody hears."""

    async def scenario():
        account = account_on(timeline, 1, 1)
        await account.ask(0, 0)
        waiting = [asyncio.create_task(account.ask(i, 0)) for i in range(3)]
        gone = asyncio.create_task(account.ask(9, 0))
        await turns()
        gone.cancel()
        account.fail(AuthError("wrong key"))
        account.fail(Unreachable("too late"))
        heard = await asyncio.gather(*waiting, gone, return_exceptions=True)
        assert [type(e) for e in heard[:3]] == [AuthError] * 3
        with pytest.raises(AuthError, match="wrong key"):
            await account.ask(0, 0)
        account.give_up()
        assert account.in_flight == 0

    timeline.run(scenario())


def test_an_account_that_never_answers_is_given_up(timeline):
    """After so many failures in a row with nothing in between, asking on only adds load."""

    async def scenario():
        account = account_on(timeline)
        for i in range(FAILURES):
            await account.ask(i, 0)
            account.answer(ConnectionFailed("refused", hint="Is it up?"))
            timeline.now += PATIENCE_S / (FAILURES - 1)
        with pytest.raises(Unreachable, match=rf"did not answer {FAILURES} attempts.*refused") as e:
            await account.ask(0, 0)
        assert e.value.hint == "Is it up?"

    timeline.run(scenario())


def test_a_burst_of_failures_in_the_first_moment_is_not_the_end(timeline):
    """A hundred calls that all meet one hiccup are one hiccup."""

    async def scenario():
        account = account_on(timeline, 100, 100)
        for i in range(100):
            await account.ask(i, 0)
        for _ in range(100):
            account.answer(Overloaded("starting"))
        await account.ask(0, 0)
        account.answer()

    timeline.run(scenario())


def test_an_account_that_answered_a_moment_ago_is_not_given_up(timeline):
    """Only silence counts; rate limits and bad requests are answers of a kind."""

    async def scenario():
        account = account_on(timeline)
        await account.ask(0, 0)
        account.answer()
        for error in [Overloaded("busy")] * FAILURES + [BadRequest("no")] * FAILURES:
            await account.ask(0, 0)
            account.answer(error)
        await account.ask(0, 0)
        timeline.now += SILENCE_S + 1
        account.answer(Overloaded("busy"))
        with pytest.raises(Unreachable):
            await account.ask(0, 0)

    timeline.run(scenario())


def test_accounts_are_kept_by_name_and_shown_without_the_keys_fingerprint(timeline):
    """Two keys at one vendor are two accounts; people are shown the address."""
    limits = Limits(8, clock=timeline.time)
    one, two = limits.account("api.example #ab"), limits.account("api.example #cd")
    assert one is limits.account("api.example #ab")
    assert one is not two
    assert limits.waiting() == ""
    for account in (one, two):
        account.pace.closing.close(timeline.now, 4.0)
    assert limits.waiting() == "; ".join(["api.example paused, resumes in 4 s"] * 2)


def test_an_account_asks_its_policy_when_to_try_again(timeline):
    """The jitter is drawn from the account's own randomness."""
    account = account_on(timeline, attempts=3)
    pause = account.retry_in(Overloaded("busy"), 1, 0.0)
    assert pause is not None
    assert 0 <= pause <= 0.5
    assert account.retry_in(Overloaded("busy"), 3, 0.0) is None
