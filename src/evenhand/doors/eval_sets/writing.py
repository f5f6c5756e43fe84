"""Cases written to a file that reads back as the same cases: CSV, TSV, JSON, JSONL, YAML or Parquet.

A table keeps texts as they are. A column that holds anything else, or that some cases lack, is called `name:json` and
holds JSON, so that numbers, lists and what is missing come back as what they were. A file appears whole or not at all.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TextIO, cast

from evenhand.core.case import Case
from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.eval_sets.rows import FORMATS
from evenhand.doors.eval_sets.tables import JSON_COLUMN, parquet_library
from evenhand.store.replacing import replaced

_ALWAYS_JSON = frozenset({"context", "tags", "metadata"})
_BATCH = 1000


def write_cases(cases: Iterable[Case], to: Path) -> None:
    """Writes cases to a file, in the format that its ending says.

    Args:
        cases: They are gone through once for lines, and twice for a table, whose columns must be known first.

    Raises:
        UsageError: The ending says no format, there is no such folder, a case holds what the format cannot, or the file
            cannot be written.
    """
    look_for_place(to)
    _replace(to, lambda beside: _WRITERS[to.suffix.lower()](cases, beside))


def look_for_place(to: Path) -> None:
    """Looks whether cases can be written to a file, before anything is paid for them.

    Raises:
        UsageError: The ending says no format, there is no such folder, or nothing may be written there.
    """
    if to.suffix.lower() not in FORMATS:
        raise UsageError(f"{to}: a dataset ends in {', '.join(FORMATS)}, not '{to.suffix}'")
    _look_for_folder(to)
    if not os.access(to.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{to} cannot be written: nothing may be written in {to.parent}")


def write_document(document: Mapping[str, Any], to: Path) -> None:
    """Writes one document, as another tool reads it, to a file in JSON or YAML.

    Raises:
        UsageError: The ending says neither, there is no such folder, or the document or the file cannot be written.
    """
    suffix = to.suffix.lower()
    if suffix not in _DOCUMENTS:
        raise UsageError(f"{to}: the document ends in {', '.join(_DOCUMENTS)}, not '{to.suffix}'")
    _replace(to, lambda beside: _DOCUMENTS[suffix](document, beside))


def _replace(to: Path, write: Callable[[Path], None]) -> None:
    """Puts what is written into a file in its place, whole or not at all."""
    _look_for_folder(to)
    try:
        with replaced(to) as beside:
            write(beside)
    except UnicodeEncodeError:
        raise UsageError(
            f"{to}: a case holds half a character, which this format cannot write",
            hint="Write it as .jsonl.",
        ) from None
    except (TypeError, ValueError) as error:
        raise UsageError(f"{to}: a case cannot be written: {error}") from None
    except OSError as error:
        raise UsageError(f"{to} cannot be written: {error.strerror or error}") from error


def _look_for_folder(to: Path) -> None:
    if to.is_dir() or not to.parent.is_dir():
        what = "is a folder" if to.is_dir() else f"there is no folder {to.parent}"
        raise UsageError(f"{to}: {what}")


def _jsonl(cases: Iterable[Case], to: Path) -> None:
    with to.open("wb") as out:
        for case in cases:
            out.write(_ordered(row_of(case)) + b"\n")


def _json(cases: Iterable[Case], to: Path) -> None:
    with to.open("wb") as out:
        out.write(b"[")
        for number, case in enumerate(cases):
            out.write((b",\n " if number else b"\n ") + _ordered(row_of(case)))
        out.write(b"\n]\n")


def _ordered(row: Mapping[str, Any]) -> bytes:
    """A row as JSON with its fields in their order, the id first."""
    return b"{" + b",".join(encode(name) + b":" + encode(row[name]) for name in row) + b"}"


def _yaml(cases: Iterable[Case], to: Path) -> None:
    with to.open("w", encoding="utf-8") as out:
        for case in cases:
            plain = json.loads(encode([row_of(case)]))  # tuples become lists
            # Lists that follow each other in a YAML file read as one list, so only one case is held at a time.
            _dump([{name: plain[0][name] for name in row_of(case)}], out)


def _dump(value: object, out: TextIO) -> None:
    import yaml  # noqa: PLC0415 (only for YAML)

    class Dumper(yaml.SafeDumper):
        """Writes what appears twice twice: aliases are not read."""

        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    yaml.dump(value, out, Dumper, allow_unicode=True, sort_keys=False, width=120)


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document as JSON has it. `encode` sorts keys; those at the top get their order back."""
    plain = json.loads(encode(document))
    return {key: plain[key] for key in document}


