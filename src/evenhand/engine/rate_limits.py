"""How fast an account may be asked. Two things hold a call back; neither knows of the other.

*Headers*: requests and tokens, as the answers' headers count them (see `HeaderBucket`).
*Pace*: what is learned from refusals, for vendors whose headers say nothing (see `pace`). The call that was refused
waits as long as it was told to, always: that is in `retry_pauses`. The others wait only where there is evidence that
the account is at its limit.

Two things end it: a vendor that wants to be left alone for longer than anybody waits, and one from which nothing but
failures has come for a while. A burst of failures in the first moment is neither.

Failures may also be a matter of some cases, which the vendor always fails on. So an account from which nothing but
failures has come is first *doubted*: trials that have failed there are left for later, and others are tried. Where
these fail too, the account has failed for good. Where it answers them, or has answered before, the trials that were
left are asked once more at the end of the run, and what fails then is an error of theirs (`insist`).

The intent to send a call is durable before the call is sent, which takes as long as the disk does. Where an account
lets only so many calls through, a place would stay free for that long after each answer: with answers of 100 ms, a
tenth of the time. So the next calls are written down while they wait for a place (`NextUp`). They are few: of a run
that is killed meanwhile, nobody can say whether they were sent.

Waiting calls are let through by priority (trials begun earlier first), then in order of arrival. Where a permit is free
and nothing holds, `acquire` makes no task, no future and no timer.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import random
from asyncio import sleep
from collections.abc import Callable
from time import monotonic

from msgspec import field

from evenhand.core.errors import (
    BadRequest,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unreachable,
)
from evenhand.core.provider import RateLimits
from evenhand.core.record import MutableRecord, Record
from evenhand.core.wording.words import age_in_words
from evenhand.engine.flow import Mean
from evenhand.engine.opening import Closing
from evenhand.engine.pace import Pace, Permit
from evenhand.engine.retry_pauses import RetryPolicy

STEADY = 0.2
"""How far the seconds that a unit takes to come back may differ between two headers of a bucket that refills."""
MINUTE_S = 60.0
COUNTED = 10
"""Headers count whole units. Of fewer, a part of one is too much to compare them."""
NEARLY = 0.25
"""The time in which a bucket by the minute fills may be so far from a minute: vendors round the seconds."""


class HeaderBucket(MutableRecord):
    """Requests or tokens that a vendor hands out, as the headers of its answers say.

    What is sent is debited until the next header, as that one counts only what has arrived. Within one window a header
    is believed only downwards, because answers overtake each other. Some vendors hand out a window's worth at once when
    it begins; others refill all the time, and name the second at which the bucket will be full. Two headers tell them
    apart: in a bucket that refills, twice as much used takes twice as long to come back.

    Vendors may count by the minute and enforce by the second. Then a header says that there is enough, and calls are
    refused all the same. What comes in a second is the pace to keep to (see `pace`).

    Attributes:
        remaining: How many were left at the last header, less what was debited since; infinite where nothing is known.
        resets_at: When the window ends or the bucket is full, and what is known with it.
        refill: How many come in a second, as measured; 0 where they come all at once.
        a_second: How many come in a second, where a limit by the minute refills all the time; 0 where it does not, or
            is by the day: that reserve may be used much faster.
    """

    remaining: float = float("inf")
    resets_at: float = 0.0
    refill: float = 0.0
    a_second: float = 0.0
    _counted_at: float = 0.0
    _used: float = 0.0
    _back_in_s: float = 0.0

    def learn(
        self, limit: float | None, remaining: float | None, reset_s: float | None, now: float
    ) -> None:
        """Takes what a header says."""
        if remaining is None or reset_s is None or reset_s <= 0:
            return
        if limit is not None and remaining < limit:
            self._compare(limit, limit - remaining, reset_s)
        if now >= self.resets_at or remaining < self._level(now):
            self.remaining, self._counted_at = remaining, now
            self.resets_at = now + reset_s
        elif self.refill:  # the count holds, and goes on until the bucket is full
            self.resets_at = max(self.resets_at, now + reset_s)

    def take(self, amount: float, now: float) -> None:
        """Debits."""
        if now < self.resets_at:
            self.remaining -= amount

    def give_back(self, amount: float, taken_at: float) -> None:
        """What was debited then is not used after all. A header that has come since has not counted it."""
        if self._counted_at <= taken_at:
            self.remaining += amount

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until this much may be taken; 0 for now."""
        if now >= self.resets_at:
            return 0.0
        missing = amount - self._level(now)
        if missing <= 0:
            return 0.0
        until_reset = self.resets_at - now
        return min(until_reset, missing / self.refill) if self.refill else until_reset

    def _level(self, now: float) -> float:
        return self.remaining + self.refill * (now - self._counted_at)

    def _compare(self, limit: float, used: float, reset_s: float) -> None:
        if not self._used:
            self.a_second = _by_minute(limit, reset_s, used - 1, used)
        if used < min(COUNTED, limit / 2):
            return
        if self._used <= used < 2 * self._used:
            return  # too near each other to tell
        if used >= 2 * self._used > 0:
            before = self._back_in_s / self._used
            steady = abs(reset_s / used - before) <= STEADY * before
            self.refill = used / reset_s if steady else 0.0
            self.a_second = _by_minute(limit, reset_s, used, used) if steady else 0.0
        self._used, self._back_in_s = used, reset_s


