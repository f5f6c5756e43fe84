"""Vendors with limits, in virtual time: how much of what they allow an account uses, and how often they refuse it.

How this works: a vendor decides in the moment a request reaches it, and answers some time later. Calls go through an
`Account` as those of a run do, all of them wanting to be sent at once, on a loop whose clock jumps to the next timer.
"""

from __future__ import annotations

import asyncio
import bisect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.unit.engine.conftest import FakeTime

from evenhand.core.errors import Overloaded, ProviderError, RateLimited
from evenhand.core.provider import RateLimits
from evenhand.engine.pace import Permit
from evenhand.engine.rate_limits import Account
from evenhand.engine.retry_pauses import RetryPolicy

ON_THE_WAY_S = 0.005
REFUSED_S = 0.015
WRITTEN_S = 0.01
CYCLE_S = WRITTEN_S + 0.1 + 2 * ON_THE_WAY_S
"""Of a call that nothing holds back, on average."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a vendor makes of a request as it arrives.

    Attributes:
        error: Why it is refused; None where it is taken.
        rates: What the headers say of the limits.
    """

    error: ProviderError | None = None
    rates: RateLimits | None = None


class Vendor(Protocol):
    """Decides about requests.

    Attributes:
        latency_s: The mean time that an answer takes.
    """

    latency_s: float

    def decide(self, tokens: int, now: float) -> Verdict:
        """What becomes of a request of so many tokens."""
        ...

    def answered(self) -> None:
        """A request that was taken has been answered."""
        ...

    def allowed(self, start: float, end: float) -> float:
        """How much could have been taken in this time; infinite where nothing is limited."""
        ...

    def counted(self, start: float, end: float) -> tuple[float, float]:
        """The part of this time that `allowed` counts."""
        ...


def refusal(seconds: float | None, *, overloaded: bool = False) -> ProviderError:
    """A 429, or a 529."""
    kind = Overloaded if overloaded else RateLimited
    return kind("too many", retry_after_s=seconds, status=529 if overloaded else 429, billed=False)


@dataclass
class TokenBucket:
    """So much a second, and a reserve for bursts.

    Attributes:
        rate: What comes in, a second; a function of the time where it changes.
        burst: The most that is kept.
        by_tokens: Tokens are counted, and not requests.
        says: `retry-after` in whole seconds, `headers`, or nothing.
    """

    rate: float | Callable[[float], float]
    burst: float
    by_tokens: bool = False
    says: str = ""
    latency_s: float = 0.1
    level: float = field(init=False)
    at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.level = self.burst

    def rate_at(self, now: float) -> float:
        """What comes in at this time."""
        return self.rate(now) if callable(self.rate) else self.rate

    def decide(self, tokens: int, now: float) -> Verdict:
        rate = self.rate_at(now)
        if self.at is not None:
            self.level = min(self.burst, self.level + (now - self.at) * rate)
        self.at = now
        amount = float(tokens) if self.by_tokens else 1.0
        taken = self.level >= amount
        if taken:
            self.level -= amount
        rates = None
        if self.says == "headers":
            full_in = (self.burst - self.level) / rate
            left = (self.burst, math.floor(self.level), full_in)
            rates = RateLimits(None, None, None, *left) if self.by_tokens else RateLimits(*left)
        if taken:
            return Verdict(rates=rates)
        wait = max(1.0, math.ceil((amount - self.level) / rate))
        return Verdict(refusal(wait if self.says else None), rates)

    def answered(self) -> None:
        pass

    def allowed(self, start: float, end: float) -> float:
        steps = 1000
        width = (end - start) / steps
        middle = (self.rate_at(start + (i + 0.5) * width) for i in range(steps))
        return sum(middle) * width + (0.0 if callable(self.rate) else self.burst)

    def counted(self, start: float, end: float) -> tuple[float, float]:
        return start, end + 1e-9


