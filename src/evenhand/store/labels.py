"""Labels in a run file: appended in one short transaction, to finished runs and to those that are being written."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.label import Label, checked
from evenhand.store.encoding import write_text
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

PATIENCE_S = 10.0
"""How long to wait for the process that writes the run: its transactions are short."""


def append_label(
    path: Path,
    index: int,
    field: str,
    value: object,
    *,
    author: str = "",
    blind: bool = False,
) -> Label:
    """Adds a label to a run file, of whichever version; the label as it is kept.

    Raises:
        UsageError: It is no label, or there is no such trial yet.
        StoreError: The file cannot be written.
    """
    name, said, who = checked(field, value, author)
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file")
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"  # or a slip would make a file
        with closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE_S)
        ) as db:
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
            db.execute("begin immediate")
            if db.execute("select 1 from trial where idx = ?", (index,)).fetchone() is None:
                raise UsageError(
                    f"index: the run has no trial {index}", hint="Only settled trials have labels."
                )
            at = time.time()
            seq = db.execute(
                "insert into label (at, author, idx, field, value, blind) values (?, ?, ?, ?, ?, ?)",
                (at, write_text(who), index, name, encode(said), blind),
            ).lastrowid
            db.execute("commit")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{path} takes no labels: {error}",
            hint="The file, or its folder, can only be read, or its disk is full.",
        ) from error
    return Label(seq or 0, at, who, index, name, said, blind)
