"""What stands behind a worker's trials: the driver's journal, cache, limits and budget, at a distance.

How this works: whatever has to be so before a call is sent (money set aside, room at the account, the intent on disk)
is asked for, and waited for. So is what has to be so before a reply is seen: it is on the driver's disk. All else is
told and not waited for. A worker that hears nothing from its driver therefore sends nothing.

Whoever waits may be cancelled, and the answer comes all the same. Then what it gives is given back.
"""

from __future__ import annotations

import asyncio
import random
import time
from asyncio import sleep
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.core.errors import Overloaded, ProviderError
from evenhand.core.message import Reply
from evenhand.core.packed_steps import written_steps
from evenhand.core.provider import Provider, RateLimits, Request
from evenhand.core.run import CallEnd, CallStart, ToolRecord, TrialResult
from evenhand.core.secrets import known
from evenhand.engine.backing import Answers
from evenhand.engine.budget import NOTHING, Reservation
from evenhand.engine.calls import CallDesk
from evenhand.engine.pace import Permit
from evenhand.engine.rate_limits import NextUp
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.store.cache import CachedReply
from evenhand.store.decoding import read_result
from evenhand.store.encoding import write_result
from evenhand.wings.fleet.messages import Message, TrialOrder

Undo = Callable[[Any], None]


