"""`evenhand runs merge`: the shards of a run, made into one run file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import code_for
from evenhand.cli.options import file_option, flag
from evenhand.cli.streams import printing, say_json, tell
from evenhand.core.document import Key, as_object
from evenhand.core.record import Record
from evenhand.core.run import VerdictWord
from evenhand.core.wording.words import count, put, safe, short_id
from evenhand.store import merging
from evenhand.store.merging import Merged, MergedFrom
from evenhand.store.run_lookup import find, homes
from evenhand.store.runfile import RunFile


@click.command(short_help="Merge the shards of a run into one run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_runs)
@file_option(
    "--to",
    required=True,
    metavar="FILE",
    help="Where to write the merged run; an earlier merged run there is replaced.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def merge(runs: tuple[str, ...], to: Path, as_json: bool) -> int:
    """Merge RUNs, ids or files, that `evenhand run --shard` made of the same files.

    A trial that several runs have is taken from one of them. Trials that no run has are named, and may go either way
    for the verdict: `evenhand resume FILE` runs them. The exit code is that of a run with these trials.
    """
    from evenhand.analysis.trust.run_verdict import verdict_of

    merged = merging.merge([find(Path.cwd(), run) for run in runs], to, homes(Path.cwd()))
    with RunFile.open(to) as run_file:
        verdict = verdict_of(run_file)
    for line in merge_lines(merged):
        tell(line)
    if as_json:
        say_json(merge_document(merged, verdict))
    else:
        settled = sum(source.taken for source in merged.sources)
        next_ = "resume" if merged.missing else "show"
        with printing():
            put(
                sys.stdout,
                f"{verdict}: {settled:,} of {merged.meta.planned:,} trials, saved as {short_id(merged.meta.id)}"
                f" in {safe(str(to))} · next: evenhand {next_} {shlex.quote(safe(str(to)))}\n",
            )
    return code_for(verdict, merged.meta.status)


SCHEMA = "evenhand.merge/1"
SHOWN = 10
"""So many ranges of missing trials are shown; the document has all."""


class MergeRange(Record, frozen=True, kw_only=True):
    """What `evenhand.merge/1` says of a range."""

    first: Annotated[int, Key("", "place in the plan, from 0")]
    last: Annotated[int, Key("itself missing, too", "place in the plan, from 0")]


class MergeRun(Record, frozen=True, kw_only=True):
    """What `evenhand.merge/1` says of a run."""

    run: Annotated[str, Key("its id")]
    file: Annotated[str, Key("its file")]
    shard: Annotated[str | None, Key("as it was started: `1/3`", null="not a shard")]
    status: Annotated[str, Key("how it ended; see [`evenhand.run/1`](run-1.md)")]
    planned: Annotated[int, Key("how many it has to settle", "trials")]
    settled: Annotated[int, Key("how many it has settled", "trials")]
    taken: Annotated[int, Key("how many of them are in the merged run", "trials")]
    doubled: Annotated[int, Key("how many of them were dropped", "trials")]


class MergeDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.merge/1`."""

    schema: Annotated[str, Key("`evenhand.merge/1`")]
    run: Annotated[str, Key("the id of the merged run; the same runs give the same id")]
    file: Annotated[str, Key("its file")]
    status: Annotated[str, Key("`finished`, or `interrupted` if trials are missing")]
    verdict: Annotated[
        str, Key("`passed`, `failed` or `undecided`; a missing trial may go either way")
    ]
    planned: Annotated[int, Key("how many the whole plan has", "trials")]
    settled: Annotated[int, Key("how many the merged run has", "trials")]
    doubled: Annotated[int, Key("how many were dropped, as another run has them too", "trials")]
    missing: Annotated[list[MergeRange], Key("what no run has; empty if nothing is missing")]
    missing_shards: Annotated[
        list[str],
        Key(
            "the shards that were not given; empty if none, or if the runs are not shards of one number"
        ),
    ]
    runs: Annotated[list[MergeRun], Key("in the order in which they were given")]


def merge_document(merged: Merged, verdict: VerdictWord) -> dict[str, Any]:
    """A merge, in the keys of the document.

    Args:
        verdict: What the merged run came to.
    """
    meta = merged.meta
    return as_object(
        MergeDocument(
            schema=SCHEMA,
            run=meta.id,
            file=str(merged.path),
            status=meta.status,
            verdict=verdict,
            planned=meta.planned,
            settled=sum(source.taken for source in merged.sources),
            doubled=sum(source.doubled for source in merged.sources),
            missing=[MergeRange(first=first, last=last) for first, last in merged.missing],
            missing_shards=list(merged.missing_shards),
            runs=[_source_row(source) for source in merged.sources],
        )
    )


def _source_row(source: MergedFrom) -> MergeRun:
    return MergeRun(
        run=source.meta.id,
        file=str(source.path),
        shard=_shard(source) or None,
        status=source.meta.status,
        planned=source.meta.planned,
        settled=source.settled,
        taken=source.taken,
        doubled=source.doubled,
    )


def _shard(source: MergedFrom) -> str:
    sharded = source.meta.sharded
    return str(sharded.shard) if sharded else ""


def merge_lines(merged: Merged) -> Iterator[str]:
    """A merge in lines, for people: what came from where, what was there twice, and what is missing."""
    for source in merged.sources:
        shard = f" · shard {_shard(source)}" if _shard(source) else ""
        line = f"{safe(str(source.path))}{shard}: {count(source.taken, 'trial')}"
        if source.doubled:
            twice = count(source.doubled, "double trial")
            line += f", {twice} dropped with what was asked for {'it' if source.doubled == 1 else 'them'}"
        if source.settled < source.meta.planned:
            line += f", {source.meta.planned - source.settled:,} not run"
        yield line
        if source.drawn:
            yield "  its draws for labels are not merged: they belong to its own trials"
    number = sum(last - first + 1 for first, last in merged.missing)
    if not number:
        return
    ranges = ", ".join(
        f"{first + 1}–{last + 1}" if last > first else f"{first + 1}"
        for first, last in merged.missing[:SHOWN]
    )
    more = (
        f" and {count(len(merged.missing) - SHOWN, 'more range')}"
        if len(merged.missing) > SHOWN
        else ""
    )
    yield f"missing: {count(number, 'trial')} of {merged.meta.planned:,}: {ranges}{more}"
    for shard in merged.missing_shards:
        yield f"missing: shard {shard} was not given"
