"""Does for workers what they ask for: here are the run file, the accounts, the money and the cache.

How this works: what a worker asks for may wait (for room at an account, for money, for another worker's answer) and is
a task of its own; what it tells is done at once, in its order. All that a worker is lent is written down with it, so
that it can be taken back when the worker is gone: permits are free again, money that was set aside is booked at its
worst price, answers that it wanted to ask for may be asked for by others. Calls that it had begun stay without an end:
they are in doubt.

A worker that has been silent since it was lent a permit may be gone: others get the next ones until it speaks.

A worker that was given up counts for nothing, whatever it says later.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.errors import EvenhandError, ProviderError, StoreError, first_line
from evenhand.core.packed_steps import read_steps
from evenhand.core.provider import RateLimits
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.engine.backing import Backing
from evenhand.engine.budget import NOTHING
from evenhand.store.cache import CachedReply
from evenhand.store.decoding import read_result
from evenhand.wings.fleet.hands import Hand
from evenhand.wings.fleet.messages import Message

WRITES = frozenset({"begin", "end"})


class Counter:
    """Serves the workers of one run."""

    def __init__(self, backing: Backing, announce: Callable[[Message], None]) -> None:
        self._backing = backing
        self._announce = announce
        self._numbers = itertools.count(1)
        self._claims: dict[tuple[str, str], asyncio.Future[None]] = {}

    def ask(self, hand: Hand, number: int, what: str, arguments: Sequence[Any]) -> None:
        """Does what a worker waits for, and answers."""
        task = asyncio.ensure_future(self._answer(hand, number, what, arguments))
        # What is written is waited for when a worker is lost; what it only waited for is cancelled.
        tasks = hand.writing if what in WRITES else hand.waiting
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _answer(self, hand: Hand, number: int, what: str, arguments: Sequence[Any]) -> None:
        value: object = None
        problem: EvenhandError | None = None
        try:
            value = await getattr(self, f"_{what}")(hand, *arguments)
        except EvenhandError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 (who asks would wait without end)
            problem = StoreError(f"an error of Evenhand's own: {first_line(error)}")
        hand.say(("answer", number, value, problem))

    async def _begin(self, hand: Hand, start: CallStart) -> int:
        # A worker that was given up may not know it yet: its trial was begun again elsewhere.
        if start.trial not in hand.trials:
            raise StoreError(f"trial {start.trial} is another worker's")
        self._backing.counts.calls += 1
        call = await self._backing.journal.begin(start)
        hand.calls[call] = start
        return call

    async def _end(self, hand: Hand, call: int, end: CallEnd) -> None:
        if call not in hand.calls:
            raise StoreError(f"call {call} is another worker's")
        await self._backing.journal.end(call, end)
        hand.calls.pop(call, None)

    async def _acquire(
        self, hand: Hand, name: str, priority: int, tokens: int, model: str = ""
    ) -> int:
        account = self._backing.limits.account(name)
        permit = await account.acquire(priority, tokens, model)
        # One that was lent a permit and says nothing may be dead: the next permit goes to one that lives.
        while hand.silent:
            account.withdraw(permit)
            await hand.speaks()
            permit = await account.acquire(priority, tokens, model)
        hand.lend()
        number = next(self._numbers)
        hand.permits[number] = name, permit
        return number

    async def _reserve(
        self, hand: Hand, bound_usd: float | None, provider: str, hidden_usd: float
    ) -> int:
        reservation = await self._backing.budget.when_free(bound_usd, provider, hidden_usd)
        number = next(self._numbers)
        hand.reservations[number] = reservation
        return number

    async def _find(self, hand: Hand, key: str, draw: str) -> CachedReply | None:
        name = (key, draw)
        cache, journal = self._backing.cache, self._backing.journal
        while True:
            reply = cache.get(key, draw) if cache is not None else None
            if reply is not None:
                return reply
            end = journal.answered(key, draw) if journal.resumed else None
            if end is not None:
                return CachedReply(end.body, end.latency_s, end.first_byte_s)
            claim = self._claims.get(name)
            if claim is None:
                self._claims[name] = asyncio.get_running_loop().create_future()
                hand.claims.add(name)
                return None
            # Somebody asks the same: the answer is awaited. If one who waits is cancelled, the others wait on.
            await asyncio.shield(claim)

    def tell(self, hand: Hand, what: str, arguments: Sequence[Any]) -> None:
        """Does what a worker does not wait for."""
        getattr(self, f"_told_{what}")(hand, *arguments)

    def _told_drop(self, hand: Hand, call: int, attempts: int, wasted: int) -> None:
        if hand.calls.pop(call, None) is not None:
            self._backing.journal.drop(call, attempts, wasted)

    def _told_note(self, hand: Hand, start: CallStart, end: CallEnd) -> None:
        if start.trial in hand.trials:
            self._backing.counts.calls += 1
            self._backing.counts.cached += 1
            self._backing.journal.note(start, end)

    def _told_note_tool(self, hand: Hand, record: Any) -> None:
        if record.trial in hand.trials:
            self._backing.journal.note_tool(record)

    def _told_note_code(self, hand: Hand, name: str, code: str) -> None:
        del hand
        self._backing.journal.note_code(name, code)

    def _told_note_unrecorded(self, hand: Hand, call: str) -> None:
        del hand
        self._backing.journal.note_unrecorded(call)

    def _told_put(self, hand: Hand, *answer: Any) -> None:
        del hand
        if self._backing.cache is not None:
            self._backing.cache.put(*answer)

    def _told_take_out(self, hand: Hand, key: str, draw: str) -> None:
        del hand
        if self._backing.cache is not None:
            self._backing.cache.forget(key, draw)

    def _told_release(
        self,
        hand: Hand,
        number: int,
        error: ProviderError | None,
        rates: RateLimits | None,
        tokens: int,
    ) -> None:
        if number not in hand.permits:
            return
        name, permit = hand.permits.pop(number)
        account = self._backing.limits.account(name)
        account.release(permit, error, rates, tokens)
        if error is not None:
            seconds = account.pace.closing.until - time.monotonic()
            # All workers hear it at once, or each would find out by a refusal of its own.
            if seconds > 0:
                self._announce(("gate", name, seconds))

    def _told_withdraw(self, hand: Hand, number: int) -> None:
        if number in hand.permits:
            name, permit = hand.permits.pop(number)
            self._backing.limits.account(name).withdraw(permit)

    def _told_forget(self, hand: Hand, number: int) -> None:
        if number in hand.permits:
            name, permit = hand.permits.pop(number)
            self._backing.limits.account(name).forget(permit)

    def _told_fail(self, hand: Hand, name: str, error: ProviderError) -> None:
        del hand
        self._backing.limits.account(name).fail(error)

    def _told_book(self, hand: Hand, number: int, cost_usd: float | None) -> None:
        self._backing.budget.settle(hand.reservations.pop(number, NOTHING), cost_usd)

    def _told_landed(self, hand: Hand, key: str, draw: str) -> None:
        if (key, draw) in hand.claims:
            hand.claims.discard((key, draw))
            self._free(key, draw)

    def _told_say(self, hand: Hand, text: str) -> None:
        self._backing.note(f"{hand.name}: {text}")

    def _told_correct(self, hand: Hand, data: bytes, steps: Sequence[bytes]) -> None:
        result = replace(read_result(data), steps=read_steps(steps))
        self._backing.journal.again(result.index)
        task = asyncio.ensure_future(self._corrected(result))
        hand.writing.add(task)
        task.add_done_callback(hand.writing.discard)

    async def _corrected(self, result: TrialResult) -> None:
        await self._backing.journal.settle(result)

    def _free(self, key: str, draw: str) -> None:
        claim = self._claims.pop((key, draw), None)
        if claim is not None and not claim.done():
            claim.set_result(None)

    async def take_back(self, hand: Hand) -> None:
        """Takes back all that a worker was lent, once what it had written is on disk."""
        for task in hand.waiting:
            task.cancel()
        if hand.waiting or hand.writing:
            await asyncio.wait({*hand.waiting, *hand.writing})
        # Nobody knows how their calls ended, so that says nothing of the account's pace.
        for name, permit in hand.permits.values():
            self._backing.limits.account(name).forget(permit)
        for reservation in hand.reservations.values():
            self._backing.budget.settle(reservation, None)
        for name in hand.claims:
            self._free(*name)
        hand.permits.clear()
        hand.reservations.clear()
        hand.claims.clear()
        hand.calls.clear()
