"""The one writer of a run file: every call before it is sent, every reply before anybody sees it, every result.

The first write that fails is the last: money must not be spent on replies that cannot be kept. From then on `begin`
raises, so nothing more is sent; what was received is held in memory and written once more when the run ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError
from evenhand.core.run import CallEnd, CallRecord, CallStart, RunMeta, RunStatus, TrialResult
from evenhand.core.score import Scale
from evenhand.core.secrets import Secrets, known
from evenhand.store.encoding import keep, read_result, write_text
from evenhand.store.locks import Lock, lock_of
from evenhand.store.runfile import RunFile
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare
from evenhand.store.writer import CALL, META, REPLY, SCALE, TRIAL, Row, Writer

BACKLOG = 2_000
_FILES = 6  # that SQLite and a reader beside it may have open at once
GIVEN_UP = "given-up"
"""In place of an error's slug: the run was stopped before the call was sent, or between two attempts."""


class Settled:
    """The trials that need no more work: a bit for each place in the plan."""

    def __init__(self, size: int) -> None:
        self._bits = bytearray(size // 8 + 1)
        self._count = 0

    def __contains__(self, index: int) -> bool:
        return (
            bool(self._bits[index >> 3] & 1 << (index & 7))
            if index >> 3 < len(self._bits)
            else False
        )

    def __len__(self) -> int:
        return self._count

    def add(self, index: int) -> None:
        """Marks a place."""
        if index not in self and index >> 3 < len(self._bits):
            self._bits[index >> 3] |= 1 << (index & 7)
            self._count += 1


class Journal:
    """Writes one run file. Made by `create` or `reopen`, ended by `finish`."""

    def __init__(
        self, path: Path, meta: RunMeta, lock: Lock, db: sqlite3.Connection, secrets: Secrets
    ) -> None:
        self.path = path
        self.meta = meta
        self.resumed = False
        self.spent_usd = 0.0
        self.bills: list[tuple[str, int, float]] = []
        self._lock = lock
        self._db = db
        self._secrets = secrets
        self._writer = Writer(path, db, secrets)
        self._next_call = 1
        self._pending = 0
        self._takes: dict[int, int] = {}
        self._settled = Settled(meta.planned)
        self._earlier: RunFile | None = None
        self._reader: RunFile | None = None
        self._recorded: dict[tuple[int, str, int], int] = {}
        self._answers: dict[tuple[str, str], int] = {}
        self._in_doubt: list[CallRecord] = []
        self._scales: dict[tuple[int, str], Scale] = {}

    @classmethod
    def create(cls, folder: Path, meta: RunMeta) -> Journal:
        """Makes a new run file in this folder, and sees to it that it can be written before anything is paid for.

        Args:
            folder: The one that keeps runs.
            meta: What the run is.

        Raises:
            StoreError: The folder or the file cannot be written.
        """
        path = folder / f"{meta.id}.db"
        known.learn_environment(os.environ)
        lock: Lock | None = None
        db: sqlite3.Connection | None = None
        made = False
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = Lock(lock_of(path), f"run {meta.id}")
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            made = True
            db = _connect(path)
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            db.execute(
                "insert into run values (?, ?)",
                (meta.id, known.without(encode(meta))),
            )
        except (OSError, sqlite3.Error) as error:
            remedy = _remedy(error)
            if db is not None:
                db.close()
            if made:
                _forget(path)  # half a file would be the latest run
            if lock is not None:
                lock.release()
            raise StoreError(
                f"runs cannot be kept in {folder}: {error}",
                hint=f"{remedy} Nothing was sent.",
            ) from error
        return cls(path, meta, lock, db, known)

    @classmethod
    def reopen(cls, path: Path, *, anew: bool = False) -> Journal:
        """Opens an unfinished run to go on with it.

        Args:
            path: Its file.
            anew: What trials in error were answered is forgotten: they ask again, and it is paid for again.

        Raises:
            StoreError: It cannot be read or written, or another process is writing it.
        """
        with RunFile.open(path) as run:
            meta = run.meta
        lock: Lock | None = None
        try:
            lock = Lock(lock_of(path), f"run {meta.id}")
            db = _connect(path)
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            meta = replace(meta, status="running", finished_at=None, message="")
            db.execute("update run set meta = ? where id = ?", (encode(meta), meta.id))
        except (OSError, sqlite3.Error) as error:
            if lock is not None:
                lock.release()
            raise StoreError(f"{path} cannot be written: {error}") from error
        except StoreError:
            if lock is not None:
                lock.release()
            raise
        known.learn_environment(os.environ)
        journal = cls(path, meta, lock, db, known)
        try:
            journal._remember(anew=anew)
        except (StoreError, sqlite3.Error) as error:
            with contextlib.suppress(StoreError):
                journal.close()
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{path} cannot be read: {error}",
                hint="It is damaged. Other runs are not affected.",
            ) from error
        return journal

    def _remember(self, *, anew: bool) -> None:
        """What earlier sessions left: settled trials, replies of those that are not, calls without an end."""
        self.resumed = True
        self._earlier = run = RunFile.open(self.path)
        for index, take, outcome in self._db.execute("select idx, take, outcome from latest"):
            if outcome == "error":
                self._takes[index] = take + 1
            else:
                self._settled.add(index)
        self._next_call = self._db.execute("select coalesce(max(id), 0) + 1 from call").fetchone()[
            0
        ]
        for number, trial, key, nth, draw in run.answers():
            if trial not in self._settled and not (anew and trial in self._takes):
                self._recorded[trial, key, nth] = number
            self._answers[key, draw] = number
        self._in_doubt = run.in_doubt()
        self.spent_usd, self.bills = run.most_spent(), run.bills()

    # What earlier sessions left

    def settled(self) -> Settled:
        """The trials that have a verdict, or to which nothing applied; those that ended in an error have not."""
        return self._settled

    def recorded(self, trial: int, key: str, nth: int) -> CallEnd | None:
        """The reply that an earlier session of this run received to the n-th such request of this trial."""
        return self._read(self._recorded.get((trial, key, nth)))

    def answered(self, key: str, draw: str) -> CallEnd | None:
        """The reply that an earlier session received to this draw of the request, for whichever trial."""
        return self._read(self._answers.get((key, draw)))

    def _read(self, number: int | None) -> CallEnd | None:
        if number is None or self._earlier is None:
            return None
        record = self._earlier.call(number)
        return record.end if record else None

    def result(self, index: int) -> TrialResult | None:
        """The result of this trial, as far as it is on disk: an earlier session's, or one of some time ago.

        Raises:
            StoreError: It cannot be read.
        """
        if self._reader is None:
            self._reader = RunFile.open(self.path)
        return self._reader.trial(index)

    def again(self, index: int) -> None:
        """A trial that has a verdict is to be settled once more: what it was made from is no longer so."""
        self._takes[index] = self._db.execute(
            "select coalesce(max(take), -1) + 1 from trial where idx = ?", (index,)
        ).fetchone()[0]

    def correct(self, index: int) -> None:
        """A trial that this session has settled is to be settled once more."""
        self._takes[index] = self._takes.get(index, 0) + 1

    def in_doubt(self) -> list[CallRecord]:
        """The calls that earlier sessions began and whose end nobody knows."""
        return self._in_doubt

    # Writing

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

    async def end(self, call: int, end: CallEnd) -> None:
        """Makes what became of a call durable.

        Raises:
            StoreError: It cannot be written now; it is kept in memory and written once more at the end.
        """
        await self._writer.durable(REPLY, _reply_row(call, end))

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

    async def settle(self, result: TrialResult) -> TrialResult:
        """Records a result. Returns at once, unless the disk is far behind.

        Returns:
            The result as it is kept: without secrets, and an error, where what it holds cannot be written.

        Raises:
            StoreError: Nothing can be written any more.
        """
        kept, data = keep(result)
        clean = self._secrets.without(data)
        if clean is not data:
            kept, data = read_result(clean), clean
        row = self._trial_row(kept, data)
        self._note_scales(kept)
        if self._writer.failed is not None:
            self._writer.spool.append((TRIAL, row))
            raise self._writer.failed
        self._pending += 1
        if self._pending < BACKLOG:
            self._writer.put(TRIAL, row)
            return kept
        await self._writer.durable(TRIAL, row)
        self._pending = 0
        return kept

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

    async def finish(self, status: RunStatus, message: str = "") -> None:
        """Writes what is left and how the run ended, and makes the run one file again.

        Raises:
            StoreError: Something could not be written, even now.
        """
        self.meta = replace(self.meta, status=status, message=message, finished_at=time.time())
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
        for reader in (self._earlier, self._reader):
            if reader is not None:
                reader.close()
        error: Exception | None = None
        try:
            ending: tuple[int, Row] = (META, (encode(self.meta), self.meta.id))
            if self._writer.spool:
                self._writer.end(ending)
            elif self._writer.failed is not None:
                with contextlib.suppress(sqlite3.Error):  # nothing is lost but how it ended
                    self._writer.end(ending)
            self._db.execute("pragma wal_checkpoint(truncate)")
            with contextlib.suppress(
                sqlite3.Error
            ):  # somebody is reading it: the files beside it stay
                self._db.execute("pragma journal_mode = delete")
        except Exception as failure:  # noqa: BLE001 (as above: whatever it is, it is said, and the lock is let go)
            error = failure
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        self._lock.release()
        if error is not None:
            kept = len(self._writer.spool)
            raise StoreError(
                f"{self.path} could not be written to its end: {error}",
                hint=f"{kept} replies and results are lost; free some space and `evenhand resume`.",
            ) from error

    def _trial_row(self, result: TrialResult, data: bytes) -> Row:
        return (
            result.index,
            self._takes.get(result.index, 0),
            result.case
            if result.case.isascii()
            else result.case.encode("ascii", "backslashreplace").decode(),
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
            data,
        )


def _remedy(error: Exception) -> str:
    """What to do about a run file that cannot be made: SQLite does not say why."""
    with contextlib.ExitStack() as opened:
        try:
            for _ in range(_FILES):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            if failure.errno in (errno.EMFILE, errno.ENFILE):
                return "Too many files are open: allow more with `ulimit -n 1024`."
    if getattr(error, "errno", None) in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "Name a folder that can be written with EVENHAND_HOME."
    return "Free some space, or name another folder with EVENHAND_HOME."


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=32)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = full")
    return db


def _forget(path: Path) -> None:
    for tail in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            Path(f"{path}{tail}").unlink()


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
        end.body,
    )