@dataclass
class BySecond(TokenBucket):
    """Headers count the minute, and it is enforced by the second, as at OpenAI."""

    says: str = "retry-after"
    used: float = field(default=0.0, init=False)
    counted_at: float = field(default=0.0, init=False)

    def decide(self, tokens: int, now: float) -> Verdict:
        verdict = super().decide(tokens, now)
        rate = self.rate_at(now)
        self.used = max(0.0, self.used - (now - self.counted_at) * rate)
        self.counted_at = now
        self.used += verdict.error is None
        left = math.floor(60 * rate - self.used)
        rates = RateLimits(60 * rate, left, round(self.used / rate, 3))
        return Verdict(verdict.error, rates)


@dataclass
class Windows:
    """So many requests a minute, counted anew on the minute."""

    limit: int
    says: str = ""
    latency_s: float = 0.1
    window_s: float = 60.0
    _window: float = field(default=-1.0, init=False)
    _taken: int = field(default=0, init=False)

    def decide(self, tokens: int, now: float) -> Verdict:
        del tokens
        window = now // self.window_s
        if window != self._window:
            self._window, self._taken = window, 0
        resets_in = (window + 1) * self.window_s - now
        taken = self._taken < self.limit
        self._taken += taken
        rates = None
        if self.says == "headers":
            rates = RateLimits(self.limit, self.limit - self._taken, resets_in)
        if taken:
            return Verdict(rates=rates)
        return Verdict(refusal(math.ceil(resets_in) if self.says else None), rates)

    def answered(self) -> None:
        pass

    def allowed(self, start: float, end: float) -> float:
        first, last = self.counted(start, end)
        return (last - first) / self.window_s * self.limit

    def counted(self, start: float, end: float) -> tuple[float, float]:
        return math.ceil(start / self.window_s) * self.window_s, math.floor(
            end / self.window_s
        ) * self.window_s


@dataclass
class InFlight:
    """So many at once."""

    limit: int
    says: str = ""
    latency_s: float = 0.1
    now_in: int = field(default=0, init=False)

    def decide(self, tokens: int, now: float) -> Verdict:
        del tokens, now
        if self.now_in >= self.limit:
            return Verdict(refusal(1.0 if self.says else None))
        self.now_in += 1
        return Verdict()

    def answered(self) -> None:
        self.now_in -= 1

    def allowed(self, start: float, end: float) -> float:
        return (end - start) * self.limit / (self.latency_s + 2 * ON_THE_WAY_S)

    def counted(self, start: float, end: float) -> tuple[float, float]:
        return start, end + 1e-9


@dataclass
class Shedding:
    """Refuses some requests at random, whoever asks how much.

    Attributes:
        share: How many of all requests.
        hostile: A function of the time where it refuses more.
    """

    share: float
    says: str = ""
    latency_s: float = 0.1
    overloaded: Callable[[float], bool] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def decide(self, tokens: int, now: float) -> Verdict:
        del tokens
        seconds = 1.0 if self.says else None
        if self.overloaded is not None and self.overloaded(now):
            return Verdict(refusal(seconds, overloaded=True))
        if self._draw.random() < self.share:
            return Verdict(refusal(seconds))
        return Verdict()

    def answered(self) -> None:
        pass

    def allowed(self, start: float, end: float) -> float:
        del start, end
        return math.inf

    def counted(self, start: float, end: float) -> tuple[float, float]:
        return start, end + 1e-9


@dataclass
class Bill:
    """What came of a client's calls.

    Attributes:
        accepted: When each was taken, and how much it counted.
        refused: When each refusal was.
        waits: For each call, the seconds from its first sending to its answer.
        early: Calls that were sent again before they had waited as long as they were told to.
        began: When the first was sent.
        ended: When the last was answered.
    """

    accepted: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    refused: list[float] = field(default_factory=list[float])
    waits: list[float] = field(default_factory=list[float])
    early: int = 0
    began: float = 0.0
    ended: float = 0.0

    def taken(self, start: float, end: float) -> float:
        """How much was taken in this time."""
        return sum(amount for at, amount in self.accepted if start <= at < end)

    def most_sent_in(self, seconds: float) -> int:
        """The most that was sent in any so many seconds, refused calls included."""
        sent = sorted([*(at for at, _ in self.accepted), *self.refused])
        return max(bisect.bisect_left(sent, at + seconds) - i for i, at in enumerate(sent))

    @property
    def refusals(self) -> float:
        """Refusals for each call that was taken."""
        return len(self.refused) / max(1, len(self.accepted))


