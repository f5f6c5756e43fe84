"""`evenhand review count` and `ratify`: how many outputs have each kind of failure, and who accepted the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.analysis.reviews.reviewed import opened
from evenhand.cli.exits import NO_VERDICT, PASSED
from evenhand.cli.options import file_option, flag
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.cli.study import Study, StudyPlan, begin_study, kept_of, study_options
from evenhand.core.document import as_object
from evenhand.core.errors import UsageError
from evenhand.core.wording.words import count as counted_words
from evenhand.core.wording.words import near, safe
from evenhand.languages.documents.failures_yml import read_codebook
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.commands.review import BOOK, BY, RUNS, author_of

if TYPE_CHECKING:
    from evenhand.cli.session import Session
    from evenhand.core.run import RunMeta
    from evenhand.languages.documents.failures_yml import Codebook
    from evenhand.store.runfile import RunFile
    from evenhand.wings.failures.changes import CodingRecord
    from evenhand.wings.failures.counting import FailuresDocument


@click.command()
@RUNS
@BOOK
@click.option(
    "--judge", metavar="MODEL", help="The model that codes all outputs by the ratified kinds."
)
@flag("--offline", help="Answer the judge from the folder's offline.jsonl.")
@file_option(
    "--html", help="Write a page, too: the five most frequent kinds, each with an example."
)
@study_options
def count(
    runs: tuple[str, ...],
    book: Path,
    judge: str | None,
    offline: bool,
    html: Path | None,
    **options: Any,
) -> int:
    """Count the kinds of failure in RUNs: the share of each, with its interval. Default: the latest run.

    People's codes are the notes that each kind of the file lists. With --judge, a model codes all outputs by the
    ratified kinds, without seeing verdicts or notes, and its shares are corrected by people's codes. An output may have
    several kinds.
    """
    from evenhand.wings.failures.counting import counted, stray_notes

    kinds = read_codebook(book)
    if html is not None:
        from evenhand.wings.failures.page import check_place

        check_place(html)
    with opened(runs) as run_files:
        paths = tuple(str(run.path.absolute()) for run in run_files)
        if strays := stray_notes(run_files, kinds):
            first = ", ".join(map(str, strays[:5]))
            tell(f"{near(book)} lists outputs that nobody reviewed: {safe(first)}")
        if judge is None:
            if offline:
                raise UsageError("--offline needs --judge", hint="--judge openai:gpt-5 --offline")
            document = counted(run_files, kinds)
            _write_page(document, run_files, kinds, html)
            return print_count(document, as_json=bool(options["as_json"]))
    from evenhand.wings.failures.changes import KEY, CodingRecord, ratified_kinds

    ratified_kinds(kinds)
    record = CodingRecord(
        runs=paths,
        book=kinds,
        judge=judge,
        folder=str(Path.cwd()),
        offline=offline,
        html=str(html.absolute()) if html else "",
    )
    return begin_study(_study_of(record), KEY, record.row(), options)


@click.command()
@click.argument("names", nargs=-1, metavar="[KIND]...")
@BOOK
@BY
def ratify(names: tuple[str, ...], book: Path, by: str | None) -> int:
    """Accept KINDs of failure in your name, with today's date. Default: all of the file.

    Judges go only by kinds that a person accepted. One whose name, rule or examples change has to be accepted again.
    """
    from evenhand.wings.failures.writing import ratify_in

    author = author_of(by)
    before, after = ratify_in(book, names, author, datetime.now(UTC).date())
    for kind in before.kinds:
        changed = kind.ratified is not None and not kind.is_ratified
        if changed and kind.notes and (not names or kind.name in names):
            lists = counted_words(len(kind.notes), "note")
            tell(f"{safe(kind.name)} has changed, and lists {lists}: check that each still has it")
    number = len(names) or len(after.kinds)
    tell(f"{counted_words(number, 'kind')} ratified by {safe(author)}; next: evenhand review count")
    return 0


def study(meta: RunMeta, file: Path) -> Study:
    """The count that an earlier session started."""
    from evenhand.wings.failures.changes import KEY, CodingRecord

    del file
    hint = "Start again: evenhand review count --judge MODEL"
    return _study_of(kept_of(meta, KEY, CodingRecord, "the count", hint))


def _study_of(record: CodingRecord) -> Study:
    def came_to(file: Path, session: Session) -> int:
        from msgspec.structs import replace

        from evenhand.wings.failures.changes import codes_of
        from evenhand.wings.failures.counting import counted

        with RunFile.open(file) as run, opened(record.runs) as run_files:
            document = counted(run_files, record.book, codes_of(run))
            document = replace(document, coding=run.meta.id)
            html = Path(record.html) if record.html else None
            _write_page(document, run_files, record.book, html)
        return print_count(document, as_json=session.as_json)

    plan = StudyPlan(record.plan, Path(record.folder), offline=record.offline)
    return Study("count", plan, came_to)


def _write_page(
    document: FailuresDocument, runs: Sequence[RunFile], book: Codebook, to: Path | None
) -> None:
    if to is None:
        return
    from evenhand.wings.failures.page import write_page

    write_page(document, runs, book, to)
    tell(f"written to {safe(near(to))}")


def print_count(document: FailuresDocument, *, as_json: bool) -> int:
    """Prints a count, and returns the exit code: 3 where nothing is reviewed."""
    from evenhand.wings.failures.counting import count_lines

    if as_json:
        say_json(as_object(document))
    else:
        say_lines(count_lines(document))
    return PASSED if document.reviewed else NO_VERDICT
