"""Submits what is wanted in batches, waits for them, and brings what they answered into the journal.

How this works: the intent to submit a batch is durable before it goes out, with all its calls and under a name of ours
that the vendor is told. A process that dies between the vendor's yes and our note of it leaves an intent; whoever
resumes looks for the batch by that name. It is found, or was never made: either way nothing is submitted twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from evenhand.core.errors import (
    BadRequest,
    BatchGone,
    BudgetStop,
    Overloaded,
    ProviderError,
    TimedOut,
    UsageError,
)
from evenhand.core.run import CallEnd
from evenhand.core.scripted import answers_at, script_answers
from evenhand.core.wording.words import money
from evenhand.engine.batches.lane import BatchLane, OpenBatch, WantedCall
from evenhand.providers.batches.places import VENDORS, block_in, vendor_of
from evenhand.providers.batches.protocol import BatchLook, BatchPlace, BatchResult, BatchVendor
from evenhand.store.calls import BatchRecord, BatchState

FIRST_LOOK_S, LONGEST_PAUSE_S = 5.0, 60.0
CANCELLING_S = 600.0
"""So long a batch that was cancelled as it was late may take to end: OpenAI says 10 minutes."""
LINE_BYTES = 200
"""What a request takes in a batch beside its body."""
NO_FILE = 404
TOO_LARGE = 413
NOT_THERE = 5
"""So many looks in a row have to say that a batch isn't there, unless it is old enough to be gone."""
KEPT_S = 28 * 86_400.0
"""Vendors keep results for longer than this."""

WaveEnd = Literal["again", "detached", "stopped", "done"]
"""Trials have to run again · batches are out, and nobody waits · somebody wants the run to end · nothing is wanted."""


