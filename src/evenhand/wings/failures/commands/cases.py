"""`evenhand review cases`: what failed becomes cases of a dataset."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.streams import tell
from evenhand.wings.failures.commands.review import BOOK, RUNS


@click.command()
@RUNS
@BOOK
@click.option(
    "--to",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The new file: .jsonl, .csv, .json, .yaml or .parquet.",
)
def cases(runs: tuple[str, ...], book: Path, to: Path) -> int:
    """Write a case for each output of RUNs that failed, as people say, to a new dataset. Default: the latest run.

    A case's tags are its kinds of failure, and its metadata have people's words and the answer that failed.
    """
    from evenhand.analysis.reviews.reviewed import opened
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.words import count, near, safe
    from evenhand.doors.eval_sets.writing import write_cases
    from evenhand.languages.documents.codebook import Codebook, read_codebook
    from evenhand.wings.failures.cases import cases_of

    if to.exists():
        raise UsageError(f"{to} is there already", hint="Name a new file.")
    kinds = read_codebook(book) if book.is_file() else Codebook()
    with opened(runs) as run_files:
        rows = cases_of(run_files, kinds)
    write_cases(rows, to)
    tell(
        f"{count(len(rows), 'case')} written to {safe(near(to))}; next: read them, and add what a right answer is"
    )
    return 0
