"""One log of Inspect's: what it says of the eval, and its samples, whichever of the two formats it is in."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.core.step import Step
from evenhand.languages.documents.foreign import Notes, Part, checked_value, read_bytes
from evenhand.wings.interchange.inspect_logs.archive import Archive, opened
from evenhand.wings.interchange.inspect_logs.transcript import steps_in

_SAMPLE = re.compile(r"samples/.+\.json")
_EVENTS = ("events", "events_data")


class InspectLog(Record, frozen=True):
    """A log.

    Attributes:
        header: All but its samples.
        samples: In the order in which they were written, without their events.
        steps: Those of each sample.
    """

    header: Part
    samples: list[Part]
    steps: list[tuple[Step, ...]]


def read_log(path: Path, notes: Notes) -> InspectLog:
    """The log in a file: a ZIP archive (`.eval`) or one JSON document.

    Raises:
        UsageError: The file cannot be read, or is no log of Inspect's.
    """
    if path.is_file() and not zipfile.is_zipfile(path) and path.suffix != ".eval":
        return _document(path, notes)
    with opened(path) as archive:
        return _archive(archive, notes)


def _document(path: Path, notes: Notes) -> InspectLog:
    whole = _object(path, path.name, read_bytes(path))
    if not isinstance(whole.get("eval"), dict):
        raise UsageError(
            f"{path} is no log of Inspect's: it has no 'eval'",
            hint="Logs end in .eval or .json, and are in the folder logs: inspect log list.",
        )
    header = Part({k: v for k, v in whole.items() if k != "samples"}, f"{path.name} $", notes)
    parts = Part(whole, f"{path.name} $", notes).parts("samples")
    return _log(header, [_without_events(one) for one in parts])


def _archive(archive: Archive, notes: Notes) -> InspectLog:
    names = archive.names()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), "")
    if not start:
        raise UsageError(f"{archive.path} is no log of Inspect's: it has no header.json")
    where = f"{archive.path.name}/{start} $"
    header = Part(_object(archive.path, start, archive.read(start)), where, notes)
    if start != "header.json":
        notes.changed(where, "the run did not end: what there is of it is imported")
    return _log(header, list(_members(archive, names, notes)))


def _members(
    archive: Archive, names: list[str], notes: Notes
) -> Iterator[tuple[Part, tuple[Step, ...]]]:
    for name in dict.fromkeys(names):
        if _SAMPLE.fullmatch(name):
            value = _object(archive.path, name, archive.read(name))
            yield _without_events(Part(value, f"{archive.path.name}/{name} $", notes))


def _log(header: Part, samples: list[tuple[Part, tuple[Step, ...]]]) -> InspectLog:
    return InspectLog(header, [part for part, _ in samples], [steps for _, steps in samples])


def _without_events(sample: Part) -> tuple[Part, tuple[Step, ...]]:
    fields = {key: value for key, value in sample.value.items() if key not in _EVENTS}
    return Part(fields, sample.where, sample.notes), steps_in(sample)


def _object(path: Path, name: str, data: bytes) -> Mapping[str, object]:
    """A JSON object. NaN is a score that is not there, in Inspect's logs, and becomes null."""
    place = str(path) if name == path.name else f"{path}: {name}"
    try:
        value: object = json.loads(data, parse_constant=lambda _: None)
        value = checked_value(value)
    except RecursionError:
        raise UsageError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{place} is not JSON: {' '.join(str(error).split())[:200]}") from None
    if not is_object(value):
        raise UsageError(f"{place} is no log of Inspect's: it is not an object")
    return value
