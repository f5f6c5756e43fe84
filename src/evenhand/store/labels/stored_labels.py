"""Labels in a run file: appended in one short transaction, to finished runs and to those that are being written."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.store.adding import added_to
from evenhand.store.encoding import write_text
from evenhand.store.labels.label import Label, LabelField, LabelValue, NewLabel, checked


def append_labels(path: Path, labels: Sequence[NewLabel]) -> list[Label]:
    """Adds labels to a run file, of whichever version: all or none; the labels as they are kept.

    Raises:
        UsageError: One is no label, or there is no such trial yet.
        StoreError: The file cannot be written.
    """
    rows = [(label, *checked(label)) for label in labels]
    with added_to(path, "labels") as db:
        return [_append(db, *each) for each in rows]


def _append(
    db: sqlite3.Connection, new: NewLabel, field: LabelField, value: LabelValue, author: str
) -> Label:
    if db.execute("select 1 from trial where idx = ?", (new.index,)).fetchone() is None:
        raise UsageError(
            f"index: the run has no trial {new.index}", hint="Only settled trials have labels."
        )
    at = time.time()
    if new.metric:
        of_metric = (at, write_text(author), new.index, encode(new.metric), value)
        seq = db.execute(
            "insert into metric_label (at, author, idx, metric, verdict) values (?, ?, ?, ?, ?)",
            of_metric,
        ).lastrowid
        return Label(seq or 0, at, author, new.index, field, value, metric=new.metric)
    row = (at, write_text(author), new.index, field, encode(value), new.blind)
    seq = db.execute(
        "insert into label (at, author, idx, field, value, blind) values (?, ?, ?, ?, ?, ?)", row
    ).lastrowid
    return Label(
        seq=seq or 0,
        at=at,
        author=author,
        index=new.index,
        field=field,
        value=value,
        blind=new.blind,
    )
