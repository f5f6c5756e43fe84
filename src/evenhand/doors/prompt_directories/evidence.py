"""Rows of evidence: .usage.jsonl, a row for each use of a prompt, .eval.jsonl, one for each eval, .promotions.jsonl.

How this works: a row is one line, appended under a lock of the file and in one write, so that processes that append at
the same time lose nothing. A line that a crash left half-written is ended before the next one is appended; readers
tell it, skip it and leave it where it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import StoreError
from evenhand.languages.documents.findings import Findings, Place
from evenhand.store.home import turn

USAGE = ".usage.jsonl"
EVALS = ".eval.jsonl"
PROMOTIONS = ".promotions.jsonl"
PENDING = ".promotions.pending.jsonl"
"""The row of a promotion that is under way. One that was killed leaves it."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EvidenceRows:
    """The rows of a file, in its order, and the lines that are none."""

    path: Path
    rows: Sequence[Row] = ()
    broken: Sequence[int] = field(default=())
    lines: Sequence[int] = field(default=())

    def tell(self, findings: Findings) -> None:
        """Warns of the lines that are not rows."""
        for line in self.broken:
            findings.hint(
                Place(self.path, line),
                f"line {line} is not a row, and is skipped",
                "A crash may have left it half-written; it is kept as it is.",
            )


def number(row: Row, *path: str | int) -> float | None:
    """A number in a row; None where there is none: whoever can write the file can write anything."""
    value: Any = row
    for key in path:
        holds = isinstance(value, Mapping) if isinstance(key, str) else isinstance(value, list)
        try:
            value = value[key] if holds else None
        except LookupError:
            return None
    # By type: `isinstance` takes true and false for numbers.
    return value if type(value) in (int, float) else None


def oldest_first(rows: Iterable[Row]) -> list[Row]:
    """The rows by the time that each names: Git merges the rows of two branches in any order.

    A row without a time, as people write them, stays behind the one above it.
    """
    dated: list[tuple[str, Row]] = []
    at = ""
    for row in rows:
        written = row.get("ts")
        at = written if isinstance(written, str) and written else at
        dated.append((at, row))
    return [row for _, row in sorted(dated, key=lambda pair: pair[0])]


def now() -> str:
    """The time as rows have it: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def today() -> str:
    """The date as meta.yml has it."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def append(path: Path, row: Row) -> None:
    """Appends a row; other processes may do the same at this moment.

    Raises:
        StoreError: It cannot be written.
    """
    data = encode(row) + b"\n"
    try:
        with _opened(path) as fd, turn(fd):
            size = os.fstat(fd).st_size
            # What a crash left half-written gets an end of line, or this row would become part of it.
            if size and os.pread(fd, 1, size - 1) != b"\n":
                data = b"\n" + data
            written = os.write(fd, data)
            if written < len(data):  # no space: take it back, so that no half of a row is left
                os.ftruncate(fd, size)
                raise StoreError(f"{path} cannot be written: the disk is full")
            os.fsync(fd)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or error
        raise StoreError(f"{path} cannot be written: {why}") from error


def promotions_of(folder: Path, status: str) -> EvidenceRows:
    """The promotions of a prompt that has this status now, without one that was killed before it came about.

    Raises:
        StoreError: They are there, and cannot be read.
    """
    promotions, pending = read(folder / PROMOTIONS), read(folder / PENDING).rows
    if pending and promotions.rows[-1:] == pending[-1:] and pending[-1].get("to") != status:
        return replace(promotions, rows=promotions.rows[:-1], lines=promotions.lines[:-1])
    return promotions


def withdraw(folder: Path, status: str) -> None:
    """Takes back the row of a promotion that was killed before it came about.

    Raises:
        StoreError: It cannot be taken back.
    """
    path, pending = folder / PROMOTIONS, read(folder / PENDING).rows
    try:
        if len(promotions_of(folder, status).rows) < len(read(path).rows):
            with _opened(path) as fd, turn(fd):
                end = encode(pending[-1]) + b"\n"
                size = os.fstat(fd).st_size
                if os.pread(fd, len(end), max(0, size - len(end))) == end:
                    os.ftruncate(fd, size - len(end))
        (folder / PENDING).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    # A link is not followed: in a cloned repository, it could lead to any of the user's files.
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def read(path: Path) -> EvidenceRows:
    """The rows of a file; none where there is no file. A link is not followed.

    Raises:
        StoreError: It is there, and cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(fd, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return EvidenceRows(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return EvidenceRows(path, broken=(1,))
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    rows: list[Row] = []
    broken: list[int] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = decode(line)
        except (ValueError, UnicodeError):
            row = None
        if isinstance(row, Mapping):
            rows.append(cast("Row", row))
            lines.append(number)
        else:
            broken.append(number)
    return EvidenceRows(path, rows, tuple(broken), tuple(lines))
