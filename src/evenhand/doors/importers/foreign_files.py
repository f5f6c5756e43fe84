"""Finds a tool's objects in the files that people saved: single ones, lists, pages of lists, JSONL, YAML and CSV."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from pathlib import Path

from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping, is_array, is_object
from evenhand.core.record import Record
from evenhand.languages.documents.delimited import Header, NotDelimited, column_name, records
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.foreign import (
    LAST_SECOND,
    Notes,
    Part,
    checked_value,
    read_bytes,
    read_values,
    shown,
)
from evenhand.languages.documents.tree import decoded, read_document

_TABLES = {".csv": ",", ".tsv": "\t"}
_PAGING = frozenset({"meta", "cursor", "next_cursor", "has_more", "next", "object", "total"})
"""Keys of what an API puts around a page of a list."""


class Found(Record, frozen=True):
    """An object that a tool wrote."""

    kind: str
    part: Part
    path: Path


def find(
    paths: Sequence[Path],
    kind_of: Callable[[Mapping[str, object]], str],
    notes: Notes,
    *,
    what: str,
    hint: str,
    around: AbstractSet[str] = frozenset(),
) -> list[Found]:
    """All objects of these files that are of a kind, in their order.

    Args:
        kind_of: What an object is; empty for one that may hold others.
        notes: Where to say what is left out.
        what: What a file without any does not hold, for people.
        hint: Where such files come from.
        around: Keys beside the objects that say nothing which the objects don't.

    Raises:
        UsageError: A file cannot be read, or holds none.
    """
    values: list[Found] = []
    for path in paths:
        before = len(values)
        for where, value in values_in(path):
            values += _inside(value, f"{where} $", path, kind_of, notes, _PAGING | around)
        if len(values) == before:
            raise UsageError(f"{path} holds no {what}", hint=hint)
    return values


def _inside(
    value: object,
    where: str,
    path: Path,
    kind_of: Callable[[Mapping[str, object]], str],
    notes: Notes,
    around: AbstractSet[str],
) -> Iterator[Found]:
    if is_array(value):
        for i, item in enumerate(value):
            yield from _inside(item, f"{where}[{i}]", path, kind_of, notes, around)
        return
    if not is_object(value):
        notes.left_out(where, f"is {shown(value)}, not an object")
        return
    one = Part(value, where, notes)
    kind = kind_of(one.value)
    if kind:
        yield Found(kind, one, path)
        return
    _tell_of_pages(one)
    for key, item in one.value.items():
        if key in around or item is None:
            continue
        if isinstance(item, (dict, list)):
            yield from _inside(item, f"{where}.{key}", path, kind_of, notes, around)
        else:
            notes.left_out(f"{where}.{key}", f"is {shown(item)}, and not known here")


def _tell_of_pages(one: Part) -> None:
    """Says where what an API gave is a page, and there are more."""
    pages = as_mapping(one.value.get("meta"))
    page, last = pages.get("page"), pages.get("totalPages")
    more = isinstance(page, int) and isinstance(last, int) and page < last
    if more or any(one.value.get(key) for key in ("has_more", "next_cursor", "cursor", "next")):
        one.notes.left_out(one.where, "is a page of a longer list: fetch the other pages, too")


def values_in(path: Path) -> list[tuple[str, object]]:
    """The values of a file, each with where it stands: rows of a table are objects.

    Raises:
        UsageError: The file cannot be read, or is not what its ending says.
    """
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return _table(path, _TABLES[suffix])
    if suffix in {".yaml", ".yml"}:
        findings = Findings()
        document = read_document(path, findings)
        if document is None or findings.problems:
            raise UsageError("\n".join(map(str, findings.problems)) or f"{path} cannot be read")
        return [(path.name, checked_value(document.value))]
    return read_values(path)


def columns_of(path: Path) -> list[str]:
    """The header of a table, which also has the columns without a value; empty for any other file.

    Raises:
        UsageError: The file cannot be read.
    """
    delimiter = _TABLES.get(path.suffix.lower())
    if not delimiter:
        return []
    try:
        return [name for name in next(_columns_and_rows(path, delimiter), (1, []))[1] if name]
    except NotDelimited as error:
        raise _no_table(path, error) from None


def _columns_and_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The names of a table's columns, empty for one without, and then the cells of its rows, each with its line."""
    findings = Findings()
    text = decoded(read_bytes(path), path, findings)
    if text is None:
        (problem,) = findings.problems
        raise UsageError(problem.summary, hint=problem.hint)
    # Line breaks inside of quoted cells have to stay as they are.
    table = records(io.StringIO(text, newline=""), delimiter)
    line, names = next(table, (1, []))
    yield line, list(_unlike([column_name(name) for name in names]))
    yield from table


def _no_table(path: Path, error: NotDelimited) -> UsageError:
    return UsageError(f"{path}:{error.line}: {error.what}", hint=error.hint)


def _unlike(names: Sequence[str]) -> Iterator[str]:
    """Names of columns, those that are there again as pandas calls them: `score`, `score.1`."""
    used: set[str] = set(names)
    known: set[str] = set()
    for name in names:
        own, number = name, 0
        # A numbered name must not be one that the header has already.
        while (name and own in known) or (number and own in used):
            number += 1
            own = f"{name}.{number}"
        known.add(own)
        yield own


def _table(path: Path, delimiter: str) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    try:
        table = _columns_and_rows(path, delimiter)
        header = Header(next(table, (1, []))[1])
        for line, cells in table:
            # A blank line, which many files end with.
            if not any(cells):
                continue
            wrong = None if header.fits(cells) else header.misfit(cells)
            wrong = wrong or header.nameless(cells)
            if wrong is not None:
                raise UsageError(f"{path}:{line}: {wrong[0]}", hint=wrong[1])
            row = header.row(cells)
            rows.append((f"{path.name}:{line}", {k: _cell(v) for k, v in row.items() if v}))
    except NotDelimited as error:
        raise _no_table(path, error) from None
    return rows


def _cell(text: str) -> object:
    """What a cell says: JSON or a Python literal where it is a list or an object, and the text elsewhere."""
    start = text.lstrip()[:1]
    if not start or start not in "[{":
        return text
    try:
        return checked_value(decode(text))
    except ValueError:
        pass
    try:  # as pandas writes a list of texts
        value: object = ast.literal_eval(text)
        # Anything else in brackets may be text that somebody wrote.
        return value if is_array(value) and (all(isinstance(one, str) for one in value)) else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def moment_of(text: str) -> float | None:
    """Seconds since 1970 of an ISO time; a time without a zone is UTC. None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= LAST_SECOND else None


def began_at(where: str, notes: Notes, own: str, rows: Iterable[str] = ()) -> float:
    """When a run began: by its own time, or else the earliest of its rows'; 1970 where none is said, which is noted."""
    moments = (moment_of(own), *map(moment_of, rows))
    known = [moment for moment in moments if moment is not None]
    if not known:
        notes.changed(where, "says no time: the run is dated 1970")
        return 0.0
    return min(known) if moments[0] is None else moments[0]


def dated(path: Path, where: str, notes: Notes) -> float:
    """The time of a file, for results that say none; noted."""
    notes.changed(where, "says no time: the run has that of its file")
    return path.stat().st_mtime
