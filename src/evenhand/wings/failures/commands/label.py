"""`evenhand review label`: people's codes become labels, so that the judges of kinds can be calibrated."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.run_names import RunName
from evenhand.cli.streams import tell
from evenhand.wings.failures.commands.review import BOOK


@click.command()
@click.argument("run", required=False, type=RunName(), shell_complete=complete_runs)
@BOOK
@click.option(
    "--reviewed",
    metavar="RUN",
    type=RunName(),
    help="The run that people reviewed.  [default: RUN itself]",
)
def label(run: str | None, book: Path, reviewed: str | None) -> int:
    """Label outputs of RUN by people's codes, under its metrics of the type avoids. Default: the latest run.

    The reviewed run may be an earlier one: what counts is that the same cases have the same outputs, as after
    `evenhand regrade`, or where replies came from the cache. `evenhand calibrate` then compares the judge with people.
    """
    from evenhand.core.wording.words import safe
    from evenhand.languages.documents.codebook import read_codebook
    from evenhand.store.catalogue import called
    from evenhand.wings.failures.labelling import label_kinds, label_lines
    from evenhand.wings.failures.reviews import opened

    kinds = read_codebook(book)
    names = [run] if run else []
    with opened(names) as (of,), opened([reviewed] if reviewed else names) as (by,):
        results = label_kinds(of, by, kinds)
        name = called(Path.cwd(), of.path)
    for line in label_lines(results):
        tell(line.strip())
    tell(f"next: evenhand calibrate {safe(name)}")
    return 0 if any(one.labels for one in results) else 3
