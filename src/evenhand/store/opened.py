"""Makes run files, opens them, and tells of a damaged one in one message."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import StoreError
from evenhand.core.record import Record
from evenhand.core.remark import Remarks, first_tags
from evenhand.core.run import RunMeta
from evenhand.core.secrets import known
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, check, prepare

_MANY = 5_000
_LARGE_PAGE = 8_192
"""Bytes: rows of a few hundred leave less of a larger page unused. Of few trials, thirty tables are most of a file."""


DURABLE = "pragma synchronous = full"
"""`normal` syncs at checkpoints only: a power cut would take replies that were paid for."""


def begin(file: Path, meta: RunMeta) -> None:
    """Makes a run file of this empty one, which is not in its place yet."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
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
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("pragma journal_mode = wal")
    db.execute(DURABLE)
    return db


def _connected(path: Path, how: str) -> sqlite3.Connection:
    # Python's SQLite lets threads take turns: what is opened in one is read in another.
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)


class OpenRun(Record, frozen=True, kw_only=True):
    """An open run file: its connection, and what it says of the run as a whole.

    Attributes:
        db: Reads it, or those of its trials that were chosen.
        meta: The run's own words, under the title that people gave it; of chosen trials, with their numbers.
        remarks: What people said of it.
        plan_title: The title that it had before people gave it another: runs of one plan have it in common.
        narrowed: Whether only some of its trials are seen.
        by_outcome: Whether they were chosen by what came of them.
    """

    path: Path
    db: sqlite3.Connection
    meta: RunMeta
    remarks: Remarks
    plan_title: str
    narrowed: bool = False
    by_outcome: bool = False

    def narrowed_to(self, places: Iterable[int], why: str, *, by_outcome: bool) -> OpenRun:
        """The trials at these places, through a connection of their own; see `RunFile.only`."""
        if self.narrowed:
            with readable(self.path):
                settled = {place for (place,) in self.db.execute("select idx from latest")}
            places = [place for place in places if place in settled]
        db = _checked(self.path)
        try:
            with readable(self.path):
                planned, cases = _hide_all_but(db, places)
        except BaseException:
            db.close()
            raise
        meta = structs.replace(
            self.meta, title=f"{self.meta.title} · {why}", planned=planned, case_count=cases
        )
        by_outcome = by_outcome or self.by_outcome
        return replace(self, db=db, meta=meta, narrowed=True, by_outcome=by_outcome)

    @property
    def retaken(self) -> bool:
        """Whether some trial has been settled more than once."""
        row = self.db.execute("select 1 from trial where take > 0 limit 1").fetchone()
        return row is not None

    def table(self) -> str:
        """What to count trials in: the table itself is read twice as fast as the view, and says the same as a rule."""
        return "latest" if self.retaken else "trial"

    def query(self, template: str) -> str:
        """A query of `store.detail`, of the takes that count."""
        details = "whole_detail" if self.has_table("long_output") else "detail"
        return template.format(table=self.table(), details=details)

    def has_table(self, name: str) -> bool:
        """Whether the run file is of a version that has this table."""
        return has_table(self.db, name)


class ReadsRun:
    """Reads something of an open run file."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run


NO_RUN_FILE = "It is empty, or something else wrote it. Other runs are not affected."


def open_run(path: Path) -> OpenRun:
    """Opens a run file for reading.

    Raises:
        StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
    """
    db = _checked(path)
    try:
        with readable(path):
            meta = own_meta(db, path)
            remarks = remarks_in(db, meta)
    except StoreError:
        db.close()
        raise
    return OpenRun(
        path=path,
        db=db,
        meta=structs.replace(meta, title=remarks.title or meta.title),
        remarks=remarks,
        plan_title=meta.title,
    )


def own_meta(db: sqlite3.Connection, path: Path) -> RunMeta:
    """What a run file says of its run, under the title that it had before people gave it another.

    Raises:
        StoreError: It holds no run.
    """
    row = db.execute("select meta from run").fetchone()
    if row is None:
        raise StoreError(
            f"{path} holds no run: it was cut off while being made",
            hint="Nothing was sent. Delete the file, and run it again.",
        )
    return msgspec.convert(decode(cast(bytes, row[0])), RunMeta)


def has_table(db: sqlite3.Connection, name: str) -> bool:
    """Whether a file has this table: those of earlier versions lack some."""
    rows = db.execute("select 1 from sqlite_master where name = ?", (name,))
    return rows.fetchone() is not None


BY = "by"
"""The field of a remark that says who signed those right before it."""


def remarks_in(db: sqlite3.Connection, meta: RunMeta) -> Remarks:
    """What counts of the remarks in an open run file, of whichever version."""
    tags = first_tags(meta.config) if meta.config.get("tags") else []
    if not has_table(db, "remark"):
        return Remarks(tags=tuple(tags))
    fields: dict[str, object] = {}
    removable: set[str] = set()
    last = ""
    for field, value in db.execute("select field, value from remark order by seq"):
        fields[field], last = decode(value), field
        if field == "tags":
            removable.update(cast("list[str]", fields[field]))
    # A tag that no list ever held wasn't taken out of one: earlier versions listed only tags that were added.
    tags = [tag for tag in tags if tag not in removable]
    tags += cast("list[str]", fields.get("tags", []))
    by = str(fields[BY]) if last == BY else ""
    return Remarks(str(fields.get("title", "")), tuple(tags), str(fields.get("note", "")), by)


_TABLES_SINCE_5 = """
    pragma temp_store = memory;
    create temp table part (id, part);
    create temp table detail (idx, take, of_case, of_test, detail);