def _json_document(document: Mapping[str, Any], to: Path) -> None:
    text = json.dumps(_plain(document), ensure_ascii=False, indent=2)
    to.write_text(f"{text}\n", "utf-8")


def _yaml_document(document: Mapping[str, Any], to: Path) -> None:
    with to.open("w", encoding="utf-8") as out:
        _dump(_plain(document), out)


def _delimited(cases: Iterable[Case], to: Path, delimiter: str) -> None:
    columns = _columns(cases, (str,))
    with to.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(cast("TextIO", out), delimiter=delimiter)
        table.writerow(columns.values())
        for case in cases:
            cells = _cells(row_of(case), columns)
            table.writerow(["" if cell is None else cell for cell in cells.values()])


def _parquet(cases: Iterable[Case], to: Path) -> None:
    parquet = parquet_library(to)
    import pyarrow as pa  # noqa: PLC0415 (only for Parquet)

    columns = _columns(cases, (str, bool, int, float))
    kinds = _kinds(cases, columns)
    fields = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(head, fields[kinds[name]]) for name, head in columns.items()])
    with parquet.ParquetWriter(to, schema) as out:
        batch: list[dict[str, Any]] = []
        for case in cases:
            batch.append(_cells(row_of(case), columns))
            if len(batch) == _BATCH:
                out.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        out.write_table(pa.Table.from_pylist(batch, schema))


def _columns(cases: Iterable[Case], native: tuple[type, ...]) -> dict[str, str]:
    """The head of each column, by the field or variable that it holds; the id first."""
    kinds: dict[str, set[type]] = {}
    counts: dict[str, int] = {}
    total = 0
    for case in cases:
        total += 1
        for name, value in row_of(case).items():
            counts[name] = counts.get(name, 0) + 1
            kinds.setdefault(name, set()).add(_kind(name, value))
    # Where nothing is said, an empty cell says nothing, too.
    optional = {"input", "expected", "description"}
    return {
        name: name
        if len(types) == 1 and types <= {*native} and (counts[name] == total or name in optional)
        else name + JSON_COLUMN
        for name, types in kinds.items()
    }


def _kind(name: str, value: object) -> type:
    """The kind of a value, if a plain cell gives it back; else `object`."""
    kind = type(value)
    plain = name not in _ALWAYS_JSON and not name.endswith(JSON_COLUMN)
    if kind is str and name in {"input", "expected", "description"} and not value:
        plain = False  # an empty cell would say nothing
    # Parquet's whole numbers have 64 bits.
    if kind is int and abs(cast("int", value)) >= 1 << 63:
        plain = False
    return kind if plain else object


def _kinds(cases: Iterable[Case], columns: Mapping[str, str]) -> dict[str, type]:
    """The kind of each column's cells."""
    kinds = {name: str for name, head in columns.items() if head != name}
    for case in cases:
        for name, value in row_of(case).items():
            kinds.setdefault(name, type(value))
        # Most often the first case tells all, and the others need not be read.
        if len(kinds) == len(columns):
            break
    return kinds


def _cells(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, head in columns.items():
        value = row.get(name)
        packed = head != name and name in row
        cells[head] = encode(value).decode() if packed else value
    return cells


_WRITERS: dict[str, Callable[[Iterable[Case], Path], None]] = {
    ".csv": partial(_delimited, delimiter=","),
    ".tsv": partial(_delimited, delimiter="\t"),
    ".json": _json,
    ".jsonl": _jsonl,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".parquet": _parquet,
}
_DOCUMENTS: Mapping[str, Callable[[Mapping[str, Any], Path], None]] = {
    ".json": _json_document,
    ".yaml": _yaml_document,
    ".yml": _yaml_document,
}
