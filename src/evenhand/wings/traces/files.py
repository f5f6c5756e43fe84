"""What is in a file of traces: which of the formats it is in, packed or not, and its spans, one at a time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_mapping, is_object
from evenhand.core.malformed import CUT_OFF, json_fault
from evenhand.doors.spans.span import RawSpan
from evenhand.languages.documents.file_kinds import other_kind
from evenhand.languages.documents.findings import LARGEST_BYTES, unreadable
from evenhand.languages.documents.foreign import Notes, Part
from evenhand.wings.traces import (
    atif,
    langfuse_export,
    logfire_export,
    otlp_json,
    otlp_protobuf,
    sdk_json,
)
from evenhand.wings.traces.wire import Malformed

GZIP = b"\x1f\x8b"
LONGEST_LINE = 256 << 20
_FORMATS = "OTLP (JSON, JSON lines or protobuf), exports of Langfuse and Logfire, and ATIF"
_READERS = (otlp_json, langfuse_export, logfire_export, atif, sdk_json)


def spans_in(path: Path, notes: Notes) -> Iterator[RawSpan]:
    """The spans of a file, as they come.

    Raises:
        UsageError: It cannot be read, or is in none of the formats.
    """
    with _opened(path) as stream:
        start = stream.read(1 << 16)
        if not start:
            raise UsageError(f"{path} is empty")
        first = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        stream.seek(0)
        if first in (b"{", b"["):
            yield from _json(path, stream, notes)
        else:
            yield from _protobuf(path, _whole(path, stream))


def spans_of(value: object, where: str, notes: Notes) -> Iterator[RawSpan] | None:
    """The spans that a JSON value tells, in whichever format; None where it is in none that we read."""
    if is_array(value):
        inner = next(filter(is_object, value), None)
        if inner is None or not any(reader.reads(inner) for reader in _READERS):
            return None
        return _of_rows(value, where, notes)
    if is_object(value):
        for reader in _READERS:
            if reader.reads(value):
                return reader.spans_of(Part(value, where, notes))
    return None


def _of_rows(rows: list[object], where: str, notes: Notes) -> Iterator[RawSpan]:
    for i, row in enumerate(rows):
        spans = spans_of(row, f"{where}[{i}]", notes) if isinstance(row, dict) else None
        if spans is None:
            notes.left_out(f"{where}[{i}]", "is not a span or trace in a format that is read")
        else:
            yield from spans


def _json(path: Path, stream: IO[bytes], notes: Notes) -> Iterator[RawSpan]:
    """Of JSON lines where the first line is a value; else of one document, or of several behind each other."""
    line = stream.readline(LONGEST_LINE)
    try:
        value = decode(line)
    except ValueError:
        stream.seek(0)
        yield from _documents(path, _whole(path, stream), notes)
        return
    number, understood = 1, False
    while True:
        if line.strip():
            if number > 1:
                try:
                    value = decode(line)
                except ValueError:
                    _not_json(path, number, line, notes, understood=understood)
                    value = None
            if value is not None:
                where = f"{path.name}:{number} $" if number > 1 else f"{path.name} $"
                spans = spans_of(value, where, notes)
                if spans is None:
                    if not understood:
                        raise _unknown(path, value)
                    notes.left_out(where, "is not a span or trace in a format that is read")
                else:
                    understood = True
                    yield from spans
        line = stream.readline(LONGEST_LINE)
        number += 1
        if not line:
            return


def _not_json(path: Path, number: int, line: bytes, notes: Notes, *, understood: bool) -> None:
    why = json_fault(line)
    if not understood:
        raise UsageError(f"{path}:{number} is not JSON: {why}", hint=_again(why)) from None
    notes.left_out(f"{path.name}:{number}", f"is not JSON: {why}")


def _again(why: str) -> str:
    return "Export or copy it again." if why == CUT_OFF else f"What is read: {_FORMATS}."


def _documents(path: Path, data: bytes, notes: Notes) -> Iterator[RawSpan]:
    try:
        values = [decode(data.removeprefix(b"\xef\xbb\xbf"))]
    except ValueError:
        values = list(_behind_each_other(json.JSONDecoder(), data.decode("utf-8", "replace")))
        if len(values) < 2:
            why = json_fault(data)
            raise UsageError(f"{path} is not JSON: {why}", hint=_again(why)) from None
    for i, value in enumerate(values):
        spans = spans_of(value, f"{path.name} ${f'[{i}]' if i else ''}", notes)
        if spans is None:
            raise _unknown(path, value)
        yield from spans


def _behind_each_other(decoder: object, text: str) -> Iterator[object]:
    """Documents without anything between them, as a console exporter prints them; as far as they are whole."""
    at = 0
    read = getattr(decoder, "raw_decode")  # noqa: B009 (of the standard library, untyped there)
    while at < len(text):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at == len(text):
            return
        try:
            value, at = read(text, at)
            yield value
        except (ValueError, RecursionError):
            return


def _protobuf(path: Path, data: bytes) -> Iterator[RawSpan]:
    """One request, or several with four bytes of length before each, as the collector's file exporter writes them."""
    try:
        if data[:1] == b"\x00":
            at = 0
            while at < len(data):
                yield from otlp_protobuf.spans_of(request := _framed(data, at))
                at += 4 + len(request)
        else:
            yield from otlp_protobuf.spans_of(data)
    except Malformed as error:
        raise _unreadable(path, data, error) from None


