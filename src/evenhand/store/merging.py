"""Several run files of one plan made into one.

How this works: each trial is taken from one of the files, with its calls, its tools, what people said of it and
whatever else lies beside it. The trials of a case and a repeat come from the same file where that has them all, as they
may have been compared with each other: from the one with the most verdicts among them, and of several such from the one
that was started first. Of a trial that nobody has settled, the calls of all files come along: they are paid for, and
`evenhand resume` finds them.

Tables are copied by what their columns say, so one that a later version adds is not left behind: a table with a trial's
place is copied for the trials that are taken; `call` and what hangs on it gets new ids.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path

from evenhand.core.application_code import changed_modules, joined_code
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record
from evenhand.core.run import SHORT_ID, RunMeta, TrialResult
from evenhand.store.home import IMPORTING, held, is_signed, lock_of, signed
from evenhand.store.journal import Journal
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.opened import readable
from evenhand.store.replacing import replaced
from evenhand.store.run_lookup import files, home_for, id_at, run_folder
from evenhand.store.runfile import RunFile
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

OF_CALLS = {"call": "id", "reply": "call", "body": "call"}
"""Tables of calls, with the column that names the call."""
OF_RESULTS = ("trial", "detail", "result", "long_output")
"""Tables of results, by place and take."""
LEFT_BEHIND = ("draw", "design", "pair_draw")
"""They say how trials were drawn from those of one file, which is not so of all."""
ANEW = ("run", "part", "scale", "sqlite_sequence")
"""They are made anew, or copied in a way of their own."""


class MergedFrom(Record, frozen=True):
    """One of the runs.

    Attributes:
        settled: How many trials it has settled.
        taken: How many of them are in the merged run.
        drawn: It has random draws for labels, which stay behind.
    """

    path: Path
    meta: RunMeta
    settled: int
    taken: int
    drawn: bool = False

    @property
    def doubled(self) -> int:
        """How many of its trials another one has, too, and were taken from there."""
        return self.settled - self.taken


class Merged(Record, frozen=True):
    """What became of a merge.

    Attributes:
        sources: The runs, in the order in which they were given.
        missing: The places that none of them has settled, as first and last.
        missing_shards: The shards of the plan that were not given: `3/8`.
    """

    path: Path
    meta: RunMeta
    sources: tuple[MergedFrom, ...]
    missing: tuple[tuple[int, int], ...]
    missing_shards: tuple[str, ...]


def merge(files: Sequence[Path], to: Path, homes: Iterable[Path] = ()) -> Merged:
    """Makes one run file of several.

    Args:
        files: Runs of the same plan: its shards, or some of its trials.
        to: Where the merged run is written. An earlier merged run there is replaced.
        homes: If one of these made all of the runs, the merged one is its own, too.

    Raises:
        UsageError: They are not of the same plan, or were started with other options, one is given twice, or `to` is
            something else.
        StoreError: One cannot be read or is being written, or the merged one cannot be written.
    """
    metas: list[RunMeta] = []
    settled: list[int] = []
    for file in files:
        with RunFile.open(file) as run:
            metas.append(run.meta)
            settled.append(run.totals().trials)
    _check(files, metas, to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with replaced(to) as file, closing(_alone_in(file)) as db:
            prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(to))
            taken, missing, drawn = _filled(db, files, metas)
            meta = _signed(_meta(metas, missing), metas, homes)
            db.execute("insert into run values (?, ?)", (meta.id, encode(meta)))
            # No trial may be lost or be there twice.
            (number,) = db.execute("select count(*) from latest").fetchone()
            if number != sum(taken):
                raise StoreError(f"{to} would have {number:,} trials of {sum(taken):,}")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{to} cannot be written: {error}") from error
    sources = map(MergedFrom, files, metas, settled, taken, drawn)
    return Merged(to, meta, tuple(sources), missing, _missing_shards(metas))


def _check(files: Sequence[Path], metas: Sequence[RunMeta], to: Path) -> None:
    first = metas[0]
    for number, (file, meta) in enumerate(zip(files, metas, strict=True)):
        if meta.id in {other.id for other in metas[:number]}:
            raise UsageError(f"run {meta.id} is given twice", hint="Name each run once.")
        if held(lock_of(file)):
            raise StoreError(
                f"run {meta.id} is being written", hint="Wait for it to end, then merge."
            )
        same = (meta.fingerprint, meta.plan_size) == (first.fingerprint, first.plan_size)
        if not same or len(meta.variants) != len(first.variants):
            raise UsageError(
                f"run {meta.id} is not of the same plan as run {first.id}: files, models or options differ",
                hint="Merge runs that were started with the same command and the same files, but for --shard.",
            )
        if changed := changed_modules(first.code, meta.code):
            raise UsageError(
                f"run {meta.id} ran other code than run {first.id}: {', '.join(changed)} differs",
                hint="Run the shards again with the same code.",
            )
        if others := _other_options(meta, first):
            raise UsageError(
                f"run {meta.id} was started with other options than run {first.id}: {', '.join(others)}",
                hint="Start all shards with the same command, but for --shard.",
            )
        if (meta.pass_rate, meta.requirements) != (first.pass_rate, first.requirements):
            raise UsageError(
                f"run {meta.id} has to reach something else than run {first.id}",
                hint="Start all shards with the same --at-least.",
            )
        if to.exists() and to.resolve() == file.resolve():
            raise UsageError(f"{to} is one of the runs to merge", hint="Give --to another name.")
    if to.exists():
        try:
            with RunFile.open(to) as there:
                replaced = "merged" in there.meta.settings
        except StoreError:
            replaced = False
        if not replaced:
            raise UsageError(
                f"{to} is there, and is not a merged run: it was not written over",
                hint="Give --to another name, or delete that file.",
            )


def _other_options(meta: RunMeta, first: RunMeta) -> list[str]:
    """The options that two runs of one plan were started with and that make one verdict of both a wrong one.

    The verdict of all is that of the first one's options: what one of them requires, or took from a script, would go
    unsaid.
    """
    of_one, of_other = meta.settings, first.settings
    one, other = as_mapping(of_one.get("asked")), as_mapping(of_other.get("asked"))
    differ = {
        "--calibrated": of_one.get("calibrated") != of_other.get("calibrated"),
        "--replay": ("replay" in of_one) != ("replay" in of_other),
    }
    for name in ("definitions", "offline", "strict"):
        # Earlier versions had fewer options.
        differ[f"--{name}"] = name in one and name in other and one[name] != other[name]
    return [option for option, differs in differ.items() if differs]


def _meta(metas: Sequence[RunMeta], missing: Sequence[tuple[int, int]]) -> RunMeta:
    first = min(metas, key=lambda meta: meta.id)
    sharded = first.sharded
    settings = {name: value for name, value in first.settings.items() if name != "shard"}
    ends = [meta.finished_at for meta in metas if meta.finished_at is not None]
    ids = sorted(meta.id for meta in metas)
    return replace(
        first,
        id=_id_beside(ids, max(meta.created_at for meta in metas)),
        planned=first.plan_size,
        case_count=first.case_count if sharded is None else sharded.cases,
        finished_at=max(ends, default=None),
        idle_s=0.0,
        settings={**settings, "merged": ids},
        status="interrupted" if missing else "finished",
        message=_message(missing, _missing_shards(metas)) if missing else "",
        decided={},
        unrecorded=sum((Counter(meta.unrecorded) for meta in metas), Counter[str]()),
        code=reduce(joined_code, (meta.code for meta in metas)),
    )


def _id_beside(ids: Sequence[str], moment: float) -> str:
    """The id of the merged run, later than those of its runs, also in short form: the same for the same runs."""
    short = {run[:SHORT_ID] for run in ids}
    candidates = (id_at(moment + after / 1000, digest(*ids)) for after in range(len(ids) + 1))
    return next(run for run in candidates if run[:SHORT_ID] not in short)


def _signed(meta: RunMeta, metas: Sequence[RunMeta], homes: Iterable[Path]) -> RunMeta:
    makers = (home for home in homes if all(is_signed(one, (home,)) for one in metas))
    home = next(makers, None)
    return replace(meta, signature="") if home is None else signed(meta, home)


def _missing_shards(metas: Sequence[RunMeta]) -> tuple[str, ...]:
    """The shards that were not given, where all that were are of the same number."""
    shards = [sharded.shard for meta in metas if (sharded := meta.sharded)]
    if len(shards) < len(metas) or len({shard.count for shard in shards}) != 1:
        return ()
    numbers, count = {shard.number for shard in shards}, shards[0].count
    return tuple(f"{number}/{count}" for number in range(1, count + 1) if number not in numbers)


def _message(missing: Sequence[tuple[int, int]], shards: Sequence[str]) -> str:
    number = sum(last - first + 1 for first, last in missing)
    what = "1 trial is missing" if number == 1 else f"{number:,} trials are missing"
    return (
        f"{what}; shard{'s'[: len(shards) > 1]} {', '.join(shards)} not given" if shards else what
    )


def _filled(
    db: sqlite3.Connection, files: Sequence[Path], metas: Sequence[RunMeta]
) -> tuple[list[int], tuple[tuple[int, int], ...], list[bool]]:
    """Fills the merged file.

    Returns:
        How many trials were taken of each run, the places that none has settled, and which runs have random draws.
    """
    db.executescript(
        """
        create temp table seen (idx integer, of_case text, repeat integer, run integer, ok integer);
        create temp table owner (idx integer primary key, run integer);
        """
    )
    drawn = [False for _ in files]
    oldest = sorted(range(len(files)), key=lambda number: metas[number].id)
    for rank, number in enumerate(oldest):
        with readable(files[number]), _attached(db, files[number]):
            db.execute(f"insert into seen {_SEEN}", (rank,))
    db.execute(_CHOSEN)
    counts = dict(db.execute("select run, count(*) from owner group by run").fetchall())
    for rank, number in enumerate(oldest):
        with readable(files[number]), _attached(db, files[number]):
            _copy(db, rank)
            for table in {"draw", "pair_draw"} & dict(_tables(db)).keys():
                (draws,) = db.execute(f"select count(*) from source.{table}").fetchone()  # noqa: S608 (names of our own tables)
                drawn[number] = drawn[number] or draws > 0
    taken = [counts.get(oldest.index(number), 0) for number in range(len(files))]
    missing: list[tuple[int, int]] = []
    expected, size = 0, metas[0].plan_size
    # The end of the plan is treated as one more trial, so that a gap just before it shows.
    for (index,) in [*db.execute("select idx from owner order by idx"), (size,)]:
        if index > expected:
            missing.append((expected, index - 1))
        expected = index + 1
    return taken, tuple(missing), drawn


_SEEN = """
    select idx, case_id, repeat, ?, outcome != 'error' from source.trial t
    where not exists (select 1 from source.trial n where n.idx = t.idx and n.take > t.take and n.take > 0)
