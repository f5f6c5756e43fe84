"""The thread that writes a run file.

How this works: the loop's thread lines rows up; a writer thread takes all that are there, writes them in one
transaction, syncs it to disk (WAL, synchronous=FULL), and then wakes everybody whose row was in it, all with one
message to the loop. The more callers wait, the more rows share a sync, so the cost of a call falls as the load grows.
A row wakes the writer if somebody waits for it, or after a pause: each time, the two threads pass the interpreter on.

Once a transaction has failed, no call is begun any more. The room that was set aside for what is in flight is given up,
and replies and results are still written, each as it comes; what cannot be is spooled, and tried again at the end.

Room on the disk for what is in flight is set aside before a call is sent, in a nameless file that vanishes with the
process. What is in flight when the disk fills up is written into the room that the file gives back. How much that takes
is reckoned from the replies that have come so far: each call in flight will have one, and each trial a result, each in
a transaction of its own. A limit on the size of files (`ulimit -f`) is held to in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import queue
import resource
import sqlite3
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, Final, cast

from evenhand.core.errors import StoreError
from evenhand.core.secrets import Secrets
from evenhand.store.long_outputs import LONG, cut_out

CALL, REPLY, PART, STEP, TRIAL, SCALE, META, TOOL, BATCH, BATCHED, SUBMIT, COLLECT = range(12)

_SQL: Final = {
    CALL: "insert into call values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    REPLY: "insert or ignore into reply values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    PART: "insert or ignore into part values (?, ?)",
    STEP: "insert or replace into step values (?, ?, ?, ?)",
    TRIAL: "insert into trial values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    SCALE: """
        insert into scale values (?, ?, ?, ?)
        on conflict do update set low = min(low, excluded.low), high = max(high, excluded.high)
    """,
    TOOL: """
        insert into tool (trial, name, key, nth, arguments, result, error, replayed)
        values (?, ?, ?, ?, ?, ?, ?, ?)
    """,
    META: "update run set meta = ? where id = ?",
    BATCH: "insert or replace into batch values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    BATCHED: "insert or replace into batch_call values (?, ?)",
}
_UNSENT = (CALL, SUBMIT)
"""What is written before something is sent: if it can't be, nothing is."""
_BUNDLES = (SUBMIT, COLLECT)
"""Rows of other kinds that are written together or not at all: (kind, rows), (kind, rows), …"""
_CLEAN = frozenset({PART, STEP, TRIAL, *_BUNDLES})
"""Rows that hold no secrets when they come, as those of results, or whose inner ones are looked through."""
_CARRIED: Final = {  # what lies beside the rows above: by how many leading columns, and how many last ones
    REPLY: (1, 1, "insert or ignore into body values (?, ?)"),
    TRIAL: (2, 3, "insert into detail values (?, ?, ?, ?, ?)"),
}

CROWD = 8
GATHER_S = 0.003
"""Where so many rows came at once, the next ones are waited for so long, to share a transaction."""
TOGETHER = 16
"""Rows of one table that are written with one statement, at most. SQLite takes 999 values in one, at least."""
LINGER_S = 0.01
"""Rows for which nobody waits wait so long for one that somebody waits for, to be written with it."""

# For a type without an adapter, sqlite3 looks for other ways to adapt each value, which takes longer than to write it.
# The user's code may have one of its own.
if (bytes, sqlite3.PrepareProtocol) not in sqlite3.adapters:
    sqlite3.register_adapter(bytes, bytes)

Row = tuple[object, ...]
_Item = tuple[int, Row, "asyncio.Future[None] | None"]


