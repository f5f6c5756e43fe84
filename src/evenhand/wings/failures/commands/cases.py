"""`evenhand review cases`: what failed becomes cases of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from evenhand.analysis.filters.vocabulary import tags_of
from evenhand.analysis.reviews.reviewed import opened, reviews_of
from evenhand.cli.options import file_option
from evenhand.cli.streams import tell
from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, near, safe
from evenhand.languages.documents.failures_yml import Codebook, read_codebook
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.commands.review import BOOK, RUNS


@click.command()
@RUNS
@BOOK
@file_option("--to", required=True, help="The new file: .jsonl, .csv, .json, .yaml or .parquet.")
def cases(runs: tuple[str, ...], book: Path, to: Path) -> int:
    """Write a case for each output of RUNs that failed, as people say, to a new dataset. Default: the latest run.

    A case's tags are its kinds of failure, and its metadata have people's words and the answer that failed.
    """
    from evenhand.doors.eval_sets.writing import write_cases

    if to.exists():
        raise UsageError(f"{to} already exists", hint="Name a new file.")
    kinds = read_codebook(book) if book.is_file() else Codebook()
    with opened(runs) as run_files:
        rows = cases_of(run_files, kinds)
    write_cases(rows, to)
    tell(
        f"{count(len(rows), 'case')} written to {safe(near(to))}; next: read them, and add what a right answer is"
    )
    return 0


def cases_of(runs: Sequence[RunFile], book: Codebook) -> list[Case]:
    """A case for each that failed, as people say, in the order of the runs and of their plans.

    Its tags are those that it had, and its kinds of failure. Its metadata have what people wrote (`expectation`), the
    answer that failed (`failed_output`), and the review's name (`review`). A case that failed in several outputs is
    one, with the kinds of all and the words of the first.

    Raises:
        UsageError: People found no failure.
    """
    cases: dict[str, Case] = {}
    for run in runs:
        reviews = {one.note.index: one for one in reviews_of(run) if one.failed}
        for trial in run.at(sorted(reviews)):
            review = reviews[trial.index]
            earlier = cases.get(trial.case)
            before = earlier.tags if earlier else tags_of(trial)
            metadata = {
                **{key: value for key, value in trial.metadata.items() if key != "tags"},
                "expectation": review.words,
                "failed_output": as_text(trial.output),
                "review": str(review.note),
            }
            cases[trial.case] = Case(
                trial.case,
                input=trial.input,
                expected=trial.expected,
                vars=trial.vars,
                tags=tuple(dict.fromkeys([*before, *book.kinds_of(review.note)])),
                metadata=earlier.metadata if earlier else metadata,
            )
    if not cases:
        raise UsageError(
            "people found no failure in these runs", hint="Review some: evenhand review notes."
        )
    return list(cases.values())
