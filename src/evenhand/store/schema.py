"""The tables, as commented SQL.

Text that a person, a model or a dataset wrote is kept as JSON bytes: every character
survives, lone surrogates and NULs too, and nothing here ever computes on it.

What is counted and what is only carried lie in separate tables: totals of a large run are read from small rows, without
a page of the texts.

Versions of a run file:
1  the first.
2  labels: what people say of trials.
3  scale: the lowest and the highest score there can be, where scorers say so.
4  remark: what people say of the run as a whole.
5  detail and part, in place of result: what a trial's row says, and what results share, is kept once.
6  draw, metric_label and rule: random draws of trials, and what people say of their metrics, by which rule.
7  design: how likely each trial was to be drawn, where some were likelier than others.
8  tool: what the tools of an application were called with, and returned.
9  step: what the application of a trial did, in which order.
10  batch and batch_call: requests that a vendor answers together, within a day.
11  pair_draw and pair_label: random draws of compared pairs, and which of their outputs people prefer.
12  reply.first_byte_s and reply.queued_s: when an answer began, and how long it waited here.
13  long_output: an output of a megabyte or more is kept once, in the answer that has it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache, lru_cache

from evenhand.core.errors import StoreError

RUN_FILE_ID = 0x45766E31  # "Evn1"
CACHE_ID = 0x45766E43  # "EvnC"
_QUOTED_OR_COMMENT = re.compile(r"('[^']*')|--[^\n]*")
_OF_SQLITE = frozenset(
    {
        ("index", None),  # of a key
        ("table", "CREATE TABLE sqlite_sequence(name,seq)"),
        ("table", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
        ("table", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
    }
)
"""What SQLite makes by itself, under names that begin with `sqlite_`: kind and SQL."""
_LONGEST_NAME = 60

RUN_MIGRATIONS = (
    """
    -- What the run is as a whole: one row. `meta` is a RunMeta as JSON; its status is the only thing ever rewritten.
    create table run (
        id      text primary key,
        meta    blob not null
    ) without rowid;

    -- A call that was about to be sent. Durable before its first byte leaves.
    create table call (
        id          integer primary key,
        trial       integer not null,   -- the trial's place in the plan
        key         text not null,      -- hash of the canonical request
        nth         integer not null,   -- among the identical requests of this trial, from 0
        role        text not null,      -- subject, judge, setup, simulator
        provider    text not null,      -- as asked for
        identity    blob not null,      -- the canonical request
        bound_usd   real,               -- it cannot cost more; null: no price known
        draw        text not null       -- which of several answers to this request
    );
    create index call_by_request on call (trial, key, nth);

    -- What became of a call. None: it is in flight, or, once its process is dead, in doubt.
    create table reply (
        call        integer primary key references call (id),
        origin      text not null,      -- provider, cache, replay
        latency_s   real,
        tokens_in   integer,            -- null: the vendor did not say
        tokens_out  integer,
        cost_usd    real,               -- null: no price known
        model       text not null,      -- as the answer named it
        attempts    integer not null,
        wasted      integer not null,   -- failed attempts that may have been charged for
        error       text not null,      -- slug of the error that ended it, or given-up; empty for an answer
        message     blob not null
    );

    -- The answer as it came. For an error, empty, or what an application was given: status, headers, body.
    create table body (
        call        integer primary key references reply (call),
        body        blob not null
    );

    -- A settled trial. A later take supersedes an earlier one; nothing is deleted.
    create table trial (
        idx         integer not null,   -- place in the plan
        take        integer not null,   -- from 0
        case_id     text not null,      -- as ASCII: other characters escaped
        variant     integer not null,   -- the column's index
        repeat      integer not null,   -- from 0
        outcome     text not null,      -- pass, fail, error, not_applicable
        score       real,               -- null: in error, or nothing applied
        latency_s   real,               -- null: the subject was not asked
        calls       integer not null,   -- that it used, replayed ones included
        cached      integer not null,   -- those that came from the cache or the journal
        cost_usd    real,               -- null: a price is not known
        tokens_in   integer,            -- null: a vendor did not say
        tokens_out  integer,            -- null: a vendor did not say
        primary key (idx, take)
    ) without rowid;
    create index retaken on trial (idx, take) where take > 0;

    -- The whole TrialResult as JSON, where a version before 5 wrote it.
    create table result (
        idx         integer not null,
        take        integer not null,
        result      blob not null,
        primary key (idx, take)
    ) without rowid;

    -- The takes that count. Few trials have a second one: what is looked up for each is a small index, often empty.
    create view latest as
        select * from trial t
        where not exists (select 1 from trial n where n.idx = t.idx and n.take > t.take and n.take > 0);
    """,
    """
    -- What somebody said of a trial. Only ever added to: the last one of an author, a trial and a field counts.
    create table label (
        seq         integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        author      blob not null,
        idx         integer not null,   -- the trial's place in the plan
        field       text not null,      -- verdict, score, note, star, code, dataset
        value       blob not null,      -- as JSON; null takes back what was said
        blind       integer not null    -- 1: the variant and the verdicts were hidden
    );
    create trigger label_is_never_rewritten before update on label
        begin select raise(abort, 'labels are never rewritten'); end;
    create trigger label_is_never_deleted before delete on label
        begin select raise(abort, 'labels are never deleted'); end;
    """,
    """
    -- The lowest and the highest number there can be of a metric in a column; of trials' scores where metric is null.
    create table scale (
        variant     integer not null,
        metric      blob not null,      -- as JSON
        low         real not null,
        high        real not null,
        primary key (variant, metric)
    ) without rowid;
    """,
    """
    -- What somebody said of the run. Only ever added to: the last one of a field counts. The config's tags
    -- count, too, unless an earlier list of tags had them.
    create table if not exists remark (
        seq         integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        field       text not null,      -- title, tags, note; by: who signed those right before it
        value       blob not null       -- as JSON; an empty one takes back what was said
    );
    """,
    """
    -- What many results have in common, as fields of a JSON object: what their case gave, or what their test says.
    create table part (
        id          integer primary key,
        part        blob not null
    );

    -- What a TrialResult says beyond its row of `trial` and its parts, as JSON, without what is empty. Its rows are too
    -- large for a table `without rowid`, which keeps at most a quarter of a page in place.
    create table detail (
        idx         integer not null,
        take        integer not null,
        of_case     integer,            -- the part with what its case gave; null: nothing
        of_test     integer,            -- the part with what its test says; null: nothing
        detail      blob not null
    );
    create unique index detail_of_trial on detail (idx, take);
    """,
    """
    -- Trials that were drawn at random for people to label, each with the probability size of places / population;
    -- another one where there is a design.
    create table if not exists draw (
        id          integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        seed        integer not null,
        metrics     blob not null,      -- what is to be labelled of each, a JSON list of names
        population  integer not null,   -- how many trials there were to draw from
        places      blob not null       -- their places in the plan, a JSON list in the order of the draw
    );

    -- Whether a person finds that an output meets what a metric asks for. Only ever added to: the last one counts.
    create table if not exists metric_label (
        seq         integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        author      blob not null,
        idx         integer not null,   -- the trial's place in the plan
        metric      blob not null,      -- as JSON
        verdict     text                -- pass or fail; null: what was said before is taken back
    );
    create trigger if not exists metric_label_is_never_rewritten before update on metric_label
        begin select raise(abort, 'labels are never rewritten'); end;
    create trigger if not exists metric_label_is_never_deleted before delete on metric_label
        begin select raise(abort, 'labels are never deleted'); end;

    -- The rule that people follow when they label a metric. Only ever added to: the last one of a metric counts.
    create table if not exists rule (
        seq         integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        metric      blob not null,      -- as JSON
        rule        blob not null       -- as JSON
    );
    """,
    """
    -- How a draw was made of which some trials were likelier than others. Within a stratum all were equally likely.
    create table if not exists design (
        draw        integer primary key references draw (id),
        design      text not null,      -- active, equal, proportional, failures; uniform of an unfinished run
        column_name blob not null,      -- the column of the cases that the strata are of, as JSON; empty for none
        strata      blob not null       -- a JSON list: name, drawn, inclusion, and the places of all its trials
    );
    """,
    """
    -- A recorded call of a tool of the application under test.
    create table if not exists tool (
        id          integer primary key,
        trial       integer not null,   -- the trial's place in the plan
        name        text not null,      -- what the tool is called
        key         text not null,      -- hash of the name and the arguments
        nth         integer not null,   -- among the identical calls of this trial, from 0
        arguments   blob not null,      -- by name, a JSON object
        result      blob not null,      -- what it returned, as JSON; null where it raised
        error       blob not null,      -- what it raised, a JSON object; empty for nothing
        replayed    integer not null    -- 1: it was not run, the result is a recording
    );
    """,
    """
    -- The steps of a settled trial, some hundreds in a row. What `call` and `tool` have of them is not repeated.
    -- A trial that asked a model once and did nothing else has none.
    create table if not exists step (
        idx         integer not null,   -- the trial's place in the plan
        take        integer not null,   -- of the trial
        first       integer not null,   -- the place of the first of these steps, from 0
        steps       blob not null,      -- a JSON list of objects without what is empty, compressed by zlib
        primary key (idx, take, first)
    );
    create index if not exists tool_of_trial on tool (trial);
    """,
    """
    -- Requests that a vendor answers together, within a day.
    create table if not exists batch (
        id          text primary key,   -- our name for it, with which the ids of its requests begin
        wave        integer not null,   -- how many times requests were submitted together before and with it
        vendor      text not null,      -- openai, anthropic, google, mistral
        address     text not null,      -- where the vendor's API begins
        account     text not null,      -- the host, and a fingerprint of the key
        model       text not null,
        endpoint    text not null,      -- what its requests are sent to, below the address
        requests    integer not null,   -- how many they are
        state       text not null,      -- intended, out, cancelling, collected, refused, gone, given_up
        vendor_id   text not null,      -- the vendor's name for it; empty: not known
        intended_at real not null,      -- seconds since 1970
        submitted_at real,              -- null: it is not known whether the vendor took it
        ended_at    real,
        bound_usd   real,               -- more it cannot cost; null: a price is not known
        message     blob not null       -- why it came to nothing, as JSON; empty for nothing
    );

    -- Which calls are in a batch.
    create table if not exists batch_call (
        call        integer primary key,
        batch       text not null
    );
    create index if not exists call_of_batch on batch_call (batch);
    create index if not exists tool_by_call on tool (trial, key, nth);
    """,
    """
    -- Pairs of outputs that a judge compared and that were drawn at random for people to compare, each with the
    -- probability size of pairs / population, among those that had not been drawn before.
    create table if not exists pair_draw (
        id          integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        seed        integer not null,
        metric      blob not null,      -- the ranking, as JSON
        population  integer not null,   -- how many pairs there were to draw from, those drawn before among them
        pairs       blob not null       -- a JSON list of pairs of places, the one to show first before the other
    );

    -- Which of two outputs a person prefers. Only ever added to: the last one of an author and a pair counts.
    create table if not exists pair_label (
        seq         integer primary key autoincrement,
        at          real not null,      -- seconds since 1970
        author      blob not null,
        idx         integer not null,   -- the place in the plan of the trial whose output was shown first
        other       integer not null,   -- that of the other one
        metric      blob not null,      -- the ranking, as JSON
        answer      text                -- first, second or tie; null: what was said before is taken back
    );
    create trigger if not exists pair_label_is_never_rewritten before update on pair_label
        begin select raise(abort, 'labels are never rewritten'); end;
    create trigger if not exists pair_label_is_never_deleted before delete on pair_label
        begin select raise(abort, 'labels are never deleted'); end;
    """,
    """
    alter table reply add column first_byte_s real;
    alter table reply add column queued_s real;

    -- A trial has few calls, so that their keys need not be kept a second time.
    create index if not exists call_of_trial on call (trial);
    drop index if exists call_by_request;
    """,
    """
    -- Outputs of a megabyte or more that a call's answer has as a JSON text. They are null in `detail`.
    create table if not exists long_output (
        idx         integer not null,   -- the trial's place in the plan
        take        integer not null,   -- of the trial
        place       integer not null,   -- how many bytes of the detail precede the output
        call        integer not null,   -- whose answer has it
        first       integer not null,   -- its first byte in the answer, from 1
        length      integer not null,   -- its bytes in the answer, with the quotes
        primary key (idx, take)
    ) without rowid;

    -- `detail`, with the outputs that answers have.
    create view if not exists whole_detail as
        select idx, take, of_case, of_test,
               case when exists (select 1 from long_output o where o.idx = d.idx and o.take = d.take) then
                   (select cast(substr(detail, 1, place) || substr(body, first, length) ||
                                substr(detail, place + 1 + length('null')) as blob)
                    from long_output o join body using (call) where o.idx = d.idx and o.take = d.take)
               else detail end as detail
        from detail d;
    """,
)

CACHE_MIGRATIONS = (
    """
    -- An answer, by what was asked and which draw of it.
    create table answer (
        key         text not null,      -- hash of the canonical request
        draw        text not null,      -- which of several answers to it
        identity    blob not null,      -- the canonical request, for `cache explain`
        body        blob not null,      -- the answer as it came
        latency_s   real,
        created_at  real not null,
        primary key (key, draw)
    ) without rowid;
    """,
    """
    alter table answer add column first_byte_s real;
    """,
)


def prepare(db: sqlite3.Connection, file_id: int, migrations: Sequence[str], what: str) -> None:
    """Brings a new or older file up to date, whole or not at all: each transaction would wait for the disk.

    Raises:
        StoreError: It is some other program's file, or a newer Evenhand's.
    """
    version = check(db, file_id, migrations, what)
    if version == len(migrations):
        return
    try:
        db.executescript(
            f"begin immediate; {';'.join(migrations[version:])}; pragma application_id = {file_id};"
            f" pragma user_version = {len(migrations)}; commit;"
        )
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("rollback")
        if check(db, file_id, migrations, what) < len(migrations):
            raise  # else another process has just done it


def _schema(db: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    """What a file consists of: kind, name and SQL, without comments, and spaced alike."""
    for kind, name, sql in db.execute("select type, name, sql from sqlite_master"):
        # The name alone shows nothing: whoever edits the schema as a table may call a trigger `sqlite_x`.
        if not str(name).startswith("sqlite_") or (kind, sql) not in _OF_SQLITE:
            yield kind, name, _bare(str(sql or ""))


@lru_cache(maxsize=256)
def _bare(sql: str) -> str:
    # Two dashes within quotes begin no comment.
    return " ".join(_QUOTED_OR_COMMENT.sub(lambda part: part[1] or " ", sql).split())


@cache
def _ours(migrations: tuple[str, ...]) -> frozenset[tuple[str, str, str]]:
    """What files consist of that these migrations make, of any version."""
    schema: set[tuple[str, str, str]] = set()
    with closing(sqlite3.connect(":memory:")) as db:
        for step in migrations:
            db.executescript(step)
            schema.update(_schema(db))
    return frozenset(schema)


def check(db: sqlite3.Connection, file_id: int, migrations: Sequence[str], what: str) -> int:
    """The file's version; 0 for an empty one.

    Raises:
        StoreError: It is some other program's file, a newer Evenhand's, or somebody added to its schema: a trigger or
            a view would run what they wrote.
    """
    # Before the schema is compared: a newer version has tables that are not known here.
    newest = len(migrations)
    application = db.execute("pragma application_id").fetchone()[0]
    version = db.execute("pragma user_version").fetchone()[0]
    if application == file_id and version > newest:
        raise StoreError(
            f"{what} was written by a newer Evenhand (format {version}; this one reads {newest})",
            hint="Upgrade Evenhand, in the way that you installed it.",
        )
    tables = db.execute("select count(*) from sqlite_master").fetchone()[0]
    if application != file_id and (application or tables):
        raise StoreError(f"{what} is not one of Evenhand's files")
    # What earlier versions made counts as ours: a file that is only read is not migrated.
    foreign = sorted(set(_schema(db)) - _ours(tuple(migrations))) if tables else []
    if foreign:
        kind, name, _ = foreign[0]
        raise StoreError(
            f"{what} has a {kind} {name[:_LONGEST_NAME]!r} that Evenhand did not make",
            hint="Somebody changed the file: don't use it. Other files are not affected.",
        )
    return version if application == file_id else 0
