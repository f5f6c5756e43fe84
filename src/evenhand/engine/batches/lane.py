"""The batch lane: calls that are collected, submitted together at half price, and answered hours later.

How this works: a call that the vendor of its model takes in batches, and that nobody has answered yet, is noted as
wanted, and its trial is suspended (see `suspending`). Once all trials are settled or suspended, what is wanted goes out
in batches (see `submitted_batches`). Their answers go into the journal like those of live calls, and the trials run
again from their start: the journal answers what it has, and the trial gets as far as its next question. Judges are
asked in the next wave, and an agent of four turns takes four.

What comes back without an answer (expired, an error of the vendor's, lost) is wanted again, three times in all. What is
late is asked live, where that is wanted. A batch that does not even end when it is cancelled is given up: its calls are
in doubt. Should it end after all, its answers come home, and what they cost is known.
"""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import field
from msgspec.structs import replace

from evenhand.core.errors import ProviderError
from evenhand.core.message import Reply
from evenhand.core.provider import Provider, Request
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import CallEnd, CallStart
from evenhand.engine.backing import Answers
from evenhand.engine.budget import NOTHING, Budget, Reservation
from evenhand.engine.call_ends import ended, worth_keeping
from evenhand.engine.suspending import Suspended
from evenhand.engine.trial import LiveTrial
from evenhand.providers.batches.places import (
    DISCOUNT,
    batch_cost_of,
    headers_of_environment,
    place_of,
)
from evenhand.providers.batches.protocol import BatchPlace
from evenhand.providers.chat import asks_for_batches
from evenhand.store.calls import OPEN, BatchRecord
from evenhand.store.journal import Journal

ATTEMPTS = 3
"""So many times a request goes out in a batch before its error counts."""
WAVES = 8
SIZE = 2_000
"""Requests in a batch: so many are in doubt where a process dies at the wrong moment."""
_TURNS = 3
"""So many turns of the loop a trial has to ask for more, side by side, before it is told to stop."""

CallName = tuple[int, str, int]
"""A call's trial, its request's key, and its number among the trial's identical requests."""


class BatchPolicy(Record, frozen=True, kw_only=True):
    """How a run uses batches.

    Attributes:
        detach: End as soon as all that can be submitted is.
        until_s: Seconds after which what a batch has not answered is asked live; None for never.
        waves: The most waves that a trial may take.
        size: Requests in a batch, at most.
        poll_s: Seconds between looks at a batch; None for 5, and more with time.
        marked: Only models whose config says `batch: true` are asked in batches, and all others live.
    """

    detach: bool = False
    until_s: float | None = None
    waves: int = WAVES
    size: int = SIZE
    poll_s: float | None = None
    marked: bool = False


class WantedCall(MutableRecord, kw_only=True):
    """A call that a batch is to answer.

    Attributes:
        provider: Who is asked, and reads the answer; None for a call of an earlier session that nobody asks for now.
        cache: Where the answer is kept for other runs; None for nowhere.
        body: What goes into the batch.
        reservation: The money set aside for it.
        keep: Its answer is one that other runs may be given.
    """

    start: CallStart
    provider: Provider | None
    cache: Answers | None = None
    body: bytes = b""
    reservation: Reservation = NOTHING
    keep: bool = False

    @property
    def name(self) -> CallName:
        """What tells it from all others."""
        return self.start.trial, self.start.key, self.start.nth


class OpenBatch(MutableRecord):
    """A batch of which something is still to come.

    Attributes:
        earlier: It was submitted by an earlier session: its worst price counts as spent.
        missed: So many looks in a row found no such batch, or no results of it.
    """

    record: BatchRecord
    calls: dict[int, WantedCall]
    earlier: bool = False
    missed: int = 0

    @property
    def cancelled_at(self) -> float | None:
        """When it was cancelled as it was late, in this session or an earlier one; None where it was not."""
        return self.record.ended_at if self.record.state == "cancelling" else None


class BatchCounts(MutableRecord):
    """What the lane came to in this session."""

    waves: int = 0
    live: Counter[str] = field(default_factory=Counter[str])


