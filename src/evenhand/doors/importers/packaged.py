"""Importers of installed packages: what they return is checked, and what they raise names the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.plugins import Plugin
from evenhand.core.run import RunMeta, TrialResult
from evenhand.doors.importers.imported import Imported, RecordedRun, misfit
from evenhand.doors.importers.recorded import RecordedDataset, Recordings
from evenhand.languages.documents.foreign import Note, Notes
from evenhand.store.labels.label import NewLabel

Importer = Callable[[Sequence[Path]], Recordings]
_Value = TypeVar("_Value", TrialResult, NewLabel)

CONTRACT = (
    "An importer is a function that takes a list of paths and returns Recordings, such as"
    " `recordings(name, runs)` of evenhand.doors.importers makes."
)


def importer_of(one: Plugin) -> Importer:
    """The function that an importer is, imported.

    Raises:
        UsageError: It cannot be imported, or cannot be called with paths.
    """
    loaded = one.load()
    if not callable(loaded):
        raise one.broken(f"is {type(loaded).__name__}, not a function of paths", hint=CONTRACT)
    try:
        inspect.signature(loaded).bind([])
    except TypeError as error:
        raise one.broken("cannot be called with a list of paths", error, hint=CONTRACT) from error
    except ValueError:  # written in C, and without a signature: the call shows it
        pass
    return cast("Importer", loaded)


def recordings_of(one: Plugin, paths: Sequence[Path]) -> Recordings:
    """What a package's importer makes of these files.

    Raises:
        UsageError: It cannot read them, or returns what is not `Recordings`.
    """
    read = importer_of(one)
    try:
        result = cast("object", read(paths))  # nobody has type-checked it
        problem = _problem(result)
    except (Exception, SystemExit) as error:
        files = ", ".join(map(str, paths[:3])) + ", …" * (len(paths) > 3)
        raise one.broken(f"cannot read {files}", error, hint=CONTRACT) from error
    if problem or not isinstance(result, Recordings):
        raise one.broken(f"returned {problem}", hint=CONTRACT)
    # Ours may still add notes while their trials are read: those of a package may, too.
    notes = result.notes if isinstance(result.notes, Notes) else tuple(result.notes)
    return Recordings([_guarded(run, one) for run in result.runs], notes, result.datasets)


def _problem(result: object) -> str:
    """What an importer returned that is not `Recordings`; empty where it is."""
    if not isinstance(result, Recordings):
        if inspect.iscoroutine(result):
            result.close()  # else Python warns that nobody awaited it
        return f"{type(result).__name__}, not Recordings"
    for what, values in (("runs", result.runs), ("datasets", result.datasets)):
        if not isinstance(cast("object", values), (list, tuple)):
            return f"Recordings whose {what} are {type(values).__name__}, not a list"
    if not isinstance(result.notes, Notes):
        if not isinstance(cast("object", result.notes), (list, tuple)):
            return f"Recordings whose notes are {type(result.notes).__name__}, not Notes"
        for note in cast("Sequence[object]", result.notes):
            if not isinstance(note, Note) or misfit(note):
                return f"Recordings with a note that is {_shown(note)}, not a Note"
    for run in cast("Sequence[object]", result.runs):
        if isinstance(run, Imported):  # its meta goes through all trials
            continue
        if not isinstance(run, RecordedRun) or not isinstance(cast("object", run.meta), RunMeta):
            return f"Recordings with a run that is {_shown(run)}, not one that `recordings` made"
        if problem := misfit(run.meta):
            return f"a RunMeta in which something is of the wrong type: {problem}"
    return next((p for one in result.datasets for p in _dataset_problems(one)), "")


def _dataset_problems(dataset: object) -> Iterator[str]:
    if not isinstance(dataset, RecordedDataset):
        yield f"Recordings with a dataset that is {_shown(dataset)}, not a RecordedDataset"
        return
    problem = misfit(dataset)
    if problem:
        yield f"a RecordedDataset in which something is of the wrong type: {problem}"
        return
    for case in cast("Sequence[object]", dataset.cases):
        if not isinstance(case, Case):
            yield f"a RecordedDataset with a case that is {_shown(case)}, not a Case"
        elif problem := misfit(case):
            yield f"a Case in which something is of the wrong type: {problem}"


def _shown(value: object) -> str:
    return type(value).__name__


def _guarded(run: RecordedRun, one: Plugin) -> RecordedRun:
    """The run, if it was checked whole and is in memory; else one whose reading is watched."""
    if isinstance(run, Imported) and isinstance(run.run.trials, (list, tuple)):
        return run
    return Guarded(run, one)


class Guarded:
    """A run that a package reads bit by bit. Implements `RecordedRun`.

    What goes wrong while it is read names the package.
    """

    def __init__(self, run: RecordedRun, one: Plugin) -> None:
        self._run = run
        self._plugin = one

    @property
    def meta(self) -> RunMeta:
        try:
            return self._run.meta
        except (Exception, SystemExit) as error:
            raise self._unreadable(error) from error

    def trials(self) -> Iterator[TrialResult]:
        """The trials, one at a time."""
        yield from self._read(self._run.trials, TrialResult)

    def labels(self) -> Iterator[NewLabel]:
        yield from self._read(self._run.labels, NewLabel)

    def _read(self, read: Callable[[], Iterable[_Value]], kind: type[_Value]) -> Iterator[_Value]:
        problem = ""
        try:
            for value in cast("Iterable[object]", read()):
                problem = "" if isinstance(value, kind) else f"is {_shown(value)}"
                problem = problem or misfit(value)
                if problem or not isinstance(value, kind):
                    break
                yield value
        except (Exception, SystemExit) as error:
            raise self._unreadable(error) from error
        if problem:
            raise self._plugin.broken(f"gave a {kind.__name__} that {problem}", hint=CONTRACT)

    def _unreadable(self, error: BaseException) -> UsageError:
        return self._plugin.broken("cannot read its run", error, hint=CONTRACT)
