"""One log of Inspect's: what it says of the eval, and its samples, whichever of the two formats it is in."""

from __future__ import annotations

import json
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.core.step import Step
from evenhand.languages.documents.findings import unreadable
from evenhand.languages.documents.foreign import Notes, Part, checked_value, read_bytes
from evenhand.languages.documents.unpacking import too_packed
from evenhand.wings.interchange.inspect_logs.transcript import steps_in

ZSTANDARD = 93
LARGEST_MEMBER = 1 << 30
"""Bytes of a member, once decompressed. A member says how long it is, and nothing more of it is read."""
_LOCAL_HEADER = 30

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
            f"{path} is not a log of Inspect's: it has no 'eval'",
            hint="Logs end in .eval or .json, and are in the folder logs: inspect log list.",
        )
    header = Part({k: v for k, v in whole.items() if k != "samples"}, f"{path.name} $", notes)
    parts = Part(whole, f"{path.name} $", notes).parts("samples")
    return _log(header, [_without_events(one) for one in parts])


def _archive(archive: Archive, notes: Notes) -> InspectLog:
    names = archive.names()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), "")
    if not start:
        raise UsageError(f"{archive.path} is not a log of Inspect's: it has no header.json")
    where = f"{archive.path.name}/{start} $"
    header = Part(_object(archive.path, start, archive.read(start)), where, notes)
    if start != "header.json":
        notes.changed(where, "the run did not end: what there is of it is imported")
    return _log(header, list(_members(archive, names, notes)))


def _members(
    archive: Archive, names: list[str], notes: Notes
) -> Iterator[tuple[Part, tuple[Step, ...]]]:
    # A member that was written again is listed twice; read, it is the last one.
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
        raise UsageError(f"{place} is not a log of Inspect's: it is not an object")
    return value


class Archive(Record, frozen=True):
    """An open `.eval` file."""

    path: Path
    _zip: zipfile.ZipFile
    _file: IO[bytes]

    def names(self) -> list[str]:
        """The members, in the order in which they were written."""
        return self._zip.namelist()

    def read(self, name: str) -> bytes:
        """A member, decompressed.

        Raises:
            UsageError: It is not there, too large, damaged, or compressed in a way that cannot be read here.
        """
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise UsageError(f"{self.path} has no {name}") from None
        if info.file_size > LARGEST_MEMBER:
            raise UsageError(f"{self.path}: {name} has {info.file_size:,} bytes, more than is read")
        if (packed := too_packed(info.file_size, info.compress_size)) is not None:
            raise UsageError(f"{self.path}: {name} {packed}")
        try:
            if info.compress_type == ZSTANDARD and sys.version_info < (3, 14):
                return self._zstandard(info)
            with self._zip.open(info) as member:
                return member.read()
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{self.path}: {name} is damaged: {error}") from None
        except (NotImplementedError, RuntimeError) as error:  # another method; a password
            raise UsageError(f"{self.path}: {name} cannot be read: {error}") from None

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        try:
            import pyarrow as pa  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] (an extra, on use)
        except ImportError:
            raise UsageError(
                f"{self.path} is compressed with Zstandard, which Python reads from 3.14 on",
                hint="Install what reads it: pip install 'evenhand[parquet]'. Or convert the log: inspect log convert"
                " --to json --output-dir converted LOG.",
            ) from None
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL_HEADER)
        if len(head) < _LOCAL_HEADER or not head.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("its local header is not where the directory says")
        # Name and extra field may be longer or shorter here than in the directory.
        skipped = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        self._file.seek(skipped, 1)
        packed = self._file.read(info.compress_size)
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            # One byte more than there should be shows that it is larger, without unpacking all of it.
            data: bytes = stream.read(info.file_size + 1)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("its length or checksum is not what the directory says")
        return data


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """An `.eval` file, to read its members from.

    Raises:
        UsageError: It cannot be read, or is no ZIP archive.
    """
    if problem := unreadable(path):
        raise UsageError(f"{path} {problem[0]}", hint=problem[1])
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield Archive(path, archive, file)
    except (zipfile.BadZipFile, ValueError) as error:
        raise UsageError(
            f"{path} is not a log of Inspect's: {error}",
            hint="Logs end in .eval or .json, and are in the folder logs: inspect log list.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
