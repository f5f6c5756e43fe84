"""`evenhand runs merge`: the shards of a run, made into one run file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import code_for
from evenhand.cli.streams import printing, say_json, tell


@click.command(short_help="Merge the shards of a run into one run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_runs)
@click.option(
    "--to",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the merged run; an earlier merged run there is replaced.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def merge(runs: tuple[str, ...], to: Path, as_json: bool) -> int:
    """Merge RUNs, ids or files, that `evenhand run --shard` made of the same files.

    A trial that several runs have is taken from one of them. Trials that no run has are named, and may go either way
    for the verdict: `evenhand resume FILE` runs them. The exit code is that of a run with these trials.
    """
    from evenhand.analysis.trust.run_verdict import verdict_of
    from evenhand.cli.merge_report import merge_document, merge_lines
    from evenhand.core.wording.words import put, safe, short_id
    from evenhand.store import merging
    from evenhand.store.catalogue import find, homes
    from evenhand.store.runfile import RunFile

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
