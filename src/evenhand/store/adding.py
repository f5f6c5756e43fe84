"""Adds to a run file in one short transaction, whether its run is finished or is being written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

PATIENCE_S = 10.0
"""How long to wait for the process that writes the run: its transactions are short."""


@contextmanager
def added_to(path: Path, what: str) -> Iterator[sqlite3.Connection]:
    """A run file of whichever version, to add to. At the end all is kept; where anything is raised, nothing is.

    Args:
        what: What is added, for the message: `labels`.

    Raises:
        StoreError: The file is not there, or cannot be written.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file")
    if not path.stat().st_mode & 0o222:
        raise StoreError(
            f"{path} takes no {what}: it is a copy of a run that was pushed, and can only be read",
            hint="Change the run itself, and push it again.",
        )
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"  # or a slip would make a file
        with closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE_S)
        ) as db:
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            db.execute("begin immediate")  # taken back when the connection is closed before its end
            yield db
            db.execute("commit")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{path} takes no {what}: {error}",
            hint="The file, or its folder, can only be read, or its disk is full.",
        ) from error
