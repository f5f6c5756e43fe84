"""`evenhand review propose`: a model proposes kinds of failure from people's notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.analysis.reviews.reviewed import opened
from evenhand.cli.options import flag
from evenhand.cli.streams import tell
from evenhand.cli.study import Study, StudyPlan, begin_study, kept_of, study_options
from evenhand.core.errors import UsageError
from evenhand.core.wording.words import count, near
from evenhand.wings.failures.commands.count import print_count
from evenhand.wings.failures.commands.review import BOOK, RUNS

if TYPE_CHECKING:
    from evenhand.cli.session import Session
    from evenhand.core.run import RunMeta
    from evenhand.wings.failures.proposing import ProposalRecord


@click.command()
@RUNS
@BOOK
@click.option("--model", required=True, metavar="MODEL", help="The model that is asked.")
@flag("--offline", help="Answer it from the folder's offline.jsonl.")
@study_options
def propose(runs: tuple[str, ...], book: Path, model: str, offline: bool, **options: Any) -> int:
    """Let MODEL propose kinds of failure from the notes on RUNs, and write them to a new file. Default: the latest run.

    The model is asked once. It sees the notes on failures and nothing else. Nothing it writes is used before a person
    has read the file and ratified its kinds.
    """
    from evenhand.wings.failures.proposing import KEY, ProposalRecord, notes_of

    if book.exists():  # said before anything is paid for
        raise UsageError(f"{book} already exists", hint="Name a new file: --kinds failures-2.yml")
    with opened(runs) as run_files:
        notes = notes_of(run_files)
        paths = tuple(str(run.path.absolute()) for run in run_files)
    record = ProposalRecord(
        notes=notes,
        runs=paths,
        book=str(book.absolute()),
        model=model,
        folder=str(Path.cwd()),
        offline=offline,
    )
    return begin_study(_study_of(record), KEY, record.row(), options)


def study(meta: RunMeta, file: Path) -> Study:
    """The proposal that an earlier session asked for."""
    from evenhand.wings.failures.proposing import KEY, ProposalRecord

    del file
    hint = "Start again: evenhand review propose --model MODEL"
    return _study_of(kept_of(meta, KEY, ProposalRecord, "the proposal", hint))


def _study_of(record: ProposalRecord) -> Study:
    def came_to(file: Path, session: Session) -> int:
        from evenhand.wings.failures.counting import counted
        from evenhand.wings.failures.proposing import answer_in, proposed
        from evenhand.wings.failures.writing import write_new

        book, path = proposed(answer_in(file), record.notes), Path(record.book)
        write_new(book, path)
        covered = {note for kind in book.kinds for note in kind.notes}
        with opened(record.runs) as run_files:
            print_count(counted(run_files, book), as_json=session.as_json)
        tell(
            f"{count(len(book.kinds), 'kind')} for {len(covered):,} of {count(len(record.notes), 'note')} written to "
            f"{near(path)}; read and edit it, then: evenhand review ratify --by NAME"
        )
        return 0

    plan = StudyPlan(record.plan, Path(record.folder), offline=record.offline)
    return Study("proposal", plan, came_to)
