"""The one writer of a run file: every call before it is sent, every reply before anybody sees it, every result.

After the first write that fails, `begin` raises, so nothing more is sent: money must not be spent on replies that
cannot be kept. What is in flight is still written when it comes, into room that was set aside for it (see `room`); what
finds none is held in memory, and written once more when the run ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evenhand.core.application_code import ApplicationCode, joined_code
from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError
from evenhand.core.packed_steps import written_steps
from evenhand.core.run import (
    CallEnd,
    CallRecord,
    CallStart,
    RunMeta,
    RunStatus,
    ToolRecord,
    TrialResult,
)
from evenhand.core.score import Scale
from evenhand.core.secrets import Secrets, known
from evenhand.store.calls import BatchRecord, Depths, batch_row
from evenhand.store.decoding import read_result
from evenhand.store.detail import Parts, numbers_of, put_together
from evenhand.store.earlier import EarlierSessions, Settled
from evenhand.store.encoding import keep, write_text, written_case
from evenhand.store.home import Lock, lock_of, make_folder
from evenhand.store.opened import DURABLE, begin, connect, own_meta
from evenhand.store.replacing import created, remove_run
from evenhand.store.runfile import RunFile
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare
from evenhand.store.writer import (
    BATCH,
    BATCHED,
    CALL,
    COLLECT,
    META,
    PART,
    REPLY,
    SCALE,
    STEP,
    SUBMIT,
    TOOL,
    TRIAL,
    Row,
    Writer,
    remedy,
)

BACKLOG = 2_000
_LONGEST_PATH = 480  # bytes: SQLite takes 512, with what it puts behind the name of a file
_FILES = 6  # that SQLite and a reader beside it may have open at once
GIVEN_UP = "given-up"
"""In place of an error's slug: the run was stopped before the call was sent, or between two attempts."""