class Waves:
    """The batches of one session.

    Args:
        stop: Set when the run is to end.
        show: Told what the run waits for; empty for nothing.
    """

    def __init__(
        self, lane: BatchLane, stop: asyncio.Event, show: Callable[[str], None] = lambda _: None
    ) -> None:
        self._lane = lane
        self._stop = stop
        self._show = show
        self._sizes: dict[tuple[str, str], int] = {}
        self._warned = lane.counts.waves > 0

    async def wave(self) -> WaveEnd:
        """Submits what is wanted, and waits until all that is out has come back.

        Raises:
            BudgetStop: There is no money for any of it.
            ProviderError: A fatal one.
            UsageError: A trial would take more waves than it may.
            StoreError: It cannot be recorded.
        """
        lane = self._lane
        if not lane.wanted and not lane.open:
            return "done"
        deep = lane.too_deep()
        if deep:
            waves = lane.policy.waves
            trials = "1 trial has" if deep == 1 else f"{deep:,} trials have"
            raise UsageError(
                f"{trials} taken {waves} waves of batches, and would take another one",
                hint="An agent of many turns is faster without --batch. "
                f"To go on: evenhand resume --batch-waves {2 * waves}.",
            )
        if any(batch.record.state == "intended" for batch in lane.open.values()):
            # What a killed session may have submitted is looked for first.
            await self._look_at_all()
        await self._submit_all()
        while not await self._look_at_all():
            await self.look_for_late()
            if lane.policy.detach:
                return "detached"
            await self._pause()
            if self._stop.is_set():
                return "stopped"
        self._show("")
        return "stopped" if self._stop.is_set() else "again"

    def out(self) -> str:
        """What the vendors have, in words."""
        batches = list(self._lane.open.values())
        requests = sum(len(batch.calls) for batch in batches)
        one = "1 batch is" if len(batches) == 1 else f"{len(batches)} batches are"
        return f"{one} out, with {requests:,} {'request' if requests == 1 else 'requests'}"

    # Submitting

    async def _submit_all(self) -> None:
        lane = self._lane
        places: dict[BatchPlace, list[WantedCall]] = {}
        for place, call in lane.wanted.values():
            places.setdefault(place, []).append(call)
        wave = lane.counts.waves + 1
        submitted: list[BatchRecord] = []
        for place, calls in places.items():
            vendor = vendor_of(place)
            for chunk in self._chunks(place, vendor, calls):
                affordable = self._reserved(chunk, any_out=bool(submitted or lane.open))
                if affordable:
                    submitted.append(await self._submit(place, vendor, affordable, wave))
        # What is left is what the budget has no room for now.
        lane.give_back([call for _, call in lane.wanted.values()])
        if submitted:
            lane.counts.waves = wave
            self._tell(submitted)

    def _tell(self, records: Sequence[BatchRecord]) -> None:
        names = " and ".join(sorted({VENDORS[record.vendor] for record in records}))
        requests = sum(record.requests for record in records)
        batches = "1 batch" if len(records) == 1 else f"{len(records)} batches"
        bounds = [record.bound_usd for record in records]
        most = "" if None in bounds else f", at most {money(sum(b or 0.0 for b in bounds))}"
        one = "request" if requests == 1 else "requests"
        self._lane.note(f"wave {records[0].wave}: {requests:,} {one} in {batches} to {names}{most}")
        if not self._warned:
            self._warned = True
            self._lane.note(
                "requests and answers of batches stay with the vendor for about 30 days, also where zero data "
                "retention was agreed on; each wave may take up to 24 hours, and runs set-up and tear-down again"
            )

    def _chunks(
        self, place: BatchPlace, vendor: BatchVendor, calls: Sequence[WantedCall]
    ) -> Iterable[list[WantedCall]]:
        most = min(
            self._sizes.get((place.account, place.model), self._lane.policy.size),
            vendor.most_requests,
        )
        chunk: list[WantedCall] = []
        size = 0
        for call in calls:
            length = len(call.body) + LINE_BYTES
            if chunk and (len(chunk) >= most or size + length > vendor.most_bytes):
                yield chunk
                chunk, size = [], 0
            chunk.append(call)
            size += length
        if chunk:
            yield chunk

    def _reserved(self, calls: Sequence[WantedCall], *, any_out: bool) -> list[WantedCall]:
        """The calls for which money could be set aside; the others have to wait for the bills of these."""
        affordable: list[WantedCall] = []
        for call in calls:
            start = call.start
            try:
                call.reservation = self._lane.budget.reserve(start.cost_bound_usd, start.provider)
            except BudgetStop:
                if not affordable and not any_out:
                    raise
                break
            affordable.append(call)
        return affordable

    async def _submit(
        self, place: BatchPlace, vendor: BatchVendor, calls: Sequence[WantedCall], wave: int
    ) -> BatchRecord:
        lane = self._lane
        bounds = [call.start.cost_bound_usd for call in calls]
        record = BatchRecord(
            id=secrets.token_hex(8),
            wave=wave,
            vendor=place.vendor,
            address=place.address,
            account=place.account,
            model=place.model,
            endpoint=place.endpoint,
            requests=len(calls),
            state="intended",
            intended_at=time.time(),
            bound_usd=None if None in bounds else sum(bound or 0.0 for bound in bounds),
        )
        ids = await lane.journal.submit(record, [call.start for call in calls])
        batch = OpenBatch(record, dict(zip(ids, calls, strict=True)))
        lines = [
            vendor.line(_line_id(batch, number), call.body) for number, call in batch.calls.items()
        ]
        lane.submitted(batch)
        try:
            look = await vendor.create(record.id, lines)
        except ProviderError as error:
            if error.billed is None:  # it may be there all the same: it is looked for
                lane.note(f"{error.message}; whether the batch was made will be looked up")
                return record
            if error.status == TOO_LARGE:
                await self._turned_away(
                    batch,
                    BatchLook(vendor_id="", state="refused", message=error.message, crowded=True),
                )
                return record
            await self._refused(batch, error)
        else:
            await self._taken(batch, look)
        for call in calls:
            call.body = b""
        return record

    async def _taken(self, batch: OpenBatch, look: BatchLook) -> None:
        """Notes the vendor's name for a batch."""
        self._lane.known.add(look.vendor_id)
        batch.record = replace(
            batch.record, state="out", vendor_id=look.vendor_id, submitted_at=time.time()
        )
        await self._lane.journal.note_batch(batch.record)

    # Waiting

    async def _pause(self) -> None:
        lane = self._lane
        since = min(one.record.submitted_at or one.record.intended_at for one in lane.open.values())
        waited = max(0.0, time.time() - since)
        pause = lane.policy.poll_s or min(LONGEST_PAUSE_S, max(FIRST_LOOK_S, waited / 20))
        requests = sum(len(one.calls) for one in lane.open.values())
        batches = "1 batch" if len(lane.open) == 1 else f"{len(lane.open)} batches"
        self._show(f"{batches} with {requests:,} requests out for {_ago(waited)}")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), pause)

    async def _look_at_all(self) -> bool:
        """Looks at all that is out, and collects what has ended. Whether nothing is out any more."""
        for batch in list(self._lane.open.values()):
            if batch.earlier and script_answers() and not answers_at(batch.record.address):
                # The server of --offline ended with its command; this one has another port.
                await self._close(batch, "refused", "the script's server has ended", {})
                continue
            vendor = vendor_of(self._lane.place(batch.record))
            try:
                if batch.record.state == "intended":
                    await self._look_for(batch, vendor)
                else:
                    await self._look(batch, vendor)
            except ProviderError as error:
                if error.fatal and error.status != NO_FILE:
                    raise
                if error.status == NO_FILE and _is_gone(batch):
                    await self._gone(batch)
                else:
                    self._show(f"{error.message}; looking again")
        return not self._lane.open

    async def _look_for(self, batch: OpenBatch, vendor: BatchVendor) -> None:
        record = batch.record
        look, maybe = await vendor.find(
            record.id, record.requests, record.intended_at, frozenset(self._lane.known)
        )
        if look is not None:
            await self._taken(batch, look)
            await self._look(batch, vendor)
        elif not maybe:
            batch.missed += 1  # where the clock was set back, looks are counted instead
            age_s = time.time() - record.intended_at
            if age_s > 2 * self._first_look_s or batch.missed >= NOT_THERE:
                await self._close(batch, "refused", "it was never submitted", {})

    @property
    def _first_look_s(self) -> float:
        return self._lane.policy.poll_s or FIRST_LOOK_S

    async def _look(self, batch: OpenBatch, vendor: BatchVendor) -> None:
        look = await vendor.look(batch.record.vendor_id)
        if look.state != "ended":
            batch.missed = 0
        if look.state == "refused":
            await self._turned_away(batch, look)
        elif look.state == "ended" and look.gone:
            await self._gone(batch)
        elif look.state == "ended":
            await self._collect(batch, await _all_results(batch, vendor, look))
        else:
            await self._mind_the_time(batch, vendor)

    async def _mind_the_time(self, batch: OpenBatch, vendor: BatchVendor) -> None:
        """Cancels a batch that is late. One that does not even end then is given up."""
        until_s = self._lane.policy.until_s
        now = time.time()
        if until_s is None or now - (batch.record.submitted_at or now) < until_s:
            return
        if batch.cancelled_at is None:
            await vendor.cancel(batch.record.vendor_id)
            batch.record = replace(batch.record, state="cancelling", ended_at=now)
            await self._lane.journal.note_batch(batch.record)
        elif now - batch.cancelled_at > min(CANCELLING_S, max(until_s, 2 * self._first_look_s)):
            error = TimedOut(
                f"batch {batch.record.vendor_id} did not end, not even when it was cancelled",
                billed=None,
            )
            batch.record = replace(
                batch.record, state="given_up", message=error.message, ended_at=now
            )
            await self._lane.journal.note_batch(batch.record)
            self._lane.give_up(batch, error)

    async def take_up_again(self) -> None:
        """Waits again for batches of earlier sessions that were given up, and have ended after all.

        Raises:
            StoreError: It cannot be recorded.
        """
        for batch in list(self._lane.given_up.values()):
            look = await self._late(batch)
            if look is not None:
                batch.record = replace(batch.record, state="out", message="", ended_at=None)
                await self._lane.journal.note_batch(batch.record)
                self._lane.take_up_again(batch)

    async def look_for_late(self) -> None:
        """Collects what batches have answered that were given up in this session.

        Raises:
            StoreError: It cannot be recorded.
        """
        lane = self._lane
        for batch in list(lane.given_up.values()):
            look = await self._late(batch)
            complete = all(call.provider is not None for call in batch.calls.values())
            if look is not None and complete:  # whoever asked knows the price
                with contextlib.suppress(ProviderError):
                    vendor = vendor_of(lane.place(batch.record))
                    results = await _all_results(batch, vendor, look)
                    del lane.given_up[batch.record.id]
                    await self._collect(batch, results)

    async def _late(self, batch: OpenBatch) -> BatchLook | None:
        """A batch that was given up, once it has ended; None where it has not, or nobody says."""
        try:
            look = await vendor_of(self._lane.place(batch.record)).look(batch.record.vendor_id)
        except ProviderError:  # nobody waits for it
            return None
        return look if look.state == "ended" and not look.gone else None

    # Coming back

    async def _collect(self, batch: OpenBatch, results: Mapping[str, BatchResult]) -> None:
        ends: dict[int, tuple[CallEnd, ProviderError | None]] = {}
        lost = Overloaded("the batch came back without this request")
        for number, call in batch.calls.items():
            result = results.get(_line_id(batch, number))
            ends[number] = self._end(batch, call, result or BatchResult("", error=lost))
        await self._close(batch, "collected", "", ends)

    def _end(
        self, batch: OpenBatch, call: WantedCall, result: BatchResult
    ) -> tuple[CallEnd, ProviderError | None]:
        if result.error is not None:
            block = block_in(call.provider, result.error) if call.provider is not None else None
            if block is None:
                return _without(result.error, wasted=0), result.error
            return self._lane.answered(call, block, batch.record.vendor), None
        try:
            return self._lane.answered(call, result.body, batch.record.vendor), None
        except ProviderError as error:  # it was charged for, and cannot be read
            return _without(error, wasted=1), error

    async def _turned_away(self, batch: OpenBatch, look: BatchLook) -> None:
        """A batch of which the vendor took nothing."""
        if look.faulty:
            await self._refused(batch, Overloaded(f"the batch {look.message}"))
            return
        if not look.crowded or batch.record.requests == 1:
            await self._refused(batch, BadRequest(f"the batch was refused: {look.message}"))
            return
        record = batch.record
        key = record.account, record.model
        self._sizes[key] = max(1, min(self._sizes.get(key, record.requests), record.requests) // 2)
        self._lane.note(f"{look.message}; smaller batches from now on")
        for call in batch.calls.values():
            self._lane.attempts[call.name] -= 1
        await self._refused(batch, Overloaded(look.message))

    async def _refused(self, batch: OpenBatch, error: ProviderError) -> None:
        ends = {number: (_without(error, wasted=0), error) for number in batch.calls}
        await self._close(batch, "refused", error.message, ends)

    async def _gone(self, batch: OpenBatch) -> None:
        error = BatchGone(
            f"the results of batch {batch.record.vendor_id} are gone: vendors keep them for 29 or 30 days",
            hint="They were paid for. `evenhand resume` asks again, and pays again.",
            billed=True,
        )
        ends = {number: (_without(error, wasted=1), error) for number in batch.calls}
        await self._close(batch, "gone", error.message, ends)

    async def _close(
        self,
        batch: OpenBatch,
        state: BatchState,
        message: str,
        ends: Mapping[int, tuple[CallEnd, ProviderError | None]],
    ) -> None:
        """Records what became of a batch, all at once. Calls without an end were never sent."""
        never = _without(Overloaded("it was never submitted"), wasted=0, attempts=0)
        every = {number: ends.get(number, (never, None)) for number in batch.calls}
        late = batch.record.state in ("cancelling", "given_up")
        batch.record = replace(batch.record, state=state, message=message, ended_at=time.time())
        await self._lane.journal.note_batch(
            batch.record, [(number, end) for number, (end, _) in every.items()]
        )
        self._lane.settled(batch)
        for number, (end, error) in every.items():
            call = batch.calls[number]
            unknown = end.wasted or (not end.error and end.cost_usd is None)
            self._lane.book(batch, call, None if unknown else end.cost_usd or 0.0)
            if error is not None:
                self._lane.failed(call, error, live=late)
            elif not end.error and call.cache is not None and call.keep:
                start = call.start
                call.cache.put(start.key, start.draw, start.identity, end.body, None)


def _is_gone(batch: OpenBatch) -> bool:
    """Whether a batch that the vendor doesn't know is gone. One that is young may be unknown for a moment only."""
    batch.missed += 1
    age_s = time.time() - (batch.record.submitted_at or batch.record.intended_at)
    return age_s > KEPT_S or batch.missed >= NOT_THERE


async def _all_results(
    batch: OpenBatch, vendor: BatchVendor, look: BatchLook
) -> dict[str, BatchResult]:
    """What became of the requests of a batch that has ended, by their ids; raises ProviderError."""
    results: dict[str, BatchResult] = {}
    for _ in range(2):  # a file may end early without an error, and what it lacks was paid for
        for result in await vendor.collect(look):
            known = results.get(result.custom_id)
            if known is None or (known.error is not None and result.error is None):
                results[result.custom_id] = result
        if not look.results or all(_line_id(batch, number) in results for number in batch.calls):
            break
    return results


def _line_id(batch: OpenBatch, number: int) -> str:
    return f"{batch.record.id}-{number}"


def _without(error: ProviderError, *, wasted: int, attempts: int = 1) -> CallEnd:
    """The end of a call without an answer."""
    return CallEnd(
        b"", "provider", attempts=attempts, wasted=wasted, error=error.slug, message=error.message
    )


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