class DriverLine:
    """A worker's line to its driver.

    Args:
        send: Takes batches of messages; any thread may call it.
    """

    def __init__(
        self, send: Callable[[list[Message]], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._send = send
        self._loop = loop
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._undo: dict[int, Undo] = {}
        self._number = 0
        self._batch: list[Message] = []

    async def ask(self, what: str, *arguments: object, undo: Undo | None = None) -> Any:
        """What the driver answers.

        Args:
            undo: Gives back what an answer gave that comes when nobody waits any more.

        Raises:
            EvenhandError: What the driver raised.
        """
        self._number += 1
        number = self._number
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting[number] = future
        self.say(("ask", number, what, arguments))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                # It was answered in this very moment: what that gave goes back at once.
                if undo is not None:
                    undo(future.result())
            elif undo is not None:
                # The answer is still to come, and goes back when it is there.
                self._undo[number] = undo
            raise
        finally:
            self._waiting.pop(number, None)

    def tell(self, what: str, *arguments: object) -> None:
        """Says something that needs no answer. Any thread may."""
        message = ("tell", what, arguments)
        if asyncio._get_running_loop() is self._loop:  # noqa: SLF001 (documented for this)
            self.say(message)
        else:
            self._loop.call_soon_threadsafe(self.say, message)

    def say(self, message: Message) -> None:
        """Puts a message into the next batch."""
        self._batch.append(message)
        if len(self._batch) == 1:
            # What is said in one turn of the loop goes as one batch.
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._send(batch)

    def answered(self, number: int, value: object, error: BaseException | None) -> None:
        """An answer has come."""
        future = self._waiting.get(number)
        undo = self._undo.pop(number, None)
        if future is None or future.done():
            if undo is not None and error is None:
                undo(value)
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


class Open:
    """The places of the trials that a worker has to settle: all others are none of its business."""

    def __init__(self) -> None:
        self.orders: dict[int, TrialOrder] = {}

    def __contains__(self, index: int) -> bool:
        return index not in self.orders

    def __len__(self) -> int:
        return 0


class FarJournal:
    """The run file, at a distance. Implements `evenhand.engine.backing.RunJournal`.

    Args:
        open_: The trials that are to be settled.

    Attributes:
        resumed: Always, as a trial may come with what was answered to it before.
    """

    def __init__(self, line: DriverLine, open_: Open) -> None:
        self.resumed = True
        self._line = line
        self._open = open_
        self._known: dict[tuple[int, str, int], CallEnd] = {}
        self._again: set[int] = set()

    def expect(self, order: TrialOrder) -> None:
        """A trial is to be settled."""
        self._open.orders[order.index] = order
        for key, nth, end in order.known:
            self._known[order.index, key, nth] = end

    def forget(self, index: int) -> None:
        """A trial is over."""
        order = self._open.orders.pop(index, None)
        for key, nth, _ in order.known if order is not None else ():
            self._known.pop((index, key, nth), None)

    def settled(self) -> Open:
        return self._open

    def recorded(self, trial: int, key: str, nth: int) -> CallEnd | None:
        return self._known.get((trial, key, nth))

    def compared(self, trials: Sequence[int], key: str, nth: int) -> CallEnd | None:
        del trials, key, nth  # contests are held by the driver
        return None

    def answered(self, key: str, draw: str) -> CallEnd | None:
        del key, draw  # the driver looks when it is asked for the answer
        return None

    def result(self, index: int) -> TrialResult | None:
        del index
        return None

    def tool(self, trial: int, key: str, nth: int) -> ToolRecord | None:
        # Only trials that wait for batches run again, and they do in the driver.
        del (trial, key, nth)
        return None

    async def turn(self) -> None:
        """A worker waits for no batches."""

    def stale(self, index: int, after: Sequence[int]) -> bool:
        del index, after
        return False

    def again(self, index: int) -> None:
        self._again.add(index)

    def follow(self, index: int, after: Sequence[int]) -> None:
        del index, after  # the driver keeps the order

    async def begin(self, start: CallStart) -> int:
        return await self._line.ask("begin", start, undo=lambda call: self.drop(call, 0, 0))

    async def end(self, call: int, end: CallEnd) -> None:
        await self._line.ask("end", call, end)

    def drop(self, call: int, attempts: int, wasted: int) -> None:
        self._line.tell("drop", call, attempts, wasted)

    def note(self, start: CallStart, end: CallEnd) -> None:
        self._line.tell("note", start, end)

    def note_tool(self, record: ToolRecord) -> None:
        self._line.tell("note_tool", record)

    def note_code(self, name: str, code: str) -> None:
        self._line.tell("note_code", name, code)

    def note_unrecorded(self, call: str) -> None:
        self._line.tell("note_unrecorded", call)

    async def settle(self, result: TrialResult) -> TrialResult:
        data = write_result(result)
        steps = tuple(rows for _, rows in written_steps(result.steps, known))
        if result.index in self._again:
            self._again.discard(result.index)
            self._line.tell("correct", data, steps)
        else:
            self._line.say(("result", result.index, data, steps))
            self.forget(result.index)
        return read_result(data)


class FarAnswers:
    """The driver's cache: it is asked in `FarDesk`, before anything is paid for."""

    def __init__(self, line: DriverLine) -> None:
        self._line = line

    def get(self, key: str, draw: str) -> CachedReply | None:
        del key, draw
        return None

    def put(
        self,
        key: str,
        draw: str,
        identity: bytes,
        body: bytes,
        latency_s: float | None,
        first_byte_s: float | None = None,
    ) -> None:
        answer = key, draw, identity, body, latency_s, first_byte_s
        self._line.tell("put", *answer)

    def forget(self, key: str, draw: str) -> None:
        self._line.tell("take_out", key, draw)


_READY = 16
"""The next calls of a worker that may be written down before the driver lets them through."""


class FarAccount:
    """An account that the driver keeps. Implements `evenhand.engine.backing.CallAccount`."""

    def __init__(self, name: str, line: DriverLine, policy: RetryPolicy) -> None:
        self.name = name
        self._line = line
        self.next_up = NextUp(lambda: _READY)
        self._policy = policy
        self._draw = random.Random()  # noqa: S311 (jitter, not a secret)
        self._closed_until = 0.0

    def close_for(self, seconds: float) -> None:
        """The gate is closed for the whole fleet."""
        self._closed_until = time.monotonic() + seconds

    async def acquire(self, priority: int, tokens: int, model: str = "") -> Permit:
        give_back: Undo = lambda number: self.withdraw(Permit(number=number))  # noqa: E731
        return Permit(
            number=await self._line.ask(
                "acquire", self.name, priority, tokens, model, undo=give_back
            )
        )

    async def passable(self, permit: Permit) -> None:
        del permit
        while True:
            wait = self._closed_until - time.monotonic()  # it may be closed for longer meanwhile
            if wait <= 0:
                return
            await sleep(wait)

    def release(
        self, permit: Permit, error: ProviderError | None, rates: RateLimits | None, tokens: int
    ) -> None:
        self._line.tell("release", permit.number, error, rates, tokens)

    def withdraw(self, permit: Permit) -> None:
        self._line.tell("withdraw", permit.number)

    def forget(self, permit: Permit) -> None:
        self._line.tell("forget", permit.number)

    def fail(self, error: ProviderError) -> None:
        self._line.tell("fail", self.name, error)

    def retry_in(self, error: ProviderError, attempts: int, seconds: float) -> float | None:
        most = self._policy.attempts
        if most > 1 and isinstance(error, Overloaded) and self._closed_until > time.monotonic():
            attempts = min(
                attempts, most - 1
            )  # as in `engine.rate_limits`: it was sent on behalf of all
        return self._policy.pause(error, attempts, seconds, self._draw)


class FarLimits:
    """The accounts of the fleet. Implements `evenhand.engine.backing.CallLimits`."""

    def __init__(self, line: DriverLine, policy: RetryPolicy) -> None:
        self._line = line
        self._policy = policy
        self._accounts: dict[str, FarAccount] = {}

    def account(self, name: str) -> FarAccount:
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = FarAccount(name, self._line, self._policy)
        return account

    def insist(self) -> bool:
        return False  # the driver's to say

    def waiting(self) -> str:
        return ""


class FarReservation(Reservation, frozen=True, kw_only=True):
    """Money that the driver has set aside."""

    number: int


class FarBudget:
    """The budget of the fleet. Implements `evenhand.engine.backing.CallBudget`."""

    def __init__(self, line: DriverLine, *, limited: bool) -> None:
        self._line = line
        self.limited = limited
        self.spent_usd = 0.0

    async def when_free(
        self, bound_usd: float | None, provider: str, hidden_usd: float = 0.0
    ) -> Reservation:
        if not self.limited:
            return NOTHING
        number = await self._line.ask(
            "reserve", bound_usd, provider, hidden_usd, undo=lambda n: self._book(n, 0.0)
        )
        return FarReservation(0.0, number=number)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        number = reservation.number if isinstance(reservation, FarReservation) else 0
        if number or cost_usd:
            self._book(number, cost_usd)

    def _book(self, number: int, cost_usd: float | None) -> None:
        self._line.tell("book", number, cost_usd)


class FarDesk(CallDesk):
    """Answers the calls of a worker's trials: what another worker was answered, or is being, is not asked again."""

    line: DriverLine

    async def _pay(
        self, start: CallStart, provider: Provider, request: Request, cache: Answers | None = None
    ) -> tuple[Reply, bytes]:
        if cache is None:
            return await super()._pay(start, provider, request)
        key, draw = start.key, start.draw
        landed: Undo = lambda _: self.line.tell("landed", key, draw)  # noqa: E731
        reply = await self.line.ask("find", key, draw, undo=landed)
        if reply is not None:
            return self._taken(start, provider, request, reply), reply.body
        try:
            return await super()._pay(start, provider, request, cache)
        finally:
            landed(None)