class Client:
    """Sends calls to a vendor through an account, as a run does.

    Args:
        vendor: Whom.
        account: What holds calls back; None only pauses the refused call itself.
        loop: Whose clock counts.
        at_once: How many callers there are.
        seed: Of the latencies.
    """

    def __init__(
        self, vendor: Vendor, account: Account | None, loop: FakeTime, at_once: int, seed: int = 1
    ) -> None:
        self.vendor = vendor
        self.account = account
        self.loop = loop
        self.at_once = at_once
        self.bill = Bill()
        self._draw = random.Random(seed)
        self._policy = RetryPolicy()

    async def send(self, sizes: Sequence[tuple[int, int]]) -> Bill:
        """Sends a call for each pair: the tokens that are known beforehand, and those that are counted."""
        self.bill.began = self.loop.time()
        waiting = iter(enumerate(sizes))

        async def caller() -> None:
            for i, (known, counted) in waiting:
                await self._call(i, known, counted)

        await asyncio.gather(*(caller() for _ in range(self.at_once)))
        self.bill.ended = self.loop.time()
        return self.bill

    async def _call(self, index: int, known: int, counted: int) -> None:
        account, loop = self.account, self.loop
        attempts, first, not_before = 0, None, 0.0
        permit = None
        while True:
            if account is not None:
                permit = await self._admitted(account, index, known, is_first=not attempts)
                await account.passable(permit)
            attempts += 1
            now = loop.time()
            first = now if first is None else first
            self.bill.early += now < not_before - 1e-6
            error, rates = await self._ask(counted)
            if account is not None and permit is not None:
                account.release(permit, error, rates, 0 if error else counted - known)
            if error is None:
                self.bill.waits.append(loop.time() - first)
                return
            not_before = loop.time() + (error.retry_after_s or 0.0)
            seconds = loop.time() - first
            pause = (
                self._policy.pause(error, attempts, seconds, self._draw)
                if account is None
                else account.retry_in(error, attempts, seconds)
            )
            assert pause is not None, f"given up after {attempts} attempts"
            await asyncio.sleep(pause)

    async def _admitted(
        self, account: Account, index: int, known: int, *, is_first: bool
    ) -> Permit:
        """The permit for a call. As in a run, its intent takes a while to be durable before it is sent."""
        if not is_first:
            return await account.acquire(index, known)
        await account.next_up.come(index)
        try:
            await asyncio.sleep(WRITTEN_S)
            return await account.acquire(index, known)
        finally:
            account.next_up.go()

    async def _ask(self, tokens: int) -> tuple[ProviderError | None, RateLimits | None]:
        await asyncio.sleep(ON_THE_WAY_S)
        verdict = self.vendor.decide(tokens, self.loop.time())
        if verdict.error is not None:
            self.bill.refused.append(self.loop.time())
            await asyncio.sleep(REFUSED_S)
            return verdict.error, verdict.rates
        by_tokens = getattr(self.vendor, "by_tokens", False)
        self.bill.accepted.append((self.loop.time(), float(tokens) if by_tokens else 1.0))
        sigma = 0.3
        seconds = self.vendor.latency_s * self._draw.lognormvariate(-(sigma**2) / 2, sigma)
        await asyncio.sleep(seconds)
        self.vendor.answered()
        await asyncio.sleep(ON_THE_WAY_S)
        return None, verdict.rates


def even(count: int) -> list[tuple[int, int]]:
    """So many calls of the same size."""
    return [(100, 100)] * count


def uneven(count: int, seed: int = 1) -> list[tuple[int, int]]:
    """So many calls of very different sizes: what is known beforehand, and what is counted."""
    draw = random.Random(seed)
    sizes: list[tuple[int, int]] = []
    for _ in range(count):
        known = int(min(20_000, max(20, draw.lognormvariate(6, 1.3))))
        sizes.append((known, known + int(draw.lognormvariate(5, 1))))
    return sizes


def account_on(loop: FakeTime, at_once: int, seed: int = 1) -> Account:
    """An account on this loop's clock."""
    return Account("sim", at_once, at_once, RetryPolicy(), loop.time, random.Random(seed))
