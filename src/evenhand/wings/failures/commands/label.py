"""`evenhand review label`: people's codes become labels, so that the judges of kinds can be calibrated."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.analysis.reviews.drawing import review_draws
from evenhand.analysis.reviews.reviewed import opened
from evenhand.cli.completing import complete_runs
from evenhand.cli.remote_run_names import RunName
from evenhand.cli.streams import tell
from evenhand.core.errors import StoreError
from evenhand.core.wording.words import safe
from evenhand.languages.documents.failures_yml import read_codebook
from evenhand.store.run_lookup import called, files, newest_first
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.commands.review import BOOK

if TYPE_CHECKING:
    from evenhand.store.runfile import RunFile

LOOKED_AT = 200
"""So many of the newest runs are looked at for one that is reviewed."""


@click.command()
@click.argument("run", required=False, type=RunName(), shell_complete=complete_runs)
@BOOK
@click.option(
    "--reviewed",
    metavar="RUN",
    type=RunName(),
    help="The run that people reviewed.  [default: RUN itself, or the newest that is reviewed]",
)
def label(run: str | None, book: Path, reviewed: str | None) -> int:
    """Label outputs of RUN by people's codes, under its metrics of the type avoids. Default: the latest run.

    The reviewed run may be an earlier one: what counts is that the same cases have the same outputs, as after
    `evenhand regrade`, or where replies came from the cache. `evenhand calibrate` then compares the judge with people.
    """
    from evenhand.wings.failures.labelling import label_kinds, label_lines

    kinds = read_codebook(book)
    with opened([run] if run else []) as (of,), opened([reviewed or _reviewed(of)]) as (by,):
        results = label_kinds(of, by, kinds)
        name = called(Path.cwd(), of.path)
    for line in label_lines(results):
        tell(line.strip())
    tell(f"next: evenhand calibrate {safe(name)}")
    return 0 if any(one.labels for one in results) else 3


def _reviewed(run: RunFile) -> str:
    """The file of the run whose outputs people reviewed: this one, or the newest of which outputs are drawn."""
    for path in [run.path, *newest_first(files(Path.cwd()))[:LOOKED_AT]]:
        with suppress(StoreError), RunFile.open(path) as one:
            if review_draws(one):
                return str(path.absolute())
    return str(run.path.absolute())
