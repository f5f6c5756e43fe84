"""How fast an account may be asked. Three things hold a call back; each knows nothing of the others.

*Gate*: a vendor that says "come back in 7 seconds" is not asked again by anybody before that, and then by few at first.
*Buckets*: requests and tokens per minute, as the answers' headers tell them. Headers are believed only downwards, and
only until they say the window resets.
*In-flight limit*: additive increase, multiplicative decrease, for vendors that say nothing. It doubles from round to
round until the first cut, then grows by a twentieth; it grows only while it is nearly used up (a limit that nobody
reaches has not been tested); all the 429s of one episode cut it once, to 0.7 of what it was. Faults of the vendor's own
(5xx, lost connections) are not a sign of asking too often: they hold growth and pause callers, but cut nothing.

Two things end it: a vendor that wants to be left alone for longer than anybody waits, and one from which nothing but
failures has come for a while. A burst of failures in the first moment is neither.

Waiting calls are let through by priority (trials begun earlier first), then in order of arrival. Where a permit is free
and nothing holds, `acquire` makes no task, no future and no timer.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from evenhand.core.errors import (
    BadRequest,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unreachable,
)
from evenhand.core.provider import RateLimits
from evenhand.engine.retry import RetryPolicy

CUT = 0.7
EPISODE_S = 15.0
SATURATED = 0.8
GROWTH = 0.05
RAMP_S = 1.0
FAILURES = 30
PATIENCE_S = 5.0
SILENCE_S = 60.0

Clock = Callable[[], float]


@dataclass(slots=True)
class Bucket:
    """Permits that a vendor hands out per window, as its headers told it.

    Attributes:
        remaining: How many are left, by our own count since the last header; infinite when nothing is known.
        resets_at: When the window ends and our knowledge with it.
    """

    remaining: float = float("inf")
    resets_at: float = 0.0

    def learn(self, remaining: float | None, reset_s: float | None, now: float) -> None:
        """Takes what a header says; within one window only downwards, as answers overtake each other."""
        if remaining is None or reset_s is None or reset_s <= 0:
            return
        if now >= self.resets_at or remaining < self.remaining:
            self.remaining = remaining
            self.resets_at = now + reset_s

    def take(self, amount: float, now: float) -> None:
        """Debits."""
        if now < self.resets_at:
            self.remaining -= amount

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until this much may be taken; 0 for now."""
        if now >= self.resets_at or self.remaining >= amount:
            return 0.0
        return self.resets_at - now


