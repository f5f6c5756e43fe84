"""A run file as it is at one moment, in a file of its own."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from evenhand.core.record import Record
from evenhand.store.labels.exchange import TABLES
from evenhand.store.opened import open_run, readable


class Digests(Record, frozen=True):
    """Of a run file; each is a SHA-256, 64 hex digits.

    Attributes:
        everything: Over all rows of all tables.
        results: The same without what people said of the run, and without tables that are empty.
    """

    everything: str
    results: str


def snapshot(path: Path, to: Path) -> Digests:
    """Copies a run file, with what its log still holds.

    Two files with equal rows have equal hashes, whichever version of SQLite wrote them.

    Args:
        to: The copy; nothing is there yet.

    Raises:
        StoreError: It cannot be read, or the copy not be written.
    """
    run = open_run(path)
    with readable(path), closing(run.db):
        run.db.execute("vacuum into ?", (str(to),))
    with (
        readable(to),
        closing(sqlite3.connect(f"{to.absolute().as_uri()}?mode=ro", uri=True)) as db,
    ):
        return _digests(db)


def _digests(db: sqlite3.Connection) -> Digests:
    everything, results = hashlib.sha256(), hashlib.sha256()
    packed = msgspec.msgpack.Encoder().encode
    tables = db.execute(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
    )
    for (name,) in tables.fetchall():
        rows = db.execute(f"select * from {name}")  # noqa: S608 (a name of our own tables); in the order of its keys
        head = packed([name, [column[0] for column in rows.description]])
        everything.update(head)
        first = name not in TABLES
        for row in rows:
            data = packed(row)
            everything.update(data)
            if name not in TABLES:
                # The head comes with the first row, so that empty tables, such as a migration adds, change nothing.
                results.update(head + data if first else data)
                first = False
    return Digests(everything.hexdigest(), results.hexdigest())
