"""Run files as earlier versions left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from evenhand.store.runfile import RunFile

_ADDED = {
    6: ("draw", "metric_label", "rule"),
    7: ("design",),
    13: ("long_output",),
    11: ("pair_draw", "pair_label"),
    5: ("part", "detail"),
    4: ("remark",),
    3: ("scale",),
    2: ("label",),
}


def make_earlier(path: Path, version: int) -> None:
    """Makes of a run file what this version, from 1 to 4, left: whole results, and none of the later tables."""
    with RunFile.open(path) as run:
        takes = {index: take for index, take, _ in run.takes()}
        results = [(t.index, takes[t.index], msgspec.json.encode(t)) for t in run.trials()]
    with closing(sqlite3.connect(path)) as db:
        db.execute("drop view whole_detail")  # of version 13
        db.executemany("insert into result values (?, ?, ?)", results)
        for number, tables in _ADDED.items():
            for table in tables if number > version else ():
                db.execute(f"drop table {table}")
        for column in ("first_byte_s", "queued_s"):  # of version 12
            db.execute(f"alter table reply drop column {column}")
        db.execute(f"pragma user_version = {version}")
        db.commit()