def _unreadable(path: Path, data: bytes, error: Malformed) -> UsageError:
    """The error of a file that is neither JSON nor protobuf, with what it seems to be."""
    kind = None if data[:2] == GZIP else other_kind(path)
    if kind is not None and not kind[0].startswith("is compressed with gzip"):
        return UsageError(f"{path} {kind[0]}", hint=f"What is read: {_FORMATS}.")
    why = str(error)
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        if not any(byte < 9 for byte in data):
            is_yaml = path.suffix.lower() in (".yaml", ".yml")
            why = "it is YAML" if is_yaml else "it is text of another kind"
    return UsageError(
        f"{path} is neither JSON nor a whole OTLP protobuf: {why}",
        hint=f"What is read: {_FORMATS}.",
    )


def _framed(data: bytes, at: int) -> bytes:
    size = int.from_bytes(data[at : at + 4], "big")
    if at + 4 + size > len(data):
        raise Malformed(f"it ends at byte {len(data):,}, in the middle of a request")
    return data[at + 4 : at + 4 + size]


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    problem = unreadable(path)
    if problem and not problem[0].startswith(
        "has "
    ):  # of one that is read in pieces, any size will do
        raise UsageError(f"{path} {problem[0]}", hint=problem[1])
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == GZIP
            stream.seek(0)
            if not packed:
                yield stream
                return
            with gzip.GzipFile(fileobj=stream) as inner:
                yield cast("IO[bytes]", inner)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        why = ": it was cut off" if isinstance(error, EOFError) else ""
        raise UsageError(
            f"{path} is a damaged gzip file{why}", hint="Export or copy it again."
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _whole(path: Path, stream: IO[bytes]) -> bytes:
    data = stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise UsageError(
            f"{path} holds more than {LARGEST_BYTES / 1e9:.1f} GB in one piece",
            hint="As JSON lines, a request on each, it can be of any size.",
        )
    return data


def _unknown(path: Path, value: object) -> UsageError:
    if is_array(value):
        value = value[0] if value else value
    if is_mapping(value):
        keys = ", ".join(repr(str(key)[:40]) for key in list(value)[:8])
        kind = f"an object with {keys}" if keys else "an empty object"
    else:
        kind = f"{type(value).__name__} values"
    return UsageError(
        f"{path} is in no format of traces that is read: it has {kind}",
        hint=f"What is read: {_FORMATS}.",
    )
