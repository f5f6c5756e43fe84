"""Rows of a JSONL file, and what is said of JSON that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.encoding import TooDeep, decode_once
from evenhand.core.errors import Problem
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.languages.documents.tree import MARKED, RESOLVE, is_mark

Row = Mapping[str, Any]
Placed = tuple[int, int, Row]
"""A row with its line, or its number, and the place where it is found again."""


class JsonLines(Record, frozen=True):
    """A file with an object a line. The place of a row is the byte that it begins at."""

    file: Path

    def rows(self, problems: list[Problem]) -> Iterator[Placed]:
        """The rows; what is wrong with one is put to the problems, and the next one comes."""
        start = 0
        with self.file.open("rb") as lines:
            for line, raw in enumerate(lines, 1):
                row = _row(self.file, line, raw, problems)
                if row is not None:
                    yield line, start, row
                start += len(raw)

    def row(self, place: int, problems: list[Problem]) -> Row | None:
        """The row at a place; None where it is none any more."""
        with self.file.open("rb") as lines:
            lines.seek(place)
            # Only the first line may have a byte order mark; the number of any other one does not matter here.
            return _row(self.file, 2 if place else 1, lines.readline(), problems)


def _row(file: Path, line: int, raw: bytes, problems: list[Problem]) -> Row | None:
    """The row that a line says; None for a blank line, and for one that is wrong."""
    if line == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if not raw.strip():
        return None
    try:
        value = decode_once(raw)
    except UnicodeDecodeError:
        problems.append(Problem(str(file), line, 0, "is not UTF-8", "Save it as UTF-8."))
        return None
    except ValueError as error:
        problems.append(
            Problem(str(file), line, 0, MARKED, RESOLVE)
            if is_mark(raw)
            else no_json(file, line, error)
        )
        return None
    return object_in(file, line, value, problems)


def object_in(
    file: Path, line: int, value: object, problems: list[Problem], which: str = ""
) -> Row | None:
    """A value as a row; None, and a problem, for what is no object."""
    if is_object(value):
        return value
    quoted = repr(value)
    quoted = quoted if len(quoted) <= 80 else quoted[:79] + "…"
    what = f"{which}is {quoted}, not an object" if which else f"a case is {quoted}, not an object"
    problems.append(Problem(str(file), line, 0, what))
    return None


def no_json(file: Path, line: int, error: ValueError, which: str = "") -> Problem:
    """What is told of JSON that cannot be read."""
    column = error.colno if isinstance(error, json.JSONDecodeError) else 0
    detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    if isinstance(error, TooDeep):
        return Problem(str(file), line, 0, f"{which}cannot be read: {detail}")
    hint = (
        "" if which or not line else "Each line is a JSON object, with its keys in double quotes."
    )
    return Problem(
        str(file), line, column if not which else 0, f"{which}is not JSON: {detail}", hint
    )
