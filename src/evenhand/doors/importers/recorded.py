"""What an importer makes of some files: runs, datasets, and what became of each part of the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.doors.importers.imported import Imported, ImportedRun, RecordedRun
from evenhand.languages.documents.foreign import Note, Notes


class OtherToolError(UsageError):
    """A file is not of the tool whose importer reads it."""


class RecordedDataset(Record, frozen=True):
    """A dataset of another tool.

    Attributes:
        name: What people call it.
        cases: Each with an id of its own.
        where: The file and the path inside it.
    """

    name: str
    cases: Sequence[Case]
    where: str


@dataclass(frozen=True, slots=True)
class Recordings:
    """What some files hold: what every importer returns.

    Attributes:
        runs: Oldest first.
        notes: What was carried over, and what was not, and why. They may grow while the trials are read.
        datasets: In the order of the files.
    """

    runs: Sequence[RecordedRun]
    notes: Iterable[Note] = field(default=())
    datasets: Sequence[RecordedDataset] = field(default=())


def recordings(
    importer: str,
    runs: Iterable[tuple[Path, ImportedRun]],
    datasets: Iterable[RecordedDataset] = (),
    notes: Iterable[Note] = (),
) -> Recordings:
    """The runs, oldest first, and the datasets.

    Args:
        importer: What users call it. The same run of the same importer is imported once.
        runs: Each with the file that it was read from.
        datasets: In the order of the files.
        notes: What was carried over, and what was not, and why.

    Raises:
        UsageError: What is wrong with a run.
    """
    imported = [Imported(run, path, importer) for path, run in runs]
    # The id breaks ties between runs with the same time, so that the order of the files makes no difference.
    imported.sort(key=lambda one: (one.run.created_at, one.run.id))
    sets = list(datasets)
    return Recordings(imported, tuple(notes), sets)


def each_once(cases: Iterable[Case], where: str, notes: Notes) -> list[Case]:
    """The cases without those whose id was there before, which are noted."""
    by_id: dict[str, Case] = {}
    twice = 0
    for case in cases:
        twice += case.id in by_id
        by_id.setdefault(case.id, case)
    if twice:
        notes.left_out(where, f"rows with the id of an earlier one: {twice:,}")
    return list(by_id.values())
