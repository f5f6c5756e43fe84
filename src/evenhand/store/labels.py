"""Labels in a run file: appended in one short transaction, to finished runs and to those that are being written."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.label import Label, LabelField, LabelValue, NewLabel, checked
from evenhand.store.encoding import write_text
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

PATIENCE_S = 10.0
"""How long to wait for the process that writes the run: its transactions are short."""


def append_labels(path: Path, labels: Sequence[NewLabel]) -> list[Label]:
    """Adds labels to a run file, of whichever version: all or none; the labels as they are kept.

    Raises:
        UsageError: One is no label, or there is no such trial yet.
        StoreError: The file cannot be written.
    """
    said = [(label, *checked(label)) for label in labels]
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file")
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"  # or a slip would make a file
        with closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE_S)
        ) as db:
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            db.execute("begin immediate")  # taken back when the connection is closed before its end
            kept = [_append(db, *each) for each in said]
            db.execute("commit")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{path} takes no labels: {error}",
            hint="The file, or its folder, can only be read, or its disk is full.",
        ) from error
    return kept


def _append(
    db: sqlite3.Connection, new: NewLabel, field: LabelField, value: LabelValue, author: str
) -> Label:
    if db.execute("select 1 from trial where idx = ?", (new.index,)).fetchone() is None:
        raise UsageError(
            f"index: the run has no trial {new.index}", hint="Only settled trials have labels."
        )
    at = time.time()
    row = (at, write_text(author), new.index, field, encode(value), new.blind)
    seq = db.execute(
        "insert into label (at, author, idx, field, value, blind) values (?, ?, ?, ?, ?, ?)", row
    ).lastrowid
    return Label(seq or 0, at, author, new.index, field, value, new.blind)