def _by_minute(limit: float, reset_s: float, least: float, most: float) -> float:
    """What comes in a second, if a bucket of which so much is used would fill in a minute; else 0."""
    fills_in_s = limit * reset_s / most
    longest_s = limit * reset_s / least if least > 0 else float("inf")
    if fills_in_s > (1 + NEARLY) * MINUTE_S or longest_s < (1 - NEARLY) * MINUTE_S:
        return 0.0
    return limit / MINUTE_S


READY_S = 0.1
"""Where time holds calls back, so much of it is enough to write the next ones down."""
SATURATED = 0.8
"""The share of the width that is as good as all of it: some calls are always between two attempts."""
LATE_S = 0.0001
"""A timer that fires too early finds nothing to do, and is set again."""
LATEST = 100
"""Calls whose tokens are looked at for what the next one is likely to use."""
ENOUGH = 5
"""A mean of fewer of them says nothing."""
FAILURES = 30
"""Attempts in a row before an account is doubted; from then on, as many trials that fail at once end it."""
PATIENCE_S = 5.0
SILENCE_S = 60.0
_DAYS_S, _YEAR_S = 48 * 3600.0, 365 * 86_400.0

Clock = Callable[[], float]


class NextUp:
    """The calls to an account that are next, by priority, then in order of arrival.

    Args:
        most: How many may be written down before they may be sent; one always may.
    """

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._ready = 0
        self._arrivals = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    def __len__(self) -> int:
        """How many wait to be among the next ones."""
        return len(self._waiting)

    async def come(self, priority: int) -> None:
        """Waits until a call is among the next ones. Whoever comes has to go."""
        if not self._waiting and self._ready < max(1, self._most()):
            self._ready += 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (priority, self._arrivals, future))
        self._let_up()
        try:
            await future
        except BaseException:
            if not future.cancel() and not future.cancelled():  # it had its place already
                self.go()
            raise

    def go(self) -> None:
        """The call may be sent now, or never will be."""
        self._ready -= 1
        self._let_up()

    def _let_up(self) -> None:
        while self._waiting and self._ready < max(1, self._most()):
            *_, future = heapq.heappop(self._waiting)
            if not future.done():
                self._ready += 1
                future.set_result(None)