class BatchLane:
    """What is wanted, what is out, and what came back without an answer.

    Args:
        journal: Where batches and answers are recorded.
        budget: From which their worst prices are set aside.
        providers: Those of the plan, for batches of earlier sessions.
        note: Told what should be known at once.
    """

    def __init__(
        self,
        journal: Journal,
        budget: Budget,
        policy: BatchPolicy,
        providers: Iterable[Provider],
        note: Callable[[str], None],
    ) -> None:
        self.journal, self.budget, self.policy, self.note = journal, budget, policy, note
        self.wanted: dict[CallName, tuple[BatchPlace, WantedCall]] = {}
        self.open: dict[str, OpenBatch] = {}
        self.given_up: dict[str, OpenBatch] = {}
        self.known: set[str] = set()
        depths, self._unanswered = journal.depths()
        self.depths = Counter(depths)
        self.attempts: Counter[CallName] = Counter()
        self.counts = BatchCounts()
        self._calls: dict[CallName, WantedCall] = {}
        self._draws: set[tuple[str, str]] = set()
        self._errors: dict[CallName, ProviderError] = {}
        self._late: set[CallName] = set()
        self._places: dict[tuple[str, str], BatchPlace] = {}
        self._providers = {provider.id: provider for provider in providers}
        for record, calls in journal.batches():
            self.counts.waves = max(self.counts.waves, record.wave)
            if record.vendor_id:
                self.known.add(record.vendor_id)
            out = {
                number: WantedCall(start=start, provider=self._providers.get(start.provider))
                for number, start in calls
            }
            if record.state == "given_up" and out:
                self.given_up[record.id] = OpenBatch(record, out, earlier=True)
                self._late.update(call.name for call in out.values())
            if record.state in OPEN:
                self.open[record.id] = OpenBatch(record, out, earlier=True)
                self._calls.update((call.name, call) for call in out.values())
                self._draws.update((call.start.key, call.start.draw) for call in out.values())

    async def admit(
        self,
        trial: LiveTrial,
        start: CallStart,
        provider: Provider,
        request: Request,
        cache: Answers | None,
    ) -> None:
        """Lets a call through that is to be asked live.

        Raises:
            Suspended: A batch is to answer it.
            ProviderError: It came back without an answer.
        """
        name = start.trial, start.key, start.nth
        error = self._errors.get(name)
        if error is not None:
            raise error
        taken_by = None if name in self._late else self._taken_by(provider, request)
        if taken_by is not None:
            place = taken_by[0]
            self._places[place.address, place.account] = place
        known = self._calls.get(name)
        if taken_by is None and known is None:
            self.counts.live[provider.id] += 1
            return
        task = asyncio.current_task()
        # Its code goes on without the answer: what it asks now is not meant.
        if task in trial.suspended:
            raise Suspended
        trial.suspended.append(task)
        draw = start.key, start.draw
        if known is not None:
            known.provider, known.cache = provider, cache
        elif taken_by is not None and (cache is None or draw not in self._draws):
            place, body = taken_by
            if cache is not None:
                self._draws.add(draw)
            share = 1.0 if request.stated else 1 - DISCOUNT[place.vendor]
            bound = start.cost_bound_usd
            half = replace(start, cost_bound_usd=None if bound is None else share * bound)
            self._calls[name] = call = WantedCall(
                start=half, provider=provider, cache=cache, body=body
            )
            self.wanted[name] = place, call
        for _ in range(_TURNS):
            await sleep(0)
        raise Suspended

    def _taken_by(self, provider: Provider, request: Request) -> tuple[BatchPlace, bytes] | None:
        """Where this run would ask for it in a batch, and what with; None where it is asked live."""
        is_live = self.policy.marked and not asks_for_batches(provider)
        return None if is_live else place_of(provider, request)

    def priced(self, provider: Provider, request: Request, reply: Reply) -> Reply:
        """An answer that came from elsewhere, with the cost that it would have had in this run."""
        taken_by = self._taken_by(provider, request)
        if taken_by is None:
            return reply
        return replace(reply, cost_usd=batch_cost_of(provider, reply, taken_by[0].vendor))

    def place(self, record: BatchRecord) -> BatchPlace:
        """Where a batch is, with the key of whoever asks there."""
        known = self._places.get((record.address, record.account))
        headers = known.headers if known else headers_of_environment(record.vendor)
        return BatchPlace(
            vendor=record.vendor,
            address=record.address,
            account=record.account,
            model=record.model,
            endpoint=record.endpoint,
            headers=headers,
        )

    def too_deep(self) -> int:
        """How many trials want something new though they have had as many waves as a trial may have."""
        deep = {
            call.start.trial
            for name, (_, call) in self.wanted.items()
            if self._is_new(name) and self.depths[call.start.trial] >= self.policy.waves
        }
        return len(deep)

    def _is_new(self, name: CallName) -> bool:
        """Whether a call was in no batch yet, of this session or an earlier one. One that was takes no further wave."""
        return not self.attempts[name] and name not in self._unanswered

    def give_back(self, calls: Iterable[WantedCall]) -> None:
        """Forgets calls that did not go out: their trials ask again."""
        for call in calls:
            self.wanted.pop(call.name, None)
            self._forget(call)

    def submitted(self, batch: OpenBatch) -> None:
        """Notes that calls are about to go out."""
        self.open[batch.record.id] = batch
        new: set[int] = set()
        for call in batch.calls.values():
            del self.wanted[call.name]
            if self._is_new(call.name):
                new.add(call.start.trial)
            self.attempts[call.name] += 1
        for trial in new:
            self.depths[trial] += 1

    def answered(self, call: WantedCall, body: bytes, vendor: str) -> CallEnd:
        """The end of a call that a batch has answered.

        Raises:
            ProviderError: The answer is none.
        """
        if call.provider is None:  # what it cost is known to whoever asks
            return CallEnd(body, "provider")
        reply = call.provider.reply(body)
        cost = batch_cost_of(call.provider, reply, vendor)
        call.keep = worth_keeping(reply)
        # How long it took says nothing of the model.
        return ended(body, replace(reply, cost_usd=cost, latency_s=None), attempts=1, wasted=0)

    def failed(self, call: WantedCall, error: ProviderError, *, live: bool) -> None:
        """Notes that a call came back without an answer.

        Args:
            live: What is late is asked live from now on.
        """
        self._forget(call)
        if live and error.retryable:
            self._late.add(call.name)
        elif not error.retryable or self.attempts[call.name] >= ATTEMPTS:
            self._errors[call.name] = error

    def settled(self, batch: OpenBatch) -> None:
        """Notes that there is no more to come of a batch."""
        self.open.pop(batch.record.id, None)
        for call in batch.calls.values():
            self._forget(call)

    def give_up(self, batch: OpenBatch, error: ProviderError) -> None:
        """Waits no longer for a batch: its calls are asked live. They stay in doubt, at their worst price."""
        self.settled(batch)
        for call in batch.calls.values():
            self.book(batch, call, None)
            self.failed(call, error, live=True)
        batch.earlier = True
        self.given_up[batch.record.id] = batch

    def take_up_again(self, batch: OpenBatch) -> None:
        """Waits again for a batch that was given up."""
        del self.given_up[batch.record.id]
        self.open[batch.record.id] = batch
        for call in batch.calls.values():
            self._calls[call.name] = call
            self._draws.add((call.start.key, call.start.draw))
            self._late.discard(call.name)

    def book(self, batch: OpenBatch, call: WantedCall, cost_usd: float | None) -> None:
        """Books what a call has cost; where that is not known, its worst price."""
        if batch.earlier:  # its worst price counts as spent already
            if cost_usd is not None:
                self.budget.spent_usd += cost_usd - (call.start.cost_bound_usd or 0.0)
            return
        self.budget.settle(call.reservation, cost_usd)

    def _forget(self, call: WantedCall) -> None:
        self._calls.pop(call.name, None)
        self._draws.discard((call.start.key, call.start.draw))