class Journal:
    """Writes one run file. Made by `create` or `reopen`, ended by `finish`."""

    def __init__(
        self,
        path: Path,
        meta: RunMeta,
        lock: Lock,
        db: sqlite3.Connection,
        secrets: Secrets,
        earlier: EarlierSessions | None = None,
    ) -> None:
        self.path = path
        self.meta = meta
        self.resumed = earlier is not None
        earlier = earlier or EarlierSessions(meta.plan_size)
        self.spent_usd, self.bills = earlier.spent_usd, earlier.bills
        self._lock = lock
        self._db = db
        self._secrets = secrets
        self._writer = Writer(path, db, secrets)
        self._next_call = earlier.next_call
        self._pending = 0
        self._earlier = earlier
        self._parts = Parts(earlier.next_part)
        self._reader: RunFile | None = None
        self._scales: dict[tuple[int, str], Scale] = {}
        self._counting = threading.Lock()

    @classmethod
    def create(cls, folder: Path, meta: RunMeta, *, replaces: bool = False) -> Journal:
        """Makes a new run file in this folder, and sees to it that it can be written before anything is paid for.

        Args:
            folder: The one that keeps runs.
            replaces: Whether a file of this run that is there, and that nobody writes, makes room.

        Raises:
            StoreError: The folder or the file cannot be written.
        """
        path = folder / f"{meta.id}.db"
        known.learn_environment(os.environ)
        lock: Lock | None = None
        db: sqlite3.Connection | None = None
        complete = False
        try:
            make_folder(folder)
            lock = Lock(lock_of(path), f"run {meta.id}")
            if replaces:
                remove_run(path)
            # Whoever is killed here leaves no half file, which would be the latest run.
            with created(path, 0o600, "new") as file:
                begin(file, meta)
            complete = True
            db = connect(path)
            # This begins the log: if it vanishes, that is noticed. The first row syncs it, and its folder.
            db.execute("pragma synchronous = off")
            db.execute("update run set meta = meta")
            db.execute(DURABLE)
        except (OSError, sqlite3.Error) as error:
            remedy = _remedy(error, path)
            if db is not None:
                db.close()
            if complete:
                remove_run(path)
            if lock is not None:
                lock.release()
            raise StoreError(
                f"runs cannot be kept in {folder}: {getattr(error, 'strerror', None) or error}",
                hint=f"{remedy} Nothing was sent.",
            ) from error
        return cls(path, meta, lock, db, known)

    @classmethod
    def reopen(cls, path: Path, *, anew: bool = False) -> Journal:
        """Opens an unfinished run to go on with it.

        Args:
            anew: What trials in error were answered is forgotten: they ask again, and it is paid for again.

        Raises:
            StoreError: It cannot be read or written, or another process is writing it.
        """
        with RunFile.open(path) as run:
            id_ = run.meta.id
        lock: Lock | None = None
        earlier: EarlierSessions | None = None
        db: sqlite3.Connection | None = None
        try:
            lock = Lock(lock_of(path), f"run {id_}")
            last_write = _last_write(path)
            earlier = EarlierSessions.read(path, anew=anew)
            db = connect(path)
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            # Read under the lock: whoever held it before may have noted more until the end.
            before = own_meta(db, path)
            # Without an end it was cut off: at its last write, or just after.
            stopped = last_write if before.finished_at is None else before.finished_at
            idle = before.idle_s + max(0.0, time.time() - stopped)
            meta = replace(before, status="running", finished_at=None, message="", idle_s=idle)
            db.execute("update run set meta = ? where id = ?", (encode(meta), meta.id))
        except (OSError, sqlite3.Error, StoreError) as error:
            for opened in (earlier, db):
                if opened is not None:
                    opened.close()
            if lock is not None:
                lock.release()
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{path} cannot be written: {error}", hint=f"{remedy(error)}, and try again."
            ) from error
        known.learn_environment(os.environ)
        return cls(path, meta, lock, db, known, earlier)

    # What earlier sessions left

    def settled(self) -> Settled:
        """The trials that have a verdict, or to which nothing applied; those that ended in an error have not."""
        return self._earlier.settled

    def recorded(self, trial: int, key: str, nth: int) -> CallEnd | None:
        """The reply that an earlier session of this run received to the n-th such request of this trial.

        Raises:
            StoreError: It cannot be read.
        """
        return self._earlier.recorded(trial, key, nth)

    def compared(self, trials: Sequence[int], key: str, nth: int) -> CallEnd | None:
        """An earlier session's reply to the n-th such request of any of these trials, compared with each other.

        Raises:
            StoreError: It cannot be read.
        """
        return self._earlier.compared(trials, key, nth)

    def answered(self, key: str, draw: str) -> CallEnd | None:
        """The reply that an earlier session received to this draw of the request, for whichever trial.

        Raises:
            StoreError: It cannot be read.
        """
        return self._earlier.answered(key, draw)

    def replies(self, index: int) -> list[tuple[str, int, CallEnd]]:
        """All replies to this trial's requests so far, this session's included, as (key, n-th such request, reply).

        Raises:
            StoreError: They cannot be read.
        """
        if self._reader is None:
            self._reader = RunFile.open(self.path)
        first = self._earlier.next_call if self._earlier.forgets(index) else 0
        return self._reader.replies(index, first)

    def result(self, index: int) -> TrialResult | None:
        """The result of this trial, as far as it is on disk: an earlier session's, or one of some time ago.

        Raises:
            StoreError: It cannot be read.
        """
        if self._reader is None:
            self._reader = RunFile.open(self.path)
        return self._reader.trial(index)

    def stale(self, index: int, after: Sequence[int]) -> bool:
        """Whether this trial rests on one, of those that it comes after, that has another result by now."""
        return self._earlier.takes.stale(index, after)

    def again(self, index: int) -> None:
        """A trial that has a verdict is to be settled once more: what it was made from is no longer so."""
        self._earlier.takes.again(index)

    def follow(self, index: int, after: Sequence[int]) -> None:
        """A trial is to be settled after these, and rests on what they come to."""
        takes = self._earlier.takes
        takes.follow(index, after, first=index not in self.settled() and not takes.in_error(index))

    def in_doubt(self) -> list[CallRecord]:
        """The calls that earlier sessions began and whose end nobody knows."""
        return self._earlier.in_doubt

    def tool(self, trial: int, key: str, nth: int) -> ToolRecord | None:
        """What the n-th such call of a tool returned in an earlier session or pass of this run.

        Raises:
            StoreError: It cannot be read.
        """
        return self._earlier.tool(trial, key, nth)

    def batches(self) -> list[tuple[BatchRecord, list[tuple[int, CallStart]]]]:
        """The batches of earlier sessions, each with its calls that have no end, by their ids.

        Raises:
            StoreError: They cannot be read.
        """
        return self._earlier.batches()

    def depths(self) -> Depths:
        """In how many waves of earlier sessions each trial had new calls, and which calls no batch has answered.

        Raises:
            StoreError: They cannot be read.
        """
        return self._earlier.depths()

    async def turn(self) -> None:
        """From here on, what this session recorded is found like what earlier ones did.

        Raises:
            StoreError: It cannot be written or read.
        """
        # When this is durable, so is all that was written before it.
        await self._writer.durable(META, (encode(self.meta), self.meta.id))
        self._earlier.turn(self.path, self._next_call)

    # Writing

    async def submit(self, record: BatchRecord, starts: Sequence[CallStart]) -> list[int]:
        """Makes the intent to submit a batch durable, with its calls, whose ids are returned in their order.

        Raises:
            StoreError: It cannot be written, so it must not be submitted.
        """
        first = self._next_call
        self._next_call = first + len(starts)
        ids = list(range(first, self._next_call))
        calls = [
            _call_row(call, start, start.cost_bound_usd)
            for call, start in zip(ids, starts, strict=True)
        ]
        lines: list[Row] = [(call, record.id) for call in ids]
        await self._writer.durable(
            SUBMIT, ((CALL, calls), (BATCHED, lines), (BATCH, [batch_row(record)]))
        )
        return ids

    async def note_batch(
        self, record: BatchRecord, ends: Sequence[tuple[int, CallEnd]] = ()
    ) -> None:
        """Makes durable how far a batch is, and what became of these of its calls.

        Raises:
            StoreError: It cannot be written now; it is kept in memory and written once more at the end.
        """
        replies = [_reply_row(call, end) for call, end in ends]
        await self._writer.durable(COLLECT, ((REPLY, replies), (BATCH, [batch_row(record)])))

    async def begin(self, start: CallStart) -> int:
        """Makes the intent to send a call durable, and names the call.

        Raises:
            StoreError: It cannot be written, so the call must not be sent.
        """
        call = self._next_call
        self._next_call = call + 1
        row = _call_row(call, start, start.cost_bound_usd)
        try:
            await self._writer.durable(CALL, row)
        except asyncio.CancelledError:  # the row may be written all the same
            self.drop(call, 0, 0)
            raise
        return call

    def end(self, call: int, end: CallEnd) -> Awaitable[None]:
        """Makes what became of a call durable.

        Raises:
            StoreError: It cannot be written now; it is kept in memory and written once more at the end.
        """
        return self._writer.durable(REPLY, _reply_row(call, end))

    def drop(self, call: int, attempts: int, wasted: int) -> None:
        """Records, when there is time, that a call was given up while nothing of it was under way: it is not in doubt.

        Args:
            call: As `begin` named it.
            attempts: How many times it had been sent.
            wasted: How many of those may have been charged for.
        """
        end = CallEnd(b"", "provider", attempts=attempts, wasted=wasted, error=GIVEN_UP)
        if self._writer.failed is None:
            self._writer.put(REPLY, _reply_row(call, end))

    def note(self, start: CallStart, end: CallEnd) -> None:
        """Records a call that cost nothing, when there is time."""
        call = self._next_call
        self._next_call = call + 1
        self._writer.put(CALL, _call_row(call, start, None))
        self._writer.put(REPLY, _reply_row(call, end))

    def note_tool(self, record: ToolRecord) -> None:
        """Records a call of a tool, when there is time. Any thread may."""
        row = (record.trial, record.name, record.key, record.nth)
        data = (record.arguments, record.result, record.error, int(record.replayed))
        self._writer.put(TOOL, row + data)

    def note_code(self, name: str, code: str) -> None:
        """Adds a part to `RunMeta.code`, when there is time."""
        with self._counting:
            self.meta = replace(self.meta, code=joined_code(self.meta.code, {name: code}))
            self._writer.put(META, (encode(self.meta), self.meta.id))

    def note_unrecorded(self, call: str) -> None:
        """Counts a call of a recording client's that belongs to no trial, when there is time. Any thread may."""
        # Several threads may count at once; without the lock, one of their numbers would be lost.
        with self._counting:
            name = self._secrets.text(call)
            times = self.meta.unrecorded.get(name, 0) + 1
            self.meta = replace(self.meta, unrecorded={**self.meta.unrecorded, name: times})
            self._writer.put(META, (encode(self.meta), self.meta.id))

    async def settle(self, result: TrialResult) -> TrialResult:
        """Records a result. Returns at once, unless the disk is far behind.

        Returns:
            The result as it is kept: without secrets, and an error, where what it holds cannot be written.

        Raises:
            StoreError: Nothing can be written any more.
        """
        sound, written = keep(result)
        clean = written.without(self._secrets)
        if clean is not written:
            sound, written = read_result(put_together(numbers_of(sound), clean)), clean
        self._note_scales(sound)
        of_case, of_test = map(self._part, written[:2])
        carried: Row = (of_case, of_test, written.detail)
        take = self._earlier.takes.next(sound.index)
        if result.steps:
            for first, steps in written_steps(result.steps, self._secrets):
                self._writer.put(STEP, (sound.index, take, first, steps))
        if self._earlier.takes.begins_above(sound.index):
            self._writer.put(TRIAL, _trial_row(sound, 0) + carried)  # every trial has a take 0
        row = _trial_row(sound, take) + carried
        self._earlier.takes.stored(sound.index, take)
        self._pending += 1
        # One result in so many waits for the disk, so no more than these pile up in memory.
        if self._pending < BACKLOG and self._writer.failed is None:
            self._writer.put(TRIAL, row)
            return sound
        await self._writer.durable(TRIAL, row)
        self._pending = 0
        return sound

    def _part(self, part: bytes) -> int | None:
        """The id of this part in the run file, where it is written at the latest with whatever is written next."""
        number, new = self._parts.add(part)
        if new:
            self._writer.put(PART, (number, part))
        return number

    def _note_scales(self, result: TrialResult) -> None:
        """Keeps what scorers say of the ends of their scales, where it is new."""
        scales = [(o.metric or o.name, o.scale) for o in result.outcomes if o.scale is not None]
        if result.scale is not None:
            scales.append(("", result.scale))
        for metric, (low, high) in scales:
            key = result.variant, metric
            least, most = self._scales.get(key, (math.inf, -math.inf))
            if low < least or high > most:
                self._scales[key] = min(low, least), max(high, most)
                self._writer.put(SCALE, (result.variant, encode(metric or None), low, high))

    def write_in_batches(self, rows: int) -> None:
        """Has results written so many rows at a time, and not as they come."""
        self._writer.batch = rows

    async def finish(
        self,
        status: RunStatus,
        message: str = "",
        decided: Mapping[str, Any] | None = None,
        code: ApplicationCode | None = None,
    ) -> None:
        """Writes what is left and how the run ended, and makes the run one file again.

        Args:
            decided: What the trials decided, where the run was to end as soon as they did.
            code: The application's code; of it, what was imported since the run began is added.

        Raises:
            StoreError: Something could not be written, even now.
        """
        self.meta = replace(
            self.meta,
            status=status,
            message=message,
            finished_at=time.time(),
            decided=decided or {},
            code={**(code or {}), **self.meta.code},
        )
        # If this fails, `close` tries once more.
        if self._writer.failed is None:
            with contextlib.suppress(StoreError):
                await self._writer.durable(META, (encode(self.meta), self.meta.id))
        self.close()

    def close(self) -> None:
        """Writes what is left and lets go of the file.

        Raises:
            StoreError: Something could not be written, even now.
        """
        if not self._writer.alive:
            return
        self._writer.stop()
        # An open reader would keep the log from being truncated below.
        for reader in (self._earlier, self._reader):
            if reader is not None:
                reader.close()
        writer = self._writer
        error: Exception | None = writer.gone()
        try:
            ending: tuple[int, Row] = (META, (encode(self.meta), self.meta.id))
            if writer.spool or writer.failed is not None:
                writer.end(ending)
            self._db.execute("pragma wal_checkpoint(truncate)")
            # All is on the disk now but that there is no log, which makes no difference after a power cut.
            self._db.execute("pragma synchronous = off")
            # Where somebody is reading it, the files beside it stay.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("pragma journal_mode = delete")
        except Exception as failure:  # noqa: BLE001 (as above: whatever it is, it is said, and the lock is let go)
            # Where nothing is lost but how it ended, and why it stopped has been said, there is no more to say.
            if writer.failed is None or any(kind != META for kind, _ in writer.spool):
                error = error or failure
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        self._lock.release()
        if isinstance(error, StoreError):
            raise error
        if error is not None:
            lost, way = sum(kind in (REPLY, TRIAL) for kind, _ in writer.spool), remedy(error)
            raise StoreError(
                f"{self.path} could not be written to its end: {error}",
                hint=f"{lost} replies and results are lost. {way}, and `evenhand resume`."
                if lost
                else f"Nothing is lost: the rest is in {self.path.name}-wal beside it. {way}, and `evenhand resume`.",
            ) from error