"""
_CHOSEN = """
    insert into owner select idx, run from (
        select seen.idx, seen.run, row_number() over (
            partition by seen.idx order by seen.ok desc, verdicts.number desc, seen.run
        ) as place
        from seen join (
            select of_case, repeat, run, sum(ok) as number from seen group by of_case, repeat, run
        ) verdicts using (of_case, repeat, run)
    ) where place = 1
"""
"""Those that have a verdict come first, then those of the run with the most verdicts on the case, then the oldest."""


def _alone_in(file: Path) -> sqlite3.Connection:
    """A connection to a file that nobody else opens: no locks, and nothing beside it."""
    address = f"{file.absolute().as_uri()}?nolock=1"
    db = sqlite3.connect(address, uri=True, isolation_level=None)
    db.execute("pragma journal_mode = memory")
    return db


@contextmanager
def _attached(db: sqlite3.Connection, file: Path) -> Iterator[None]:
    db.execute("attach database ? as source", (str(file),))
    try:
        db.execute("begin")
        yield
        db.execute("commit")
    finally:
        # SQLite does not detach a database while a transaction is open.
        if db.in_transaction:
            db.execute("rollback")
        db.execute("detach database source")


def _copy(db: sqlite3.Connection, rank: int) -> None:
    """Copies what the attached run has of its own trials."""
    mine = "select idx from owner where run = ?"
    others = "select idx from owner where run != ?"
    tables = dict(_tables(db))
    (calls,) = db.execute("select coalesce(max(id), 0) from main.call").fetchone()
    (parts,) = db.execute("select coalesce(max(id), 0) from main.part").fetchone()
    shifts = {"of_case": parts, "of_test": parts, "call": calls}
    for table, columns in tables.items():
        where = ""
        remaining = columns
        if table in OF_CALLS:
            key = OF_CALLS[table]
            shifted = {key: calls}
            where = f"where {key} in (select id from source.call where trial not in ({others}))"  # noqa: S608 (names of our own tables)
        elif table in ANEW or table in LEFT_BEHIND:
            continue
        elif table in OF_RESULTS:
            shifted = shifts
            where = f"where idx in ({mine})"
        else:
            # What lies beside a result belongs to it; of a trial without one, it is all there is.
            shifted = shifts
            # Both runs count their rows from 1, so SQLite gives new numbers.
            remaining = [name for name in columns if name not in ("id", "seq")]
            place = next((name for name in ("idx", "trial") if name in columns), "")
            where = f"where {place} not in ({others})" if place else ""
        values = [f"{name} + {shifted[name]}" if name in shifted else name for name in remaining]
        db.execute(
            f"insert into main.{table} ({', '.join(remaining)})"  # noqa: S608 (names of our own tables)
            f" select {', '.join(values)} from source.{table} {where}",
            (rank,) if where else (),
        )
    if "part" in tables:
        db.execute("insert into main.part select id + ?, part from source.part", (parts,))
    if "scale" in tables:
        db.execute(
            "insert into main.scale select * from source.scale where true"
            # Without `where true`, SQLite would take `on conflict` for the condition of a join.
            " on conflict do update set low = min(low, excluded.low), high = max(high, excluded.high)"
        )


def _tables(db: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """The tables that the attached run has and this version knows, with their columns."""
    known = "select name from main.sqlite_master where type = 'table'"
    ours = {name for (name,) in db.execute(known)}
    query = "select name from source.sqlite_master where type = 'table' order by name"
    for (name,) in db.execute(query).fetchall():
        if name in ours:
            rows = db.execute("select name from pragma_table_info(?, 'source')", (name,))
            yield name, [column for (column,) in rows]


BATCH = 1_000
"""Rows of a transaction."""


async def keep_run(
    start: Path,
    meta: RunMeta,
    trials: Iterable[TrialResult],
    labels: Callable[[], Iterable[NewLabel]] = tuple,
) -> Path:
    """Writes a finished run, a trial at a time; its file.

    It is written in a folder of its own and moved to the others when it is whole: if this process is killed, no part of
    it passes for the run.

    Args:
        start: The folder that its user stands in: it is kept there, or in EVENHAND_HOME.
        trials: Taken while the file is written. Whatever this raises, no file is left.
        labels: Has what people said of its trials, once these are taken.

    Raises:
        UsageError: There is a run with this id, wherever `find` looks.
        StoreError: It cannot be written.
    """
    for known in files(start):
        if known.stem == meta.id:
            raise _is_there(known)
    folder = run_folder(home_for(start))
    journal = Journal.create(folder / IMPORTING, meta, replaces=True)
    journal.write_in_batches(
        BATCH
    )  # nothing is lost with it: an import that breaks off leaves no file
    try:
        for trial in trials:
            await journal.settle(trial)
        journal.close()  # not finished now, but when its meta says
        if of_people := list(labels()):
            append_labels(journal.path, of_people)
        _move(journal.path, whole := folder / journal.path.name)
    except BaseException:  # an importer of a package may raise anything
        journal.close()
        with contextlib.suppress(OSError):
            journal.path.unlink()
        raise
    return whole


def _is_there(run: Path) -> UsageError:
    return UsageError(
        f"run {run.stem} already exists: {run}",
        hint=f"Look at it with `evenhand show {run.stem}`; delete its file to import it again.",
    )


def _move(file: Path, place: Path) -> None:
    """Moves a run file, never over another one, on which people may have put labels; raises UsageError, StoreError."""
    try:
        try:
            os.link(file, place)
        except FileExistsError:
            raise _is_there(place) from None
        except OSError:  # a file system without links
            if place.exists():
                raise _is_there(place) from None
            file.replace(place)
        else:
            file.unlink()
    except OSError as error:
        raise StoreError(f"{place} cannot be written: {error.strerror or error}") from error
