"""Makes a run file, and opens one to be written."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.run import RunMeta
from evenhand.core.secrets import known
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

_MANY = 5_000
_LARGE_PAGE = 8_192
"""Bytes: rows of a few hundred leave less of a larger page unused. Of few trials, thirty tables are most of a file."""


DURABLE = "pragma synchronous = full"
"""`normal` syncs at checkpoints only: a power cut would take replies that were paid for."""


def begin(file: Path, meta: RunMeta) -> None:
    """Makes a run file of this empty one, which is not in its place yet."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        if meta.planned >= _MANY:
            db.execute(f"pragma page_size = {_LARGE_PAGE}")
        db.execute("pragma synchronous = off")  # once, when it is whole
        prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(file))
        db.execute("insert into run values (?, ?)", (meta.id, known.without(encode(meta))))
        db.execute("pragma journal_mode = wal")
    # SQLite throws away the log of an empty file, which this would be after a power cut.
    with file.open("rb") as whole:
        os.fsync(whole.fileno())


def connect(path: Path) -> sqlite3.Connection:
    """Opens a run file to write it."""
    # Opened and closed in the loop's thread, written in the writer's.
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=32)
    db.execute("pragma journal_mode = wal")
    db.execute(DURABLE)
    return db