class Writer:
    """Writes rows, one kind of table each, in the order in which they come.

    Args:
        path: The run file, for messages.
        db: It, open for writing.
        secrets: What no row may hold. Results come without already.

    Attributes:
        failed: Why no call is begun any more; None while all is well.
        spool: What could not be written, in its order.
        batch: Rows for which nobody waits are written so many at a time; 1 writes them as they come.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, secrets: Secrets) -> None:
        self.failed: StoreError | None = None
        self.spool: list[tuple[int, Row]] = []
        self.batch = 1
        self._path = path
        self._log = Path(f"{path}-wal")
        self._db = db
        self._secrets = secrets
        self._files = [(each, _identity(each)) for each in (path, self._log)]
        self._room: Room | None = None
        self._in_flight = 0  # calls without a reply
        self._under_way: set[object] = set()  # trials that have begun calls and have no result
        self._rows: deque[_Item] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._idle = False  # no row has come for a while: the next one rings
        self._over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write, name="evenhand-journal", daemon=True)
        self._thread.start()

    def put(self, kind: int, row: Row) -> None:
        """Writes a row when there is time."""
        self._rows.append((kind, row, None))
        # Looked at once the row is there, as the writer looks for rows once it says so.
        if self._idle and self._bell.empty():
            self._bell.put(None)

    def durable(self, kind: int, row: Row) -> asyncio.Future[None]:
        """Writes a row. The future is done when it is on disk.

        Raises:
            StoreError: It cannot be written now. But for a call that was not sent, it is spooled.
        """
        if self.failed is not None and kind in _UNSENT:
            raise self.failed
        loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._rows.append((kind, row, future))
        if self._bell.empty():  # else it is going to look
            self._bell.put(None)
        return future

    @property
    def alive(self) -> bool:
        """Whether the writer has not been stopped."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Writes what waits, ends the thread, and gives up the room set aside."""
        self._over = True
        self._bell.put(None)
        self._thread.join()
        self._give_up_room()

    def gone(self) -> StoreError | None:
        """What to say where the run file is no longer at its place; None where it is."""
        missing = [
            path for path, identity in self._files if identity not in (None, _identity(path))
        ]
        if not missing:
            return None
        way = "Move it back and `evenhand resume`; if it was deleted, start again with `evenhand run`."
        if self._path not in missing:
            way = "`evenhand resume` continues from what the run file holds."
        return StoreError(
            f"{missing[0]} is gone: it was moved or deleted while the run was being written",
            hint=f"No more calls were sent. {way}",
        )

    def end(self, *rows: tuple[int, Row]) -> None:
        """Writes what was spooled, and these rows, from the thread that asks.

        Raises:
            sqlite3.Error: They cannot be written, even now; what is left stays in the spool.
        """
        items: list[_Item] = [(kind, row, None) for kind, row in (*self.spool, *rows)]
        try:
            self.store(items)
        except sqlite3.Error:
            self.spool = []
            for item in items:  # where there is no room for all, there may be for some
                if item[0] == TRIAL and self._lacks_a_part:
                    self.spool.append(item[:2])
                    continue
                try:
                    self.store([item])
                except sqlite3.Error:
                    self.spool.append(item[:2])
            raise
        self.spool.clear()

    def _write(self) -> None:
        written = 0
        while not self._over or self._rows:
            items = self._gather(crowded=written >= CROWD)
            if not items:
                continue
            written = len(items)
            if self.failed is None:
                try:
                    self._look_first(items)
                    self.store(items)
                except Exception as failure:  # noqa: BLE001 (a writer that died would leave everybody waiting)
                    self.failed = self._explain(failure)
                    self._give_up_room()
                else:
                    self._tell([future for _, _, future in items], None)
                    continue
            self._save(items)

    def _gather(self, *, crowded: bool) -> list[_Item]:
        """Waits for the rows to be written next: until somebody waits for one of them, or until no more come."""
        items: list[_Item] = []
        came = -1
        while not self._over:
            self._idle = not came and len(items) < self.batch
            if not (self._idle and self._rows):
                with contextlib.suppress(queue.Empty):
                    self._bell.get(timeout=None if self._idle else LINGER_S)
                    if crowded:
                        time.sleep(GATHER_S)
            self._idle = False
            came = len(self._rows)
            new = [self._rows.popleft() for _ in range(came)]
            items += new
            if any(future is not None for _, _, future in new):
                return items
            if not came and len(items) >= self.batch:
                return items
        items += [self._rows.popleft() for _ in range(len(self._rows))]
        return items

    def _save(self, items: Sequence[_Item]) -> None:
        """Writes what was received, though no call may be begun any more."""
        # A call that somebody waits to send is not sent, and so leaves no row; one only noted keeps its own.
        unsent = [future for kind, _, future in items if kind in _UNSENT and future is not None]
        received = [item for item in items if item[0] not in _UNSENT or item[2] is None]
        waiting = [item for item in received if item[0] == TRIAL and self._lacks_a_part]
        received = [item for item in received if item not in waiting] if waiting else received
        error: StoreError | None = None
        if received:
            try:
                self.store(received)
            except Exception:  # noqa: BLE001 (as above; why is known)
                error = self.failed
                self.spool.extend((kind, row) for kind, row, _ in received)
        self._tell([future for _, _, future in received], error)
        self.spool.extend((kind, row) for kind, row, _ in waiting)
        self._tell([future for _, _, future in waiting], self.failed)
        self._tell(unsent, self.failed)

    @property
    def _lacks_a_part(self) -> bool:
        """Whether a part is in the spool: a result that is made of it could not be read, and waits there too."""
        return any(kind == PART for kind, _ in self.spool)

    def _tell(
        self, futures: Sequence[asyncio.Future[None] | None], error: StoreError | None
    ) -> None:
        waiting = [future for future in futures if future is not None]
        if waiting and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_wake, waiting, error)

    def _look_first(self, items: Sequence[_Item]) -> None:
        """Before anything is written: is the file still there, and is there room for the replies to new calls?"""
        gone = self.gone()
        if gone is not None:
            raise gone
        begun = [row[1] for kind, row, _ in items if kind == CALL]  # each by its trial
        if not begun:
            return
        new, trials = len(begun), len(self._under_way.union(begun))
        needed = self._set_aside.needed(new, self._in_flight + new, trials)
        try:
            self._set_aside.hold(needed, beside=_size(self._log))
        except OSError:
            with contextlib.suppress(sqlite3.Error):
                # What the log holds takes far less in the run file, where there is room for that.
                self._db.execute("pragma wal_checkpoint(truncate)")
            self._set_aside.hold(needed, beside=_size(self._log))

    @property
    def _set_aside(self) -> Room:
        """Room for what is in flight: only a run with calls needs some."""
        if self._room is None:
            self._room = Room(self._path.parent)
        return self._room

    def _give_up_room(self) -> None:
        if self._room is not None:
            self._room.give_up()

    def store(self, items: Sequence[_Item]) -> None:
        """Writes rows in one transaction."""
        db = self._db
        by_kind: defaultdict[int, list[Row]] = defaultdict(list)
        for kind, row, _ in items:
            by_kind[kind].append(row)
        for kind in by_kind.keys() - _CLEAN if self._secrets else ():
            by_kind[kind] = list(map(self._clean, by_kind[kind]))
        db.execute("begin immediate")
        try:
            # Kinds are numbered in the order of writing: calls before replies, parts before the results that need them.
            for kind, rows in sorted(by_kind.items()):
                if kind not in _BUNDLES:
                    self._put(kind, rows)
                    continue
                for bundle in rows:
                    for inner, listed in cast("Sequence[tuple[int, Sequence[Row]]]", bundle):
                        self._put(inner, [self._clean(row) for row in listed])
            db.execute("commit")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("rollback")
            raise
        calls, replies = by_kind.get(CALL, ()), by_kind.get(REPLY, ())
        self._in_flight += len(calls) - len(replies)
        self._under_way.update(row[1] for row in calls)
        self._under_way.difference_update(row[0] for row in by_kind.get(TRIAL, ()))
        if replies:
            self._set_aside.learn([len(cast("bytes", row[-1])) for row in replies])

    def _put(self, kind: int, rows: Sequence[Row]) -> None:
        """Writes rows of one kind, in the transaction that is open."""
        if kind == TRIAL and any(len(cast("bytes", row[-1])) >= LONG for row in rows):
            rows = [self._kept_once(row) for row in rows]
        if kind in _CARRIED:
            key, carried, sql = _CARRIED[kind]
            self._insert(_SQL[kind], [row[:-carried] for row in rows])
            self._insert(sql, [row[:key] + row[-carried:] for row in rows])
        else:
            self._insert(_SQL[kind], rows)

    def _kept_once(self, row: Row) -> Row:
        """A trial's row, without an output that one of its answers has."""
        index, take, *_, detail = row
        cut = cut_out(self._db, cast("int", index), cast("bytes", detail))
        if cut is None:
            return row
        rest, reference = cut
        self._db.execute(
            "insert into long_output values (?, ?, ?, ?, ?, ?)", (index, take, *reference)
        )
        return (*row[:-1], rest)

    def _insert(self, sql: str, rows: Sequence[Row]) -> None:
        """Writes rows of one table, so many with one statement: for each, the thread lets go of the interpreter."""
        if not sql.endswith("?)"):  # it does something else, too
            self._db.executemany(sql, rows)
            return
        for at in range(0, len(rows), TOGETHER):
            some = rows[at : at + TOGETHER]
            self._db.execute(_together(sql, len(some)), tuple(chain.from_iterable(some)))

    def _clean(self, row: Row) -> Row:
        """The row without secrets: here all is written."""
        if not self._secrets:
            return row
        without = self._secrets.without
        return tuple([without(value) if isinstance(value, bytes) else value for value in row])

    def _explain(self, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        why = error.strerror if isinstance(error, OSError) else error
        return StoreError(
            f"{self._path} cannot be written: {why}",
            hint=f"Nothing more is sent. {remedy(error)}, and `evenhand resume`: what was received is not paid again.",
        )


@cache
def _together(sql: str, rows: int) -> str:
    """A statement that inserts one row, for so many at once."""
    start, values, places = sql.rpartition(" values ")
    return f"{start}{values}{', '.join([places] * rows)}"


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from any other; None where there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 (with each sync: three times as fast)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _wake(waiting: list[asyncio.Future[None]], error: StoreError | None) -> None:
    for future in waiting:
        # Whoever waited for it was cancelled meanwhile.
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


CALL_PAGES, REPLY_PAGES, RESULT_PAGES = 12_000, 16_000, 28_000
"""Bytes of the write-ahead log that a row of each kind takes at most beside its texts: pages of tables and indexes."""
COPIES = 2
"""How often an answer is written: with a reply, to the cache too; with a result, as what was made of it, too."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_WAY = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})
_STRIDE = 1 << 16


class Room:
    """Holds room in a folder for so many replies.

    Args:
        folder: On the disk that has to have the room.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._held = 0
        self._replies = 0
        self._bytes = 0
        self._largest = 0
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._limit = None if limit == resource.RLIM_INFINITY else limit

    def learn(self, sizes: Sequence[int]) -> None:
        """Replies of so many bytes were written: others may be as long."""
        self._replies += len(sizes)
        self._bytes += sum(sizes)
        self._largest = max(self._largest, *sizes)

    def needed(self, new: int, in_flight: int, trials: int) -> int:
        """The bytes that are still to be written.

        Args:
            new: Calls that are about to be begun.
            in_flight: Calls without a reply, these among them.
            trials: Those that have begun calls and no result yet.
        """
        text = COPIES * (self._bytes // self._replies) if self._replies else 0
        replies, results = in_flight * (REPLY_PAGES + text), trials * (RESULT_PAGES + text)
        return new * CALL_PAGES + replies + results + 2 * COPIES * self._largest

    def hold(self, size: int, *, beside: int = 0) -> None:
        """Sets aside so many bytes at least.

        Args:
            beside: The length of the file that is to grow by them.

        Raises:
            OSError: The disk has no such room, or the file may not grow so long.
        """
        if self._limit is not None:
            if beside + size > self._limit:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return
        if size <= self._held:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 (held until it is given up)
            # Rounded up, so that most calls find the room that they need already held.
            size += -size % _STRIDE
            _allocate(self._file, self._held, size)
            self._held = size
        except OSError as error:
            # Any other error only means that no room can be set aside here, and the run goes on without.
            if error.errno in _NO_ROOM:
                raise

    def give_up(self) -> None:
        """Gives the room back, for what is to be written now."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                # At once, even where a child of this process holds the file, too.
                self._file.truncate(0)
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        self._held = 0


def _allocate(file: IO[bytes], start: int, end: int) -> None:
    """Makes the file take the blocks from `start` to `end` on the disk."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), start, end - start)
        except OSError as error:
            if error.errno not in _NO_WAY:
                raise
        else:
            return
    file.seek(start)  # macOS, and file systems that cannot: blocks that are written are there
    for place in range(start, end, _STRIDE):
        file.write(bytes(min(_STRIDE, end - place)))


_SPACE = "Free some space"
_BY_SQLITE = {
    sqlite3.SQLITE_FULL: _SPACE,
    sqlite3.SQLITE_BUSY: "Close whatever else has it open: a program, or code of yours",
    sqlite3.SQLITE_LOCKED: "Close whatever else has it open: a program, or code of yours",
    sqlite3.SQLITE_READONLY: "Make the file and its folder writable",
    sqlite3.SQLITE_PERM: "Make the file and its folder writable",
    sqlite3.SQLITE_AUTH: "Make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "See that its folder is there, and can be written",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore it from a copy, or run it again; the cache has the replies",
    sqlite3.SQLITE_NOTADB: "The file is damaged: restore it from a copy, or run it again; the cache has the replies",
    sqlite3.SQLITE_IOERR: "Look at the disk, or keep runs on another one with EVENHAND_HOME",
    sqlite3.SQLITE_NOMEM: "Free some memory",
    sqlite3.SQLITE_TOOBIG: "A reply is larger than SQLite stores: ask for shorter ones",
}
_BY_SYSTEM = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EACCES: "Make the file and its folder writable",
    errno.EPERM: "Make the file and its folder writable",
    errno.EROFS: "Make the file and its folder writable",
    errno.EIO: "Look at the disk, or keep runs on another one with EVENHAND_HOME",
    errno.EMFILE: "Allow more open files with `ulimit -n 1024`",
    errno.ENFILE: "Allow more open files with `ulimit -n 1024`",
}


def remedy(error: BaseException) -> str:
    """What to do, as a sentence without its end; to free some space where nobody knows better."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        # An extended code has the basic one in its lowest byte.
        return _BY_SQLITE.get(code & 0xFF, _SPACE)
    return _BY_SYSTEM.get(getattr(error, "errno", None) or 0, _SPACE)
