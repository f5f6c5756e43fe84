"""A spool on disk: items arrive in any order and are read back group by group. Its file has no name once it is open."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.core.record import Record

_BATCH = 2_000


class Group(Record, frozen=True):
    """What is known of a group before its items are taken out.

    Attributes:
        first: The first of its items' places in time; None where none has one.
        count: How many items it has.
        mark: The mark of highest rank.
        label: The label of its items, the first by the alphabet; empty where none has one.
    """

    name: str
    first: int | None
    count: int
    mark: str
    label: str


class Spool:
    """Items by group. Memory stays the same, however many there are.

    Raises:
        StoreError: There is no room for them.
    """

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="evenhand-")
        self._waiting: list[tuple[str, int | None, bytes, str | None, int, str | None]] = []
        self._indexed = False
        try:
            self._open(Path(folder) / "spool.db")
        finally:
            # The file is there until it is closed, and nothing is left however the process ends.
            shutil.rmtree(folder, ignore_errors=True)

    def _open(self, path: Path) -> None:
        with _told():
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._gone = weakref.finalize(self, self._db.close)
            self._db.executescript(
                # Nothing of a spool outlives its process, so it needs neither a journal nor a sync.
                "pragma journal_mode = off; pragma synchronous = off; pragma temp_store = file;"
                "pragma cache_size = -16384;"
                "create table item"
                " (id integer primary key, name text, at integer, data blob, mark text, rank integer, label text)"
            )

    def add(
        self,
        group: str,
        at: int | None,
        data: bytes,
        mark: str = "",
        rank: int = 0,
        label: str = "",
    ) -> None:
        """Puts an item away.

        Args:
            at: Its place in time; None where nobody says.
            mark: What it says of its group; empty for nothing.
            rank: Of several marks of a group, the one with the highest counts.
            label: A name for the group; empty for none.
        """
        self._waiting.append((group, at, data, mark or None, rank, label or None))
        if len(self._waiting) >= _BATCH:
            self._write()

    def groups(self) -> Iterator[Group]:
        """The groups with a mark, by the places in time of their first items."""
        self._write()
        with _told():
            if not self._indexed:
                self._db.executescript(
                    "create index by_name on item (name);"
                    "create table known as select item.name, min(at) as first, count(*) as many, marked.mark,"
                    " min(label) as label from item join"
                    # SQLite takes `mark` from the row that has the highest rank.
                    " (select name, mark, max(rank) from item where mark is not null group by name) marked"
                    " on marked.name = item.name group by item.name order by first, item.name"
                )
                self._indexed = True
            rows = self._db.execute(
                "select name, first, many, mark, label from known order by rowid"
            )
        for name, first, many, mark, label in rows:
            yield Group(name, first, many, mark, label or "")

    def items(self, group: str) -> Iterator[bytes]:
        """A group's items, in the order in which they came."""
        with _told():
            for (data,) in self._db.execute(
                "select data from item where name = ? order by id", (group,)
            ):
                yield data

    def close(self) -> None:
        """Removes the file."""
        self._gone()

    def _write(self) -> None:
        if self._waiting:
            with _told():
                self._db.execute("begin")
                self._db.executemany(
                    "insert into item (name, at, data, mark, rank, label) values (?, ?, ?, ?, ?, ?)",
                    self._waiting,
                )
                self._db.execute("commit")
            self._waiting.clear()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(
            f"the folder for temporary files, {tempfile.gettempdir()}, cannot be used: {error}",
            hint="Set TMPDIR to a folder with more room.",
        ) from error
