"""What an importer makes of some files: runs, datasets, and what became of each part of the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.core.wording.words import count
from evenhand.doors.importers.imported import Imported, ImportedRun, ImportedTrial, RecordedRun
from evenhand.languages.documents.foreign import Note, Notes, Part, shown


class OtherToolError(UsageError):
    """A file is not of the tool whose importer reads it."""


class RecordedDataset(Record, frozen=True):
    """A dataset of another tool.

    Attributes:
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


def recorded_dataset(
    name: str, rows: Sequence[Part], case_of: Callable[[Part], Case], noun: str
) -> RecordedDataset:
    """The dataset of these rows, noted with how many cases it has.

    Args:
        rows: At least one.
        case_of: The case that a row is.
        noun: What the tool calls a row.
    """
    where, notes = rows[0].where, rows[0].notes
    cases = each_once(map(case_of, rows), where, notes)
    notes.translated(where, f"dataset {shown(name)}, {count(len(cases), noun)}")
    return RecordedDataset(name, cases, where)


def only_variant(model: str, name: str) -> Variant:
    """The variant of a run that has one: the model, or the run's name where it isn't known."""
    return Variant(0, "", model or name, "", model)


def commonest_model(trials: Iterable[ImportedTrial]) -> str:
    """The model that most trials name; empty where none does."""
    models = Counter(one.model for one in trials if one.model)
    return models.most_common(1)[0][0] if models else ""


def numbered(trials: Iterable[ImportedTrial]) -> Iterator[ImportedTrial]:
    """The trials, each with its number among those of its case and variant."""
    repeats: Counter[tuple[str, int]] = Counter()
    for one in trials:
        place = one.case, one.variant
        yield replace(one, repeat=repeats[place]) if repeats[place] else one
        repeats[place] += 1


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
