"""The thread that writes a run file.

How this works: the loop's thread puts rows on a queue; a writer thread takes all that is there, writes it in one
transaction, syncs it to disk (WAL, synchronous=FULL), and then wakes everybody whose row was in it, all with one
message to the loop. The more callers wait, the more rows share a sync, so the cost of a call falls as the load grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evenhand.core.errors import StoreError
from evenhand.core.secrets import Secrets

CALL, REPLY, TRIAL, SCALE, META = range(5)

_SQL: Final = {
    CALL: "insert into call values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    REPLY: "insert or ignore into reply values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    TRIAL: "insert into trial values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    SCALE: """
        insert into scale values (?, ?, ?, ?)
        on conflict do update set low = min(low, excluded.low), high = max(high, excluded.high)
    """,
    META: "update run set meta = ? where id = ?",
}
_CARRIED: Final = {  # what lies beside the rows above: by how many leading columns, and the row's last one
    REPLY: (1, "insert or ignore into body values (?, ?)"),
    TRIAL: (2, "insert into result values (?, ?, ?)"),
}

Row = tuple[object, ...]
_Item = tuple[int, Row, "asyncio.Future[None] | None"]


class Writer:
    """Writes rows, one kind of table each, in the order in which they come.

    Args:
        path: The run file, for messages.
        db: It, open for writing.
        secrets: What no row may hold. Results come without already.

    Attributes:
        failed: Why nothing is written any more; None while all is well.
        spool: What could not be written, in its order.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, secrets: Secrets) -> None:
        self.failed: StoreError | None = None
        self.spool: list[tuple[int, Row]] = []
        self._path = path
        self._db = db
        self._secrets = secrets
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write, name="evenhand-journal", daemon=True)
        self._thread.start()

    def put(self, kind: int, row: Row) -> None:
        """Writes a row when there is time."""
        self._queue.put((kind, row, None))

    async def durable(self, kind: int, row: Row) -> None:
        """Writes a row, and waits until it is on disk.

        Raises:
            StoreError: It cannot be written now. But for a call that was not sent, it is spooled.
        """
        if self.failed is not None:
            if kind != CALL:
                self.spool.append((kind, row))
            raise self.failed
        loop = self._loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._queue.put((kind, row, future))
        await future

    @property
    def alive(self) -> bool:
        """Whether it has not been stopped."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Writes what is in the queue, and ends the thread."""
        self._queue.put(None)
        self._thread.join()

    def end(self, *rows: tuple[int, Row]) -> None:
        """Writes what was spooled, and these rows, from the thread that asks.

        Raises:
            sqlite3.Error: They cannot be written, even now; the spool stays.
        """
        self.store([(kind, row, None) for kind, row in (*self.spool, *rows)])
        self.spool.clear()

    def _write(self) -> None:
        items: list[_Item] = []
        last = False
        while not last:
            item = self._queue.get()
            while item is not None:
                items.append(item)
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            last = item is None
            if not items:
                continue
            error: StoreError | None = self.failed
            if error is None:
                try:
                    self.store(items)
                except Exception as failure:  # noqa: BLE001 (a writer that died would leave everybody waiting)
                    error = self.failed = self._explain(failure)
            if error is not None:
                # A call that somebody waits to send is not sent, and so leaves no row; one only noted keeps its own.
                self.spool.extend(
                    (kind, row) for kind, row, future in items if kind != CALL or future is None
                )
            waiting = [future for _, _, future in items if future is not None]
            if waiting and self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    self._loop.call_soon_threadsafe(_wake, waiting, error)
            items = []

    def store(self, items: Sequence[_Item]) -> None:
        """Writes rows in one transaction."""
        db = self._db
        by_kind: dict[int, list[Row]] = {}
        for kind, row, _ in items:
            by_kind.setdefault(kind, []).append(
                row
                if kind == TRIAL
                else self._clean(row)  # a result was cleaned before it was told
            )
        db.execute("begin immediate")
        try:
            for kind, rows in sorted(by_kind.items()):
                if kind in _CARRIED:
                    key, sql = _CARRIED[kind]
                    db.executemany(_SQL[kind], [row[:-1] for row in rows])
                    db.executemany(sql, [(*row[:key], row[-1]) for row in rows])
                else:
                    db.executemany(_SQL[kind], rows)
            db.execute("commit")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("rollback")
            raise

    def _clean(self, row: Row) -> Row:
        """The row without secrets: here all is written."""
        if not self._secrets:
            return row
        without = self._secrets.without
        return tuple(without(value) if isinstance(value, bytes) else value for value in row)

    def _explain(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written: {error}",
            hint="Nothing more is sent. Free some space and `evenhand resume`: what was received is not paid again.",
        )


def _wake(waiting: list[asyncio.Future[None]], error: StoreError | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