"""
"""For this connection only: a file of an earlier version is read by the same queries."""


def _checked(path: Path) -> sqlite3.Connection:
    """A connection to what is a run file."""
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file")
    db: sqlite3.Connection | None = None
    try:
        with readable(path):
            db = _connected(path, "mode=ro")
            try:
                # SQLite opens a file only when something is read from it.
                db.execute("select count(*) from sqlite_master")
            except sqlite3.OperationalError as error:
                db.close()
                if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                    _take_back(path)
                    db = _connected(path, "mode=ro")
                else:
                    _refuse_unread_log(path)
                    # In a read-only folder, SQLite cannot make its shared-memory file, and does not need it: nobody
                    # writes.
                    db = _connected(path, "immutable=1")
            if not check(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path)):
                raise StoreError(f"{path} is not a run file", hint=NO_RUN_FILE)  # noqa: TRY301 (closed below, like the others)
            if not has_table(db, "detail"):
                db.executescript(_TABLES_SINCE_5)
    except StoreError:
        if db is not None:
            db.close()
        raise
    return db


def _take_back(path: Path) -> None:
    """Takes back what a process that was killed while it added to a run had written of it: nothing of it counts."""
    try:
        with closing(_connected(path, "mode=rw")) as db:
            db.execute("select count(*) from sqlite_master")
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} was being changed by a process that was killed, and what that left can't be taken back: {error}",
            hint="Make the file and its folder writable, and read it once.",
        ) from error


def _refuse_unread_log(path: Path) -> None:
    """Raises for a run whose log has what was written last: read without it, trials that are there would be missing."""
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise StoreError(
            f"{path} was left by a process that was killed: what it wrote last is in {log.name}, which can't be read in"
            " a folder that can't be written",
            hint="Copy both files to a folder that can be written.",
        )


def _hide_all_but(db: sqlite3.Connection, places: Iterable[int]) -> tuple[int, int]:
    """Hides all other trials from whatever reads this connection; how many trials and cases are left."""
    db.execute("pragma temp_store = memory")
    db.execute("create temp table chosen (idx integer primary key)")
    db.executemany("insert or ignore into chosen values (?)", ((place,) for place in places))
    tables = dict.fromkeys(("trial", "latest"), "idx") | {"call": "trial"}
    if has_table(db, "label"):
        tables["label"] = "idx"
    for name, place in tables.items():
        # A temporary view hides what has its name, from every query that is made through this connection.
        db.execute(
            f"create temp view {name} as select * from main.{name} where {place} in (select idx from chosen)"  # noqa: S608 (fixed names)
        )
    db.commit()
    return db.execute("select count(*), count(distinct case_id) from latest").fetchone()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns what SQLite and the decoder say of a damaged file into one message."""
    try:
        yield
    # A damaged row can decode to anything, so whatever reading it raises counts as damage.
    except (
        sqlite3.Error,
        msgspec.MsgspecError,
        ValueError,
        TypeError,
        OverflowError,
        LookupError,
        RecursionError,
    ) as error:
        if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
            raise StoreError(
                f"{path} was closed before it was read",
                hint="Read a run inside its `with` block, or open it again: Run.open(path).",
            ) from error
        raise StoreError(
            f"{path} cannot be read: {error}",
            hint="It is damaged or not a run file. Other runs are not affected.",
        ) from error