class Account:
    """The limits of one account at one vendor.

    Args:
        name: For messages.
        ceiling: The in-flight limit never grows past this.
        start: Where it begins.
        policy: When to try again.
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
        self.limit: float = float(min(start, ceiling))
        self.in_flight = 0
        self._ceiling = ceiling
        self._policy = policy
        self._clock = clock
        self._draw = draw or random.Random()  # noqa: S311 (jitter, not a secret)
        self._requests = Bucket()
        self._tokens = Bucket()
        self._opens_at = 0.0
        self._ramp_from = float("-inf")
        self._fatal: ProviderError | None = None
        self._waiters: list[tuple[int, int, int, asyncio.Future[None]]] = []
        self._arrivals = 0
        self._timer: asyncio.TimerHandle | None = None
        self._slow_start = True
        self._round = 0
        self._clean = True
        self._cut_until = float("-inf")
        self._failures = 0
        self._failing_since = 0.0
        self._answered_at: float | None = None

    async def acquire(self, priority: int, tokens: int) -> None:
        """Waits until a call may be sent. Every acquire needs a release.

        Raises:
            ProviderError: The account has failed for good.
        """
        if self._fatal is not None:
            raise self._fatal
        if not self._waiters and self._admits(tokens, self._clock()):
            self._admit(tokens)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiters, (priority, self._arrivals, tokens, future))
        self._wake()
        try:
            await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._wake()  # it may have been the one that held up the others
            elif future.exception() is None:
                self._give_back()  # let through and cancelled in the same moment
            raise

    async def passable(self) -> None:
        """Returns at once unless the gate has closed since the permit was given; then waits for it to open.

        Raises:
            ProviderError: The account has failed for good.
        """
        while self._fatal is None:
            wait = self._opens_at - self._clock()
            if wait <= 0:
                return
            await asyncio.sleep(wait)
        raise self._fatal

    def release(self, error: ProviderError | None, rates: RateLimits | None, tokens: int) -> None:
        """Gives the permit back and learns from what became of the call.

        Args:
            error: How the attempt failed; None for an answer.
            rates: What the answer's headers said.
            tokens: What the call used beyond what was debited for it; 0 when it is not known. Where the headers
                count tokens, they have counted these.
        """
        now = self._clock()
        if rates is not None:
            self._requests.learn(rates.requests_remaining, rates.requests_reset_s, now)
            self._tokens.learn(rates.tokens_remaining, rates.tokens_reset_s, now)
        if rates is None or rates.tokens_remaining is None:
            self._tokens.take(tokens, now)
        if error is None:
            self._answered_at = now
            self._failures = 0
            self._grow()
        else:
            self._clean = False
            self._lose_patience(error, now)
            if error.retry_after_s is not None and error.retryable:
                if error.retry_after_s > self._policy.longest_wait_s:
                    self.fail(_sent_away(self.name, error, error.retry_after_s))
                else:
                    self._close(now + error.retry_after_s)
            if isinstance(error, RateLimited):
                self._cut(now, error.retry_after_s)
        self._give_back()

    def withdraw(self) -> None:
        """Gives the permit back: nothing was sent."""
        self._give_back()

    def fail(self, error: ProviderError) -> None:
        """Nothing is sent to this account any more: all who wait, and all who come, get this error."""
        if self._fatal is None:
            self._fatal = error
        waiters, self._waiters = self._waiters, []
        for *_, future in waiters:
            if not future.done():
                future.set_exception(self._fatal)
                future.exception()  # a waiter may be gone; its loop need not hear of it

    def retry_in(self, error: ProviderError, attempts: int, seconds: float) -> float | None:
        """Seconds to pause before trying again; None to give up."""
        return self._policy.pause(error, attempts, seconds, self._draw)

    def waiting(self) -> str:
        """What holds calls up, for people; empty for nothing."""
        left = self._opens_at - self._clock()
        if left > 0:
            return f"{self.name} throttled, resumes in {left:.0f} s"
        return ""

    # The three holds

    def _admits(self, tokens: int, now: float) -> bool:
        return (
            self.in_flight < int(self.limit)
            and now >= self._opens_at
            and (now - self._ramp_from >= RAMP_S or self.in_flight < self._ramp_limit(now))
            and self._requests.wait_s(1, now) == 0
            and self._tokens.wait_s(tokens, now) == 0
        )

    def _ramp_limit(self, now: float) -> float:
        """After the gate opens, a few are let through at first, all of them a second later."""
        return max(1.0, self.limit * (now - self._ramp_from) / RAMP_S)

    def _admit(self, tokens: int) -> None:
        self.in_flight += 1
        if self._requests.resets_at or self._tokens.resets_at:
            now = self._clock()
            self._requests.take(1, now)
            self._tokens.take(tokens, now)

    def _give_back(self) -> None:
        self.in_flight -= 1
        if self._waiters:
            self._wake()

    def _wake(self) -> None:
        """Lets through whoever may go; sets a timer for the next one where only time is in the way."""
        now = self._clock()
        while self._waiters:
            _, _, tokens, future = self._waiters[0]
            if future.done():
                heapq.heappop(self._waiters)
                continue
            if not self._admits(tokens, now):
                break
            heapq.heappop(self._waiters)
            self._admit(tokens)
            future.set_result(None)
        if not self._waiters:
            return
        tokens = self._waiters[0][2]
        wait = max(
            self._opens_at - now,
            self._requests.wait_s(1, now),
            self._tokens.wait_s(tokens, now),
            0.02 if now - self._ramp_from < RAMP_S else 0.0,
        )
        if wait <= 0:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + wait + 0.001
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self._wake()

    # Learning

    def _close(self, until: float) -> None:
        if until > self._opens_at:
            self._opens_at = until
            self._ramp_from = until

    def _lose_patience(self, error: ProviderError, now: float) -> None:
        """Fails the account once nothing has come through for a while: repeating it only adds load."""
        if isinstance(error, (RateLimited, BadRequest)) or error.fatal:
            return
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        if self._answered_at is None:
            silent = now - self._failing_since >= PATIENCE_S
        else:
            silent = now - self._answered_at > SILENCE_S
        if self._failures >= FAILURES and silent:
            self.fail(
                Unreachable(
                    f"{self.name} did not answer {self._failures} attempts in a row; the last: {error.message}",
                    hint=error.hint
                    or "Look whether the address is right and the service is up, then resume.",
                    status=error.status,
                )
            )

    def _cut(self, now: float, retry_after_s: float | None) -> None:
        if now < self._cut_until:
            return
        self._cut_until = now + max(EPISODE_S, retry_after_s or 0.0)
        self._slow_start = False
        self.limit = max(1.0, self.limit * CUT)

    def _grow(self) -> None:
        """Counts a clean answer. A round is as many answers as the limit lets through at once."""
        if self.limit >= self._ceiling:
            return
        self._round += 1
        if self._round < self.limit:
            return
        saturated = self.in_flight >= SATURATED * int(self.limit) or bool(self._waiters)
        if self._clean and saturated:
            step = self.limit if self._slow_start else max(1.0, self.limit * GROWTH)
            self.limit = min(float(self._ceiling), self.limit + step)
        self._round = 0
        self._clean = True


def _sent_away(name: str, error: ProviderError, seconds: float) -> ProviderError:
    """What a wait that is too long for anybody comes to."""
    kind = QuotaExhausted if isinstance(error, RateLimited) else Unreachable
    span = f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
    return kind(
        f"{name} asks to be left alone for {span}: {error.message}",
        hint="`evenhand resume` after that time goes on where it stopped.",
        status=error.status,
    )


class Limits:
    """The accounts of one run.

    Args:
        ceiling: The most calls in flight on any one account.
        start: How many at first.
        policy: When to try again.
        clock: Monotonic seconds.
        draw: Randomness for jitter.
    """

    def __init__(
        self,
        ceiling: int,
        start: int | None = None,
        policy: RetryPolicy | None = None,
        clock: Clock = monotonic,
        draw: random.Random | None = None,
    ) -> None:
        self._ceiling = ceiling
        self._start = start or ceiling
        self._policy = policy or RetryPolicy()
        self._clock = clock
        self._draw = draw
        self._accounts: dict[str, Account] = {}

    def account(self, name: str) -> Account:
        """The account of this name; made when first asked for."""
        account = self._accounts.get(name)
        if account is None:
            account = Account(
                name.split("#", maxsplit=1)[0].strip(),
                self._ceiling,
                self._start,
                self._policy,
                self._clock,
                self._draw,
            )
            self._accounts[name] = account
        return account

    def waiting(self) -> str:
        """What holds the run up, for people; empty for nothing."""
        return "; ".join(filter(None, (account.waiting() for account in self._accounts.values())))