def _trial_row(result: TrialResult, take: int) -> Row:
    return (
        result.index,
        take,
        written_case(result.case),
        result.variant,
        result.repeat,
        result.outcome,
        result.score,
        result.latency_s,
        result.calls,
        result.cached,
        result.cost_usd,
        result.tokens_in,
        result.tokens_out,
    )


def _remedy(error: Exception, path: Path) -> str:
    """What to do about a run file that cannot be made: SQLite does not say why."""
    with contextlib.ExitStack() as opened:
        try:
            # It is tried out, because SQLite says no more than that it cannot open the file.
            for _ in range(_FILES):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            if failure.errno in (errno.EMFILE, errno.ENFILE):
                return "Too many files are open: allow more with `ulimit -n 1024`."
    if getattr(error, "errno", None) in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "Name a folder that can be written with EVENHAND_HOME."
    if len(os.fsencode(path.absolute())) > _LONGEST_PATH:
        return (
            "Its path is too long for SQLite: name a folder with a shorter one with EVENHAND_HOME."
        )
    way = remedy(error)
    return (
        f"{way}."
        if "EVENHAND_HOME" in way
        else f"{way}, or name another folder with EVENHAND_HOME."
    )


def _call_row(call: int, start: CallStart, bound_usd: float | None) -> Row:
    return (
        call,
        start.trial,
        start.key,
        start.nth,
        start.role,
        start.provider,
        start.identity,
        bound_usd,
        start.draw,
    )


def _reply_row(call: int, end: CallEnd) -> Row:
    return (
        call,
        end.origin,
        end.latency_s,
        end.tokens_in,
        end.tokens_out,
        end.cost_usd,
        end.model.encode("utf-8", "replace").decode(),  # a model may call itself anything
        end.attempts,
        end.wasted,
        end.error,
        write_text(end.message),
        end.first_byte_s,
        end.queued_s,
        end.body,
    )


def _last_write(path: Path) -> float:
    """When a run's file, or the log beside it, was last written; seconds since 1970."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return max(file.stat().st_mtime for file in files if file.exists())
