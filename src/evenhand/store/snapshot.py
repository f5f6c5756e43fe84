"""A run file as it is at one moment, in a file of its own."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from evenhand.store.opened import open_run, readable


def snapshot(path: Path, to: Path) -> str:
    """Copies a run file, with what its log still holds; a SHA-256 over all rows of all tables, 64 hex digits.

    Two files with equal rows have equal hashes, whichever version of SQLite wrote them.

    Args:
        path: The run.
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
        return _digest(db)


def _digest(db: sqlite3.Connection) -> str:
    hashed, packed = hashlib.sha256(), msgspec.msgpack.Encoder().encode
    tables = db.execute(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name"
    )
    for (name,) in tables.fetchall():
        rows = db.execute(f"select * from {name}")  # noqa: S608 (a name of our own tables); in the order of its keys
        hashed.update(packed([name, [column[0] for column in rows.description]]))
        for row in rows:
            hashed.update(packed(row))
    return hashed.hexdigest()
