"""The cache: answers kept across runs, by what was asked and which draw of it. Bytes as they came, never pickles.

How this works: looking up is one read on a connection of its own, in the loop's thread. Writing is a thread that takes
all that waits and writes it in one transaction. Several processes may share a cache: whoever writes holds a file lock
for the length of the transaction and its checkpoint, so that SQLite never sees two writers at once. The cache is a
convenience: when it cannot be used, the run goes on without it and says so.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.core.record import Record
from evenhand.core.secrets import known
from evenhand.store.home import make_folder, turn
from evenhand.store.schema import CACHE_ID, CACHE_MIGRATIONS, prepare

LITTLE = 64 * 1024
"""Bytes: with less than this free, a write that fails has failed for lack of room."""
_Row = tuple[str, str, bytes, bytes, float | None, float, float | None]
_Change = tuple[str, str, _Row | None]
"""What becomes of the answer to a request and draw: another one, or none."""


class CachedReply(Record, frozen=True):
    """An answer from the cache: the raw bytes, and the seconds that the original call took, and until it began."""

    body: bytes
    latency_s: float | None
    first_byte_s: float | None = None


_NOT_PENDING = CachedReply(b"", None)


class CacheEntry(Record, frozen=True):
    """An entry, for people. `created_at` in seconds since 1970."""

    key: str
    draw: str
    identity: bytes
    size: int
    created_at: float


class CacheStats(Record, frozen=True):
    """What a cache holds."""

    path: Path
    entries: int
    bytes: int
    oldest_at: float | None


class Cache:
    """The answers of earlier runs.

    Args:
        folder: Where it lives; made when the first answer is put.
        warn: Told, once, when the cache cannot be used.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None] | None = None) -> None:
        self.path = folder / "answers.db"
        self._warn = warn or (lambda _: None)
        self._broken = False
        self._queue: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._reader: sqlite3.Connection | None = None
        self._pending: dict[tuple[str, str], CachedReply | None] = {}
        self._committed = False
        if self.path.exists():
            self._reader = self._open()

    @classmethod
    def open(cls, folder: Path, warn: Callable[[str], None] | None = None) -> Cache:
        """Opens the cache in this folder; an absent one is empty."""
        return cls(folder, warn)

    def get(self, key: str, draw: str) -> CachedReply | None:
        """The answer to this request, this draw of it; None when there is none."""
        # What is not committed yet cannot be seen by the reader's connection.
        pending = self._pending.get((key, draw), _NOT_PENDING)
        if pending is not _NOT_PENDING:
            return pending
        if self._reader is None:
            # Before the first commit there may be no file to open.
            if self._broken or not self._committed:
                return None
            self._reader = self._open()
            if self._reader is None:
                return None
        try:
            row = self._reader.execute(
                "select body, latency_s, first_byte_s from answer where key = ? and draw = ?",
                (key, draw),
            ).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        return CachedReply(*row) if row else None

    def put(
        self,
        key: str,
        draw: str,
        identity: bytes,
        body: bytes,
        latency_s: float | None,
        first_byte_s: float | None = None,
    ) -> None:
        """Keeps an answer, when there is time. Known secrets in it, and in what was asked, are left out."""
        identity, body = known.without(identity), known.without(body)
        row = (key, draw, identity, body, latency_s, time.time(), first_byte_s)
        self._change(key, draw, row, CachedReply(body, latency_s, first_byte_s))

    def forget(self, key: str, draw: str) -> None:
        """Takes an answer out again."""
        if self.get(key, draw) is not None:
            self._change(key, draw, None, None)

    def _change(self, key: str, draw: str, row: _Row | None, reply: CachedReply | None) -> None:
        if self._broken:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="evenhand-cache", daemon=True)
            self._thread.start()
        # Before it is queued: the writer forgets an answer here once it has written it, and must not come first.
        self._pending[key, draw] = reply
        self._queue.put((key, draw, row))

    def close(self) -> None:
        """Writes what waits and lets go."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def stats(self) -> CacheStats:
        """How much it holds."""
        if self._reader is None:
            return CacheStats(self.path, 0, 0, None)
        with self._readable():
            entries, oldest = self._reader.execute(
                "select count(*), min(created_at) from answer"
            ).fetchone()
        return CacheStats(self.path, entries, self.path.stat().st_size, oldest)

    def entries(self, key: str = "") -> Iterator[CacheEntry]:
        """The cache's entries, newest first; those whose key begins so.

        Raises:
            StoreError: It cannot be read.
        """
        if self._reader is None:
            return
        with self._readable():
            for row in self._reader.execute(
                "select key, draw, identity, length(body), created_at from answer"
                " where substr(key, 1, ?) = ? order by created_at desc",
                (len(key), key),
            ):
                yield CacheEntry(*row)

    def clear(self) -> int:
        """Forgets everything; how many entries there were.

        Raises:
            StoreError: It cannot be removed.
        """
        count = 0
        with contextlib.suppress(StoreError):
            count = self.stats().entries
        self.close()
        try:
            for tail in ("", "-wal", "-shm"):
                Path(f"{self.path}{tail}").unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be removed: {error}") from error
        return count

    def _open(self) -> sqlite3.Connection | None:
        try:
            make_folder(self.path.parent)
            fd = os.open(
                self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                with turn(fd):
                    db = sqlite3.connect(
                        self.path, isolation_level=None, check_same_thread=False, timeout=30
                    )
                    db.execute("pragma journal_mode = wal")
                    # Checkpoints are made under the lock only, like transactions.
                    db.execute("pragma wal_autocheckpoint = 0")
                    db.execute("pragma synchronous = normal")
                    prepare(db, CACHE_ID, CACHE_MIGRATIONS, str(self.path))
            finally:
                os.close(fd)
        except (OSError, sqlite3.Error, StoreError) as error:
            self._give_up(error)
            return None
        return db

    def _write(self) -> None:
        db = self._open()
        if db is None:
            return
        fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        rows: list[_Change] = []
        last = False
        try:
            while not last:
                item = self._queue.get()
                while item is not None:
                    rows.append(item)
                    # Other processes wait for the lock meanwhile, so a transaction stays short.
                    if len(rows) >= 500:
                        break
                    try:
                        item = self._queue.get_nowait()
                    except queue.Empty:
                        break
                # None ends the queue. After a `break`, the item is the last one that was taken.
                last = item is None
                if rows:
                    with turn(fd):
                        db.execute("begin immediate")
                        for key, draw, row in rows:
                            if row is None:
                                db.execute(
                                    "delete from answer where key = ? and draw = ?", (key, draw)
                                )
                            else:
                                db.execute(
                                    "insert or replace into answer values (?, ?, ?, ?, ?, ?, ?)",
                                    row,
                                )
                        db.execute("commit")
                    self._committed = True
                    for row in rows:  # from here on the table answers for them
                        self._pending.pop((row[0], row[1]), None)
                    rows = []
                    time.sleep(0.02)  # let more come, so that many share a transaction
            with turn(fd):
                db.execute("pragma wal_checkpoint(truncate)")
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)
        finally:
            os.close(fd)
            db.close()

    def _give_up(self, error: Exception) -> None:
        if not self._broken:
            self._broken = True
            if _is_full(error, self.path.parent):
                way = "free some space"
            elif getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
                way = "allow more open files with `ulimit -n 1024`"
            else:
                way = "`evenhand cache clear` makes a new one"
            self._warn(f"going on without the cache: {self.path}: {error}; {way}")
        self._reader = None

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path} cannot be read: {error}",
                hint="`evenhand cache clear` makes a new one.",
            ) from error


def _is_full(error: Exception, folder: Path) -> bool:
    """Whether there is no room on the disk. SQLite has other words for it while it makes the files beside its own."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return True
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return True
    try:
        return shutil.disk_usage(folder).free < LITTLE
    except OSError:
        return False