class Account:
    """The limits of one account at one vendor.

    Args:
        name: For messages.
        ceiling: The in-flight limit never grows past this.
        start: Where it begins.
        clock: Monotonic seconds.
        draw: Randomness for jitter.
    """

    def __init__(
        self,
        name: str,
        ceiling: int,
        start: int,
        policy: RetryPolicy,
        clock: Clock = monotonic,
        draw: random.Random | None = None,
    ) -> None:
        self.name = name
        self.pace = Pace(ceiling, start)
        self.in_flight = 0
        self.next_up = NextUp(self._most_ready)
        self._policy = policy
        self._clock = clock
        self._draw = draw or random.Random()  # noqa: S311 (jitter, not a secret)
        self._requests = HeaderBucket()
        self._tokens = HeaderBucket()
        self._unforeseen = Mean(LATEST)
        self._fatal: ProviderError | None = None
        self._waiters: list[tuple[int, int, int, str, asyncio.Future[Permit]]] = []
        self._arrivals = 0
        # uvloop's handle of a time that is nearly now does not say when, so that is kept beside it.
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        self._failures = 0
        self._failing_since = 0.0
        self._answered_at: float | None = None
        self._failing: set[tuple[int, str]] = set()  # trials, and which model failed them
        self._doubt: Unreachable | None = None
        self._doubted_since = 0.0
        self._failed_at_once = 0
        self._left_some = self._insists = False

    async def acquire(self, priority: int, tokens: int, model: str = "") -> Permit:
        """Waits until a call may be sent. Every permit has to be given back: released, withdrawn or forgotten.

        Args:
            priority: The place of its trial: lower ones go first.
            tokens: What it will use, as far as that is known.
            model: Who is asked. Another model of the account may answer where this one is down.

        Raises:
            ProviderError: The account has failed for good, or is doubted and this model has failed this trial.
        """
        if self._fatal is not None:
            raise self._fatal
        if self._doubt is not None and (priority, model) in self._failing:
            raise self._doubt
        tokens += self._usually_more()
        now = self._clock()
        if not self._waiters and self._admits(tokens, now):
            return self._admit(priority, tokens, model, now)
        future: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiters, (priority, self._arrivals, tokens, model, future))
        try:
            self._wake()
            return await future
        except BaseException as error:
            # Nobody waits for it any more: no permit may go there, and one that it has goes back.
            if not (future.cancel() or future.cancelled()) and future.exception() is None:
                self.withdraw(future.result())
            elif isinstance(error, asyncio.CancelledError):
                self._wake()  # it may have been the one that held up the others
            raise

    async def passable(self, permit: Permit) -> None:
        """Waits while the account is closed, if it has closed since the permit was given. The call is sent right after.

        Raises:
            ProviderError: The account has failed for good.
        """
        while self._fatal is None:
            wait = self.pace.closing.until - self._clock()
            if wait <= 0:
                permit.sent_at = self._clock()
                return
            await sleep(wait)
        raise self._fatal

    def release(
        self, permit: Permit, error: ProviderError | None, rates: RateLimits | None, tokens: int
    ) -> None:
        """Gives the permit back and learns from what became of the call.

        Args:
            permit: What `acquire` gave.
            error: How the attempt failed; None for an answer.
            rates: What the answer's headers said.
            tokens: What the call used beyond what `acquire` was told; 0 when it is not known. Where the headers count
                tokens, they have counted these. The next calls are debited as much more on average.
        """
        try:
            self._learn(permit, error, rates, tokens)
        finally:
            self._give_back()

    def withdraw(self, permit: Permit) -> None:
        """Gives the permit back, with what was debited for it: nothing was sent."""
        self.pace.withdrawn(permit)
        self._requests.give_back(1, permit.sent_at)
        self._tokens.give_back(permit.tokens, permit.sent_at)
        self._give_back()

    def forget(self, permit: Permit) -> None:
        """Gives the permit back: nobody will know what became of the call."""
        del permit  # what was debited for it stays so
        self.pace.opening.failed()
        self._give_back()

    def fail(self, error: ProviderError) -> None:
        """Nothing is sent to this account any more: all who wait, and all who come, get this error."""
        if self._fatal is None:
            self._fatal = error
        waiters, self._waiters = self._waiters, []
        for *_, future in waiters:
            _turn_away(future, self._fatal)

    def insist(self) -> bool:
        """Has the calls that were left asked again, for the last time. False where there are none, or no answers."""
        if not self._left_some or self._insists or self._answered_at is None or self._fatal:
            return False
        self._insists = True
        self._doubt = None
        self.pace.closing = Closing()  # each call has its own attempts now
        return True

    def retry_in(self, error: ProviderError, attempts: int, seconds: float) -> float | None:
        """Seconds to pause before trying again; None to give up.

        Raises:
            ProviderError: The account has failed for good: that is no fault of this call.
        """
        if self._fatal is not None:
            raise self._fatal
        most = self._policy.attempts
        if most > 1 and isinstance(error, Overloaded) and self.pace.closing.closed_at is not None:
            # It was sent to see whether the vendor has recovered, on behalf of all: that is no attempt of its own.
            attempts = min(attempts, most - 1)
        return self._policy.pause(error, attempts, seconds, self._draw)

    def waiting(self) -> str:
        """What holds calls up, for people; empty for nothing."""
        now = self._clock()
        left = self.pace.closing.until - now
        if left > 0:
            return f"{self.name} paused, resumes in {math.ceil(left)} s"
        if self._waiters and not self.in_flight:
            left = self._header_wait_s(self._waiters[0][2], now)
            if left >= 1:
                return f"{self.name}: the limit is used up, as its headers say; resumes in {left:.0f} s"
        return ""

    # What holds calls back

    def _admits(self, tokens: int, now: float) -> bool:
        return (
            self.pace.admits(tokens, self.in_flight, now) and self._header_wait_s(tokens, now) == 0
        )

    def _header_wait_s(self, tokens: int, now: float) -> float:
        """Seconds until the headers have room for a call.

        Where that is longer than anybody waits, as for a day's limit, the call is sent: its refusal is told, and ends.
        """
        wait = max(self._requests.wait_s(1, now), self._tokens.wait_s(tokens, now))
        return wait if wait <= self._policy.longest_wait_s else 0.0

    def _most_ready(self) -> int:
        """How many of the next calls may be written down: as many as may go while one is."""
        pace, requests = self.pace, self._requests
        if pace.flow.rate is not None:
            return 1 + int(pace.flow.rate * READY_S)
        if requests.resets_at or pace.closing.closed_at is not None or not pace.opening.over:
            now = self._clock()
            if max(pace.wait_s(0, now), requests.wait_s(1, now)) > READY_S:
                return 1
        return int(pace.width)

    def _usually_more(self) -> int:
        """The tokens that a call uses beyond what is known beforehand."""
        return int(self._unforeseen.mean) if self._unforeseen.count >= ENOUGH else 0

    def _admit(self, trial: int, tokens: int, model: str, now: float) -> Permit:
        self.in_flight += 1
        if self._requests.resets_at or self._tokens.resets_at:
            self._requests.take(1, now)
            self._tokens.take(tokens, now)
        permit = self.pace.permit(tokens, self.in_flight, now)
        permit.trial, permit.model = trial, model
        return permit

    def _is_saturated(self) -> bool:
        """Whether all that may be sent is sent, so that a higher limit would be used."""
        return bool(self._waiters or self.next_up) or self.in_flight >= SATURATED * int(
            self.pace.width
        )

    def _give_back(self) -> None:
        self.in_flight -= 1
        if self._waiters:
            self._wake()

    def _wake(self) -> None:
        """Lets through whoever may go; sets a timer for the next one where only time is in the way."""
        now = self._clock()
        while self._waiters:
            trial, _, tokens, model, future = self._waiters[0]
            if future.done():
                heapq.heappop(self._waiters)
                continue
            if not self._admits(tokens, now):
                break
            heapq.heappop(self._waiters)
            future.set_result(self._admit(trial, tokens, model, now))
        if not self._waiters:
            return
        tokens = self._waiters[0][2]
        wait = max(self.pace.wait_s(tokens, now), self._header_wait_s(tokens, now))
        if wait <= 0:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + wait + LATE_S
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = loop.call_at(at, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self._wake()

    # Learning

    def _learn(
        self, permit: Permit, error: ProviderError | None, rates: RateLimits | None, tokens: int
    ) -> None:
        now = self._clock()
        if rates is not None:
            self._requests.learn(
                rates.requests_limit, rates.requests_remaining, rates.requests_reset_s, now
            )
            self.pace.named = self._requests.a_second
            self._tokens.learn(
                rates.tokens_limit, rates.tokens_remaining, rates.tokens_reset_s, now
            )
        if rates is None or rates.tokens_remaining is None:
            self._tokens.take(tokens - self._usually_more() if tokens else 0, now)
        if error is None:
            if tokens:
                self._unforeseen.add(tokens)
            self._answered_at = now
            self._failures = 0
            self._failing.clear()
            self._doubt = None
            self.pace.accepted(permit, now, saturated=self._is_saturated())
        else:
            if not self._insists:
                self._lose_patience(permit, error, now)
            wait_s = error.retry_after_s
            if wait_s is not None and error.retryable and wait_s > self._policy.longest_wait_s:
                self.fail(_sent_away(self.name, error, wait_s))
            elif isinstance(error, RateLimited):
                self.pace.refused(permit, self.in_flight - 1, now, wait_s)
            elif isinstance(error, Overloaded) and not self._insists:
                self.pace.overloaded(now, wait_s)
            else:
                self.pace.opening.failed()

    def _lose_patience(self, permit: Permit, error: ProviderError, now: float) -> None:
        """Doubts the account once nothing has come through for a while, and fails it where trials fail at once then."""
        if isinstance(error, (RateLimited, BadRequest)) or error.fatal:
            return
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        call = permit.trial, permit.model
        at_once = call not in self._failing
        self._failing.add(call)
        if self._doubt is not None:
            # What was under way when it was doubted says nothing new.
            self._failed_at_once += at_once and permit.sent_at >= self._doubted_since
            if self._failed_at_once >= FAILURES:
                self._doubt.for_good = True
                self.fail(self._doubt)
            return
        if self._answered_at is None:
            silent = now - self._failing_since >= PATIENCE_S
        else:
            silent = now - self._answered_at > SILENCE_S
        if self._failures >= FAILURES and silent:
            self._doubt, self._doubted_since = self._unreachable(error), now
            self._doubt.for_good = False
            self._failed_at_once, self._left_some = 0, True
            for trial, _, _, model, future in self._waiters:
                if (trial, model) in self._failing:
                    _turn_away(future, self._doubt)

    def _unreachable(self, error: ProviderError) -> Unreachable:
        return Unreachable(
            f"{self.name} did not answer {self._failures} attempts in a row; the last: {error.message}",
            hint=error.hint
            or "Look whether the address is right and the service is up, then resume.",
            status=error.status,
        )


def _turn_away(waiter: asyncio.Future[Permit], error: ProviderError) -> None:
    if not waiter.done():
        waiter.set_exception(error)
        waiter.exception()  # it may be gone; its loop need not hear of it


def _sent_away(name: str, error: ProviderError, seconds: float) -> ProviderError:
    """What a wait that is too long for anybody comes to."""
    kind = QuotaExhausted if isinstance(error, RateLimited) else Unreachable
    if seconds >= _DAYS_S:
        span = age_in_words(seconds) if seconds < _YEAR_S else "more than a year"
    else:
        span = f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
    return kind(
        f"{name} asks to be left alone for {span}: {error.message}",
        hint="`evenhand resume` after that time continues where it stopped.",
        status=error.status,
    )


class Limits(Record, frozen=True):
    """The accounts of one run.

    Attributes:
        ceiling: The most calls in flight on any one account.
        start: How many at first; None for as many.
        clock: Monotonic seconds.
        draw: Randomness for jitter.
    """

    ceiling: int
    start: int | None = None
    policy: RetryPolicy = RetryPolicy()
    clock: Clock = monotonic
    draw: random.Random | None = None
    _accounts: dict[str, Account] = field(default_factory=dict[str, Account])

    def account(self, name: str) -> Account:
        """The account of this name; made when first asked for."""
        account = self._accounts.get(name)
        if account is None:
            account = Account(
                name.split("#", maxsplit=1)[0].strip(),
                self.ceiling,
                self.start or self.ceiling,
                self.policy,
                self.clock,
                self.draw,
            )
            self._accounts[name] = account
        return account

    def insist(self) -> bool:
        """Has calls that were left at accounts that answer others asked again, for the last time; False for none."""
        insisting = [account.insist() for account in self._accounts.values()]  # each of them
        return any(insisting)

    def waiting(self) -> str:
        """What holds the run up, for people; empty for nothing."""
        return "; ".join(filter(None, (account.waiting() for account in self._accounts.values())))
