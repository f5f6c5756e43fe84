"""The journal of a run's model calls, and of the batches they are asked in, read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from types import NoneType
from typing import Any, Literal, NamedTuple, cast

from msgspec.structs import replace

from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.core.run import (
    CUT_OFF,
    EMPTY,
    CallEnd,
    CallRecord,
    CallStart,
    ToolRecord,
    TrialResult,
)
from evenhand.store.counted import ModelUsage, Spend, added
from evenhand.store.counts import Counts
from evenhand.store.encoding import read_text, write_text
from evenhand.store.opened import OpenRun, ReadsRun, readable

BatchState = Literal["intended", "out", "cancelling", "collected", "refused", "gone", "given_up"]
"""about to be submitted, or so when the process died · submitted, and not collected · the same, and cancelled as it was
late · its results are in the journal · the vendor took none of it · its results are no longer kept · it did not end
when it was cancelled."""

OPEN: tuple[BatchState, ...] = ("intended", "out", "cancelling")
Depths = tuple[dict[int, int], set[tuple[int, str, int]]]
"""By trial in how many waves it had new calls; and the calls, (trial, key, nth), that no batch has answered."""
"""The states in which there is still something to come."""


class BatchRecord(Record, frozen=True):
    """One batch, as a run's file has it.

    Attributes:
        id: Our name for it, which the vendor is told.
        wave: From 1: how many times requests were submitted together before and with it.
        vendor: `openai`, `anthropic`, `google` or `mistral`.
        address: Where the vendor's API begins.
        account: Whose it is: the host, and a fingerprint of the key.
        model: The model that all its requests ask.
        endpoint: What they are sent to, below the address.
        vendor_id: The vendor's name for it; empty as long as that is not known.
        intended_at: When it was about to be submitted, in seconds since 1970.
        submitted_at: When the vendor had taken it; None as long as that is not known.
        ended_at: When it was cancelled, collected, refused or given up; the last of these.
        bound_usd: More than this it cannot cost; None where a price is not known.
        message: Why it came to nothing; empty where it did not.
    """

    id: str
    wave: int
    vendor: str
    address: str
    account: str
    model: str
    endpoint: str
    requests: int
    state: BatchState
    vendor_id: str = ""
    intended_at: float = 0.0
    submitted_at: float | None = None
    ended_at: float | None = None
    bound_usd: float | None = None
    message: str = ""


class EndedCall(NamedTuple):
    """A call that has an end, without its texts. `size` is that of the canonical request, in bytes."""

    id: int
    trial: int
    key: str
    nth: int
    role: str
    draw: str
    provider: str
    size: int
    error: str


class JournaledCalls(Counts):
    """Reads the calls of an open run file, and counts its trials."""

    def calls(self, trial: int | None = None) -> Iterator[CallRecord]:
        """The journaled calls in the order in which they were begun; of one trial, or of all."""
        where = "" if trial is None else "where call.trial = ?"
        with readable(self._run.path):
            rows = self._run.db.execute(
                f"select {columns_in(self._run.db)} from {CALLS} {where} order by call.id",  # noqa: S608 (two fixed texts)
                () if trial is None else (trial,),
            )
            for row in rows:
                yield call_record(row)

    def calls_of(self, trial: TrialResult) -> list[CallRecord]:
        """A settled trial's calls, in the order in which they were begun.

        Those that had been answered when the run was interrupted, and were read again when it went on, are of origin
        `journal`. They are the first ones, and the trial counts them among its `cached`. Where it counts answers that
        have no record (of a model that costs nothing, or of an older build) it is not known which, and all stay.
        """
        calls = list(self.calls(trial.index))
        if sum(call.end is not None and not call.end.error for call in calls) < trial.calls:
            return calls
        cached = sum(
            call.end is not None and call.end.origin in ("cache", "replay") for call in calls
        )
        for place, call in enumerate(calls):
            if cached >= trial.cached:
                break
            if call.end is not None and call.end.origin == "provider" and not call.end.error:
                calls[place] = replace(call, end=replace(call.end, origin="journal"))
                cached += 1
        return calls

    def answers(self) -> Iterator[tuple[int, str, str]]:
        """The calls that were answered, as (id, key, draw)."""
        with readable(self._run.path):
            for row in self._run.db.execute(
                "select call.id, key, draw from call join reply on reply.call = call.id where error = ''"
                " order by call.id"
            ):
                yield sound(row, _ANSWER)

    def ended(self) -> Iterator[EndedCall]:
        """The calls that have an end, in the order in which they were begun, without their texts."""
        with readable(self._run.path):
            for row in self._run.db.execute(
                "select call.id, trial, key, nth, role, draw, provider, length(identity), error"
                " from call join reply on reply.call = call.id order by call.id"
            ):
                yield EndedCall(*sound(row, _ENDED))

    def numbered(self) -> Iterator[tuple[int, CallRecord]]:
        """The journaled calls with their ids, in the order in which they were begun."""
        with readable(self._run.path):
            for number, *row in self._run.db.execute(
                f"select call.id, {columns_in(self._run.db)} from {CALLS} order by call.id"  # noqa: S608 (two fixed texts)
            ):
                yield number, call_record(tuple(row))

    def tools(self, trial: int | None = None) -> Iterator[ToolRecord]:
        """The recorded calls of tools, in the order in which they were made; of one trial, or of all."""
        where = "" if trial is None else "where trial = ?"
        with readable(self._run.path):
            if not self._run.has_table("tool"):
                return
            for *row, replayed in self._run.db.execute(
                f"select {_TOOL_COLUMNS} from tool {where} order by id",  # noqa: S608 (fixed texts)
                () if trial is None else (trial,),
            ):
                yield ToolRecord(*sound(tuple(row), _TOOL), replayed=bool(replayed))

    def tool(self, trial: int, key: str, nth: int) -> ToolRecord | None:
        """The first record of the n-th such call of a tool in this trial."""
        with readable(self._run.path):
            if not self._run.has_table("tool"):
                return None
            row = self._run.db.execute(
                f"select {_TOOL_COLUMNS} from tool"  # noqa: S608 (fixed text)
                " where trial = ? and key = ? and nth = ? order by id limit 1",
                (trial, key, nth),
            ).fetchone()
        return ToolRecord(*sound(row[:-1], _TOOL), replayed=bool(row[-1])) if row else None

    def replayed(self) -> tuple[int, float | None]:
        """How many of its calls another run's recordings answered, and what those cost then, in US dollars.

        The cost is None where a price is not known.
        """
        with readable(self._run.path):
            calls, unpriced, cost = self._run.db.execute(
                "select count(*), coalesce(sum(cost_usd is null and error = ''), 0), total(cost_usd)"
                " from reply where origin = 'replay'"
            ).fetchone()
        return calls, None if unpriced else cost

    def answer(self, trial: int, key: str, nth: int, before: int, since: int = 0) -> CallEnd | None:
        """The last answer to the n-th such request of this trial, among the calls from id `since` to below `before`."""
        with readable(self._run.path):
            row = self._run.db.execute(
                f"select {columns_in(self._run.db)} from {CALLS} where call.trial = ? and call.key = ? and call.nth = ?"  # noqa: S608 (fixed text)
                " and call.id < ? and call.id >= ? and reply.error = '' order by call.id desc limit 1",
                (trial, key, nth, before, since),
            ).fetchone()
            return call_record(row).end if row else None

    def replies(self, trial: int, first: int = 0) -> list[tuple[str, int, CallEnd]]:
        """The last answers to a trial's requests, as (key, nth, answer), of calls whose ids are `first` or above."""
        replies: dict[tuple[str, int], CallEnd] = {}
        with readable(self._run.path):
            for row in self._run.db.execute(
                f"select {columns_in(self._run.db)} from {CALLS} where call.trial = ? and call.id >= ?"  # noqa: S608 (fixed text)
                " and reply.error = '' order by call.id",
                (trial, first),
            ):
                record = call_record(row)
                if record.end is not None:
                    replies[record.start.key, record.start.nth] = record.end
        # Later calls have written over earlier ones, so these are the last answers.
        return [(key, nth, end) for (key, nth), end in replies.items()]

    def last_call(self) -> int:
        """The highest id of a call; 0 where there is none."""
        with readable(self._run.path):
            return self._run.db.execute("select coalesce(max(id), 0) from call").fetchone()[0]

    def call(self, number: int) -> CallRecord | None:
        """The call with this id."""
        with readable(self._run.path):
            row = self._run.db.execute(
                f"select {columns_in(self._run.db)} from {CALLS} where call.id = ?",  # noqa: S608 (fixed text)
                (number,),
            ).fetchone()
            return call_record(row) if row else None

    def in_doubt(self) -> list[CallRecord]:
        """The calls that were begun and have no end, without those of batches that the vendor has."""
        with readable(self._run.path):
            out = _NOT_OUT if self._run.has_table("batch") else ""
            rows = self._run.db.execute(
                f"select {columns_in(self._run.db)} from {CALLS} where reply.call is null {out}"  # noqa: S608 (fixed text)
            )
            return [call_record(row) for row in rows]

    def most_spent(self) -> float:
        """The most that all its calls can have cost, in US dollars, as far as prices are known.

        What is not known, or in doubt, counts at the worst price that was set aside for it: attempts that failed and
        may have been charged for, calls without an end, answers that did not say how many tokens they took.
        """
        with readable(self._run.path):
            (most,) = self._run.db.execute(
                """
                select total(
                    case when reply.call is null then coalesce(bound_usd, 0)
                         when error = '' then coalesce(cost_usd, bound_usd, 0) else 0 end
                    + coalesce(wasted, 0) * coalesce(bound_usd, 0)
                ) from call left join reply on reply.call = call.id
                where reply.call is null or origin = 'provider'
                """
            ).fetchone()
        return most

    def bills(self) -> list[tuple[str, int, float]]:
        """Each provider, how many of its calls have a known cost, and the most by which one was above its bound."""
        with readable(self._run.path):
            return self._run.db.execute(
                """
                select provider, count(*), max(cost_usd - bound_usd) from call join reply on reply.call = call.id
                where origin = 'provider' and cost_usd > 0 and bound_usd is not null group by provider
                """
            ).fetchall()

    # Sums of money are rounded: in another order of the calls they differ in their last digits.

    def read_again(self) -> int:
        """How many answers of its own it read again as it was resumed. Its trials count them among their `cached`.

        Those of trials with answers that have no record are not among them, as it is not known which those are.
        """
        with readable(self._run.path):
            (own,) = self._run.db.execute(
                f"""
                select coalesce(sum(max(0, min(cached - elsewhere, own))), 0) from {self._run.table()} join (
                    select trial, sum(origin != 'provider') as elsewhere, sum(origin = 'provider') as own
                    from call join reply on reply.call = call.id where error = '' group by trial
                ) on trial = idx where cached > 0 and own + elsewhere >= calls
                """  # noqa: S608 (one of two names)
            ).fetchone()
        return int(own)

    def usage(self, variants: Collection[int] | None = None) -> list[ModelUsage]:
        """What each model was asked in each role: subjects in the order of the plan, then judges by name.

        Args:
            variants: Of the trials of these columns; None for all calls of the run.
        """
        usage: dict[tuple[CallRole, str], ModelUsage] = {}
        chosen, columns = _of_columns(self._run, variants)
        with readable(self._run.path):
            for role, model, answered, *numbers, unpriced, cost in self._run.db.execute(
                f"""
                select role, provider, model, sum(error = ''), sum(error = '' and origin != 'provider'),
                       total(case when error = '' then tokens_in end), total(case when error = '' then tokens_out end),
                       sum(error != '' and attempts > 0 and not {_ASKED_AGAIN}),
                       sum(error = '' and origin = 'provider' and cost_usd is null),
                       round(total(case when error = '' and origin = 'provider' then cost_usd end), 10)
                from call join reply on reply.call = call.id where (error = '' or attempts > 0) {chosen}
                group by role, provider, model
                order by role = 'subject' desc, role, case when role = 'subject' then min(trial) end, provider, model
                """,  # noqa: S608 (fixed texts)
                columns,
            ):
                calls, cached, tokens_in, tokens_out, unanswered = map(int, numbers)
                if not (calls or unanswered):
                    continue
                more = ModelUsage(
                    role=role,
                    model=model,
                    answered=(answered,) if answered else (),
                    calls=calls,
                    cached=cached,
                    tokens_in=tokens_in,
                    tokens_out=tokens_out,
                    unanswered=unanswered,
                    cost_usd=None if unpriced else cost,
                )
                before = usage.get((role, model))
                usage[role, model] = added(before, more) if before else more
        return list(usage.values())

    def judge_requests(self, most: int) -> Iterator[tuple[str, str, bytes]]:
        """Of answered calls to judges, the id that was asked, the name in the answer, and the request.

        Args:
            most: Of more calls, about so many from all over the run.
        """
        where = "from call join reply on reply.call = call.id where role = 'judge' and error = ''"
        with readable(self._run.path):
            (number,) = self._run.db.execute(f"select count(*) {where}").fetchone()
            # Scattered, as every second call may be to another judge.
            rows = self._run.db.execute(
                f"select provider, model, identity {where}"
                " and (call.id * 2654435761 >> 16) % ? = 0 order by call.id",
                (max(1, -(-number // most)),),
            )
            for row in rows:
                yield cast("tuple[str, str, bytes]", sound(row, (str, str, bytes)))

    def empty_answers(self) -> tuple[int, int]:
        """How many of the subjects' answers have no text, and how many of those were cut off before their first word.

        Replayed ones and those of all takes count.
        """
        chosen = f"and trial in (select idx from {self._run.table()})" if self._run.narrowed else ""  # noqa: S608 (one of two names)
        with readable(self._run.path):
            empty, cut_off = self._run.db.execute(
                f"""
                select count(*), coalesce(sum(message = ?), 0) from reply join call on call.id = reply.call
                where message in (?, ?) and error = '' and role = 'subject' {chosen}
                """,  # noqa: S608 (fixed texts)
                (_CUT_OFF, _CUT_OFF, _EMPTY),
            ).fetchone()
        return empty, cut_off

    def spend(self) -> Spend:
        """What its calls came to, over all sessions. Of one that was settled elsewhere, what its trials say.

        Of trials that were chosen (`only`) it is what they cost themselves.
        """
        if self._run.narrowed or "imported" in self._run.meta.settings:
            totals = self.totals()
            return Spend(totals.calls - totals.cached, totals.cost_usd, 0, 0, 0.0)
        with readable(self._run.path):
            calls, unpriced, cost, wasted = self._run.db.execute(
                """
                select coalesce(sum(attempts > 0), 0), sum(error = '' and cost_usd is null), round(total(cost_usd), 10),
                       coalesce(sum(wasted), 0)
                from reply where origin = 'provider'
                """
            ).fetchone()
        doubtful = self.in_doubt()
        bounds = [record.start.cost_bound_usd for record in doubtful]
        return Spend(
            calls=calls,
            cost_usd=None if unpriced or not self._run.meta.knows_all_calls else cost,
            wasted=wasted,
            in_doubt=len(doubtful),
            in_doubt_usd=None if None in bounds else sum(b for b in bounds if b is not None),
        )

    def waits(self) -> tuple[int, float, float]:
        """How many answers came over the network, how many seconds they waited here, and how many the models took."""
        if not _has_times(self._run.db):
            return 0, 0.0, 0.0
        chosen = f"and trial in (select idx from {self._run.table()})" if self._run.narrowed else ""  # noqa: S608 (one of two names)
        with readable(self._run.path):
            return self._run.db.execute(
                f"""
                select count(*), total(queued_s), total(latency_s) from reply join call on call.id = reply.call
                where queued_s is not null and latency_s is not null {chosen}
                """  # noqa: S608 (fixed texts)
            ).fetchone()


_EMPTY, _CUT_OFF = write_text(EMPTY), write_text(CUT_OFF)
"""These messages as they lie in `reply`."""
_ASKED_AGAIN = """exists (
    select 1 from call again join reply answer on answer.call = again.id
    where again.trial = call.trial and again.key = call.key and again.nth = call.nth
          and (answer.error = '' or answer.attempts > 0 and again.id > call.id)
)"""
"""Whether another call made the same request, and was answered, or came later."""
CALLS = "call left join reply on reply.call = call.id left join body on body.call = call.id"
_CALL_COLUMNS = (
    "call.trial, call.key, call.nth, call.role, call.provider, call.identity, call.bound_usd, call.draw, "
    "body.body, reply.origin, reply.latency_s, reply.tokens_in, reply.tokens_out, reply.cost_usd, "
    "reply.model, reply.attempts, reply.wasted, reply.error, reply.message"
)
_TIMES = ", reply.first_byte_s, reply.queued_s"


def columns_in(db: sqlite3.Connection) -> str:
    """The columns of `CALLS` that make a CallRecord. Files of earlier versions lack some, which are null there."""
    return _CALL_COLUMNS + (_TIMES if _has_times(db) else ", null, null")


def _has_times(db: sqlite3.Connection) -> bool:
    known = db.execute("select 1 from pragma_table_info('reply') where name = 'queued_s'")
    return known.fetchone() is not None


_NOT_OUT = (
    "and call.id not in (select call from batch_call join batch on batch.id = batch_call.batch"
    " where batch.state in ('out', 'cancelling'))"
)
_TOOL_COLUMNS = "trial, name, key, nth, arguments, result, error, replayed"

_Types = tuple[type | tuple[type, ...], ...]
_INT, _FLOAT = (int, NoneType), (float, NoneType)
_START: _Types = (int, str, int, str, str, bytes, _FLOAT, str)
_END: _Types = (bytes, str, _FLOAT, _INT, _INT, _FLOAT, str, int, int, str, bytes, _FLOAT, _FLOAT)
_ANSWER: _Types = (int, str, str)
_TOOL: _Types = (int, str, str, int, bytes, bytes, bytes)
_ENDED: _Types = (int, int, str, int, str, str, str, int, str)


def sound(row: tuple[Any, ...], types: _Types) -> tuple[Any, ...]:
    """The row, if its columns are of these types: SQLite takes any value for any column.

    Raises:
        ValueError: One is not; the file is damaged.
    """
    if not all(map(isinstance, row, types)):
        raise ValueError(f"a row holds what its table does not: {row!r:.200}")
    return row


def call_record(row: tuple[object, ...]) -> CallRecord:
    """A call from the columns above.

    Raises:
        ValueError: The file is damaged.
    """
    start = CallStart(*sound(row[:8], _START))
    # A reply and its body are written together: without a body there is no end.
    if row[8] is None:
        return CallRecord(start, None)
    *end, message, first_byte_s, queued_s = sound(row[8:], _END)
    return CallRecord(
        start,
        CallEnd(*end, message=read_text(message), first_byte_s=first_byte_s, queued_s=queued_s),
    )


BATCH_COLUMNS = (
    "id, wave, vendor, address, account, model, endpoint, requests, state, vendor_id, intended_at, submitted_at, "
    "ended_at, bound_usd, message"
)


class RunBatches(ReadsRun):
    """Reads the batches of an open run file."""

    def batches(self) -> list[BatchRecord]:
        """All batches of the run, in the order in which they were made; empty for a run that has none."""
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return []
            rows = self._run.db.execute(f"select {BATCH_COLUMNS} from batch order by rowid")  # noqa: S608 (fixed text)
            return [batch_record(row) for row in rows]

    def batched(self, batch: str) -> list[tuple[int, CallStart]]:
        """The calls of a batch that have no end, each with its id."""
        with readable(self._run.path):
            rows = self._run.db.execute(
                f"select call.id, {columns_in(self._run.db)} from {CALLS} join batch_call on batch_call.call = call.id"  # noqa: S608 (fixed text)
                " where batch_call.batch = ? and reply.call is null order by call.id",
                (batch,),
            )
            return [(number, call_record(tuple(row)).start) for number, *row in rows]

    def depths(self) -> Depths:
        """In how many waves each trial had new calls, and which calls no batch has answered: (trial, key, nth).

        A call that a batch didn't answer, and that was submitted again, is no new one.
        """
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return {}, set()
            calls = (
                "select trial, key, nth, min(wave) as wave, coalesce(max(reply.error = ''), 0) as answered"
                " from batch_call join batch on batch.id = batch_call.batch join call on call.id = batch_call.call"
                " left join reply on reply.call = call.id where batch.state != 'refused' group by trial, key, nth"
            )
            waves = self._run.db.execute(
                f"select trial, count(distinct wave) from ({calls}) group by trial"  # noqa: S608 (fixed text)
            ).fetchall()
            unanswered = self._run.db.execute(
                f"select trial, key, nth from ({calls}) where not answered"  # noqa: S608 (the same)
            ).fetchall()
            return dict(waves), set(unanswered)

    def batched_usd(self, variants: Collection[int] | None = None) -> dict[tuple[str, str], float]:
        """What calls came to that batches answered, by role and model as asked for; unknown prices are left out.

        Args:
            variants: Of the trials of these columns; None for all calls of the run.
        """
        chosen, columns = _of_columns(self._run, variants)
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return {}
            rows = self._run.db.execute(
                f"""
                select role, provider, total(cost_usd)
                from batch_call join call on call.id = batch_call.call join reply on reply.call = call.id
                where error = '' {chosen} group by role, provider
                """,  # noqa: S608 (fixed texts)
                columns,
            )
            return {(role, provider): cost for role, provider, cost in rows}


def batch_record(row: tuple[object, ...]) -> BatchRecord:
    """A batch from the columns above.

    Raises:
        ValueError: The file is damaged.
    """
    *most, message = row
    record = BatchRecord(*most, message=read_text(cast("bytes", message)))  # pyright: ignore[reportArgumentType]
    if record.state not in _STATES:
        raise ValueError(f"a batch holds what its table does not: {row!r:.200}")
    return record


def batch_row(record: BatchRecord) -> tuple[object, ...]:
    """The columns of a batch."""
    return (
        record.id,
        record.wave,
        record.vendor,
        record.address,
        record.account,
        record.model,
        record.endpoint,
        record.requests,
        record.state,
        record.vendor_id,
        record.intended_at,
        record.submitted_at,
        record.ended_at,
        record.bound_usd,
        write_text(record.message),
    )


_STATES: frozenset[BatchState] = frozenset(
    ("intended", "out", "cancelling", "collected", "refused", "gone", "given_up")
)


def _of_columns(run: OpenRun, variants: Collection[int] | None) -> tuple[str, list[int]]:
    """The condition for calls of the trials of these columns, with what it takes; empty for all calls."""
    if variants is None:
        return "", []
    marks = ",".join("?" * len(variants))
    chosen = f"select idx from {run.table()} where variant in ({marks})"  # noqa: S608 (one of two names)
    return f"and trial in ({chosen})", sorted(variants)
