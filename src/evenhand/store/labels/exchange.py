"""What people said of a run (labels, remarks, rules, draws) taken out of its file, and put together from several files.

How this works: these rows are only ever added to, and say when. Rows of several copies of one run are therefore the
set of all of them, in the order of their times, whoever was first to hand them in. Rows of one copy keep the order in
which they were written: a clock that is set back between a label and its correction doesn't bring the label back.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec

from evenhand.core.errors import StoreError
from evenhand.store.adding import added_to
from evenhand.store.opened import has_table, open_run, readable

SCHEMA = "evenhand.said/1"
NUMBERED = ("remark", "label", "metric_label", "pair_label", "rule", "draw", "pair_draw")
"""Their rows have a number, then the time."""
DESIGN = "design"
"""Its rows have the number of a draw."""
TABLES = (*NUMBERED, DESIGN)
"""Tables of a run file that people add to once the run is finished."""

Row = tuple[object, ...]


class Said(msgspec.Struct, frozen=True):
    """What people said of a run.

    Attributes:
        run: The run's id.
        rows: By table, without their numbers; those of `design` begin with the place of their draw among the draws.
    """

    schema: str
    run: str
    rows: dict[str, list[Row]]


def write_said(path: Path, run: str) -> bytes:
    """What people said of the run in this file, as MessagePack; the same bytes for the same rows.

    Raises:
        StoreError: It cannot be read.
    """
    opened = open_run(path)
    with readable(path), closing(opened.db):
        return msgspec.msgpack.encode(Said(SCHEMA, run, _rows(opened.db)))


def read_said(data: bytes, run: str, where: str) -> Said:
    """What somebody handed in.

    Raises:
        StoreError: It is not of this run, or a newer Evenhand wrote it.
    """
    try:
        document = msgspec.msgpack.decode(data, type=Said)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise StoreError(f"{where}: labels of run {run} cannot be read: {error}") from error
    if document.schema != SCHEMA or not document.rows.keys() <= set(TABLES):
        raise StoreError(
            f"{where}: labels of run {run} are {document.schema[:40]!r}, and this reads {SCHEMA}",
            hint="A newer Evenhand pushed them.",
        )
    if document.run != run:
        raise StoreError(f"{where}: labels of run {run} are another run's")
    return document


def add_said(path: Path, documents: Sequence[Said]) -> None:
    """Puts together what a run file says with what was handed in; each row is there once, in the order of time.

    Args:
        path: A copy of a run that nobody else has open.
        documents: In any order.

    Raises:
        StoreError: It cannot be written, or a document does not fit it.
    """
    with added_to(path, "labels") as db:
        triggers = db.execute(
            "select name, sql from sqlite_master where type = 'trigger' and name like '%label_is_never_%'"
        ).fetchall()
        # They refuse to delete labels. The same transaction puts them back.
        for name, _ in triggers:
            db.execute(f"drop trigger {name}")
        try:
            _put_together(db, [_rows(db), *(document.rows for document in documents)])
        except (LookupError, TypeError, ValueError) as error:
            raise StoreError(f"{path}: labels don't fit the run: {error}") from error
        for _, sql in triggers:
            db.execute(sql)


def _rows(db: sqlite3.Connection) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for table in NUMBERED:
        if has_table(db, table):
            cursor = db.execute(f"select * from {table} order by 1").fetchall()  # noqa: S608 (fixed names)
            rows[table] = [tuple(row[1:]) for row in cursor]
    if has_table(db, DESIGN) and has_table(db, "draw"):
        numbers = [number for (number,) in db.execute("select id from draw order by id")]
        cursor = db.execute("select * from design order by draw").fetchall()
        rows[DESIGN] = [(numbers.index(row[0]), *row[1:]) for row in cursor]
    return {table: every for table, every in rows.items() if every}


def _put_together(db: sqlite3.Connection, sources: Sequence[dict[str, list[Row]]]) -> None:
    merged: dict[str, list[Row]] = {}
    for table in NUMBERED:
        merged[table] = _in_order([rows.get(table, []) for rows in sources])
    places = {draw: number for number, draw in enumerate(merged["draw"], 1)}
    designs = {
        (places[rows["draw"][_number(row[0])]], *row[1:])
        for rows in sources
        for row in rows.get(DESIGN, ())
    }
    # A design refers to its draw, so it goes first.
    for table in reversed(TABLES):
        db.execute(f"delete from {table}")  # noqa: S608 (fixed names)
    for table in NUMBERED:
        _insert(db, table, [(number, *row) for number, row in enumerate(merged[table], 1)])
    _insert(db, DESIGN, sorted(designs, key=lambda row: _number(row[0])))


def _in_order(copies: Sequence[list[Row]]) -> list[Row]:
    """Each row once: of those that may come next in all copies, the earliest.

    Where two copies contradict each other, the earliest of all that are left.
    """
    keys = {row: _order(row) for rows in copies for row in rows}
    later: dict[Row, set[Row]] = {row: set() for row in keys}
    before = dict.fromkeys(keys, 0)
    for rows in copies:
        each = list(dict.fromkeys(rows))
        for row, following in pairwise(each):
            if following not in later[row]:
                later[row].add(following)
                before[following] += 1
    ready = [(keys[row], row) for row, many in before.items() if not many]
    heapq.heapify(ready)
    left = iter(sorted(keys, key=keys.__getitem__))
    merged: dict[Row, None] = {}
    while len(merged) < len(keys):
        row = heapq.heappop(ready)[1] if ready else next(row for row in left if row not in merged)
        if row in merged:
            continue
        merged[row] = None
        for following in later[row]:
            before[following] -= 1
            if not before[following]:
                heapq.heappush(ready, (keys[following], following))
    return list(merged)


def _order(row: Row) -> tuple[float, bytes]:
    at = row[0]
    # Rows of one moment are ordered by their bytes, so that every copy comes out the same.
    return (at if isinstance(at, (int, float)) else 0.0, msgspec.msgpack.encode(row))


def _number(value: object) -> int:
    if isinstance(value, int) and value >= 0:
        return value
    raise ValueError(f"{value!r:.40} is the number of no draw")


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        db.executemany(f"insert into {table} values ({marks})", rows)  # noqa: S608 (fixed names)
