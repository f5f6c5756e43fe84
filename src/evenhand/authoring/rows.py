"""Rows of cases, read from files and taken from frames, one at a time.

A file is CSV or TSV with a header, JSON, JSONL, YAML or Parquet. CSV, JSONL and Parquet are read as they are asked for,
so a file may be larger than memory. In tables, a column `name:json` holds JSON, and an empty cell in it nothing.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import ConfigError, Problem, UsageError

Row = Mapping[str, Any]
FORMATS = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".parquet")
JSON_COLUMN = ":json"
_INSIDE = ("cases", "samples", "data", "tests")
"""The keys of an object that holds the list of cases."""
_LONGEST_CELL = 1 << 30


def rows_in(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    """The rows of a file, each with its line; for JSON, YAML and Parquet with its number.

    Args:
        problems: Where to put what is wrong, to go on with the next row.

    Raises:
        UsageError: The file's ending says no format, or Parquet cannot be read here.
    """
    suffix = file.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"{file}: a dataset ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not '{file.suffix}'"
        )
    if not file.is_file():
        what = "is a folder, not a file" if file.is_dir() else "does not exist"
        problems.append(Problem(str(file), 0, 0, what, f"Looked in {file.absolute().parent}."))
        return
    try:
        if suffix == ".parquet":
            yield from _parquet(file, problems)
        elif suffix == ".jsonl":
            yield from ((line, row) for line, _, row in lines_in(file, problems))
        elif suffix in {".csv", ".tsv"}:
            yield from _table(file, "\t" if suffix == ".tsv" else ",", problems)
        elif suffix == ".json":
            yield from _json(file, problems)
        else:
            yield from _yaml(file, problems)
    except UnicodeDecodeError:
        problems.append(Problem(str(file), _not_utf8(file), 0, "is not UTF-8", "Save it as UTF-8."))
    except OSError as error:
        problems.append(Problem(str(file), 0, 0, f"cannot be read: {error.strerror or error}"))


def lines_in(file: Path, problems: list[Problem]) -> Iterator[tuple[int, int, Row]]:
    """The rows of a JSONL file, each with its line and the byte that it begins at."""
    start = 0
    with file.open("rb") as lines:
        for line, raw in enumerate(lines, 1):
            row = row_in(file, line, raw, problems)
            if row is not None:
                yield line, start, row
            start += len(raw)


def row_in(file: Path, line: int, raw: bytes, problems: list[Problem]) -> Row | None:
    """The row that a line of JSON says; None for a blank line, and for one that is wrong."""
    if line == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    if not raw.strip():
        return None
    try:
        value = decode(raw)
    except UnicodeDecodeError:
        problems.append(Problem(str(file), line, 0, "is not UTF-8", "Save it as UTF-8."))
        return None
    except ValueError as error:
        problems.append(_no_json(file, line, error))
        return None
    return _object(file, line, value, problems)


def rows_of(given: object) -> Iterator[Any]:
    """The rows of a frame of pandas or polars, a table of pyarrow, a dataset of Hugging Face, or of any iterable.

    A missing value (None, NaN, NaT, NA) in a frame is left out of its row. Values of numpy become Python's.

    Raises:
        UsageError: It holds no rows, or is several datasets at once.
    """
    frame = cast("Any", given)
    if isinstance(given, (str, bytes)):
        raise UsageError(f"{given!r} is a text, not cases", hint="To read a file: Dataset.read(…)")
    if isinstance(given, Mapping):
        splits = ", ".join(map(repr, cast("Mapping[object, object]", given)))
        raise UsageError(
            "cases are given as a dict, not a list", hint=f"Take one of its parts: {splits}."
        )
    if hasattr(given, "collect_schema") and not hasattr(given, "iter_rows"):
        raise UsageError("a lazy frame holds no rows yet", hint="Give frame.collect().")
    if hasattr(given, "iter_rows"):
        return map(_plain_row, frame.iter_rows(named=True))
    if hasattr(given, "itertuples") and hasattr(given, "columns"):
        names = [str(name) for name in frame.columns]
        tuples = frame.itertuples(index=False, name=None)
        return (_plain_row(dict(zip(names, values, strict=True))) for values in tuples)
    if hasattr(given, "to_batches"):
        return (_plain_row(row) for batch in frame.to_batches() for row in batch.to_pylist())
    if hasattr(given, "features") and hasattr(given, "column_names"):
        return map(_plain_row, frame)
    if not isinstance(given, Iterable):
        raise UsageError(f"cases are {given!r}, not a list")
    return iter(cast("Iterable[Any]", given))


def _table(file: Path, delimiter: str, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    """The rows of a table with a header, each with its first line."""
    with file.open(encoding="utf-8-sig", newline="") as text, _large_cells():
        reader = csv.reader(text, delimiter=delimiter)
        header = [name.strip() for name in next(reader, [])]
        twice = {name for name in header if header.count(name) > 1}
        if twice:
            named = " and ".join(map(repr, sorted(twice)))
            problems.append(Problem(str(file), 1, 0, f"two columns are called {named}"))
            return
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cells):
                continue
            if len(cells) != len(header):
                what = f"the row has {len(cells)} cells, the header has {len(header)}"
                problems.append(Problem(str(file), line, 0, what))
                continue
            row = _unpacked(file, line, dict(zip(header, cells, strict=True)), problems)
            if row is not None:
                yield line, row


@contextmanager
def _large_cells() -> Iterator[None]:
    """Inside, a cell may be as large as a document; what csv allows otherwise is less."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _unpacked(
    file: Path, line: int, cells: dict[str, Any], problems: list[Problem]
) -> dict[str, Any] | None:
    """A table's row with its JSON read: that of `name:json`, and that of lists and objects in our own columns."""
    row: dict[str, Any] = {}
    for name, cell in cells.items():
        if name.endswith(JSON_COLUMN):
            if cell in (None, ""):
                continue
            try:
                row[name.removesuffix(JSON_COLUMN)] = decode(cell)
            except ValueError as error:
                problems.append(_no_json(file, line, error, f"the column {name!r} "))
                return None
        elif name in {"context", "tags", "metadata"} and isinstance(cell, str):
            row[name] = _list_or_text(name, cell)
        elif name in {"input", "expected", "id", "description"} and cell in (None, ""):
            continue  # an empty cell says nothing: it is not the empty text
        else:
            row[name] = cell
    return row


def _list_or_text(name: str, cell: str) -> object:
    """A cell that is a list of texts in JSON, or for metadata an object, as that; else its text."""
    opening = "{" if name == "metadata" else "["
    if not cell.lstrip().startswith(opening):
        return cell
    try:
        value = decode(cell)
    except ValueError:
        return cell
    if name == "metadata":
        return value
    items = cast("list[object]", value)
    return items if all(isinstance(item, str) for item in items) else cell


def _json(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    raw = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    raw.decode()  # says so where it is not UTF-8
    try:
        value = decode(raw)
    except ValueError as error:
        try:
            json.loads(raw)
        except json.JSONDecodeError as place:
            what = f"is not JSON: {place.msg}"
            problems.append(Problem(str(file), place.lineno, place.colno, what))
        except RecursionError:
            problems.append(_no_json(file, 0, error))
        else:
            problems.append(_no_json(file, 0, error))
        return
    yield from _items(file, value, problems)


def _yaml(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    import yaml  # noqa: PLC0415 (only for YAML)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = file.read_text("utf-8-sig")
    try:
        value = _once(yaml.load(text, loader), set())  # noqa: S506 (a safe loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0]
        problems.append(Problem(str(file), line, column, f"is not YAML: {said}"))
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else error
        problems.append(Problem(str(file), 0, 0, f"cannot be read: {said}"))
    else:
        yield from _items(file, value, problems)


def _once(value: Any, seen: set[int]) -> Any:
    """What a YAML file says as JSON could: dates as text, and no part of it in two places.

    Raises:
        ValueError: A part is there twice: a few lines could stand for more than any memory holds.
    """
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, (dict, list)):
        return value
    if id(cast("object", value)) in seen:
        msg = "anchors and aliases are not followed; write the value out"
        raise ValueError(msg)
    seen.add(id(cast("object", value)))
    if isinstance(value, list):
        return [_once(item, seen) for item in cast("list[Any]", value)]
    return {str(key): _once(item, seen) for key, item in cast("dict[Any, Any]", value).items()}


def _items(file: Path, value: object, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    """The cases of a document: a list of them, an object that holds the list, or a single one."""
    if isinstance(value, dict):
        inside = cast("dict[str, object]", value)
        lists = [inside[key] for key in _INSIDE if isinstance(inside.get(key), list)]
        value = lists[0] if lists else [inside]
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    for number, item in enumerate(items, 1):
        row = _object(file, 0, item, problems, f"case {number} ")
        if row is not None:
            yield number, row


def _parquet(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    parquet = parquet_library(file)
    import pyarrow as pa  # noqa: PLC0415 (only for Parquet)

    number = 0
    try:
        with parquet.ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=1000):
                for found in batch.to_pylist():
                    number += 1
                    row = _unpacked(file, number, _plain_row(found), problems)
                    if row is not None:
                        yield number, row
    except (pa.ArrowException, pa.ArrowInvalid) as error:
        said = str(error).partition("\n")[0]
        problems.append(Problem(str(file), 0, 0, f"is not Parquet: {said}"))


def parquet_library(file: Path) -> Any:
    """What reads and writes Parquet.

    Raises:
        UsageError: It is not installed.
    """
    try:
        from pyarrow import parquet  # noqa: PLC0415 (heavy, and seldom wanted)
    except ImportError:
        raise UsageError(
            f"{file}: Parquet is read and written by pyarrow, which is not installed",
            hint="Install it: pip install 'evenhand[parquet]'",
        ) from None
    return parquet


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = {str(name): _plain(value) for name, value in row.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    """A value of a frame as Python's own; None for what is missing."""
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        return None if value != value else value  # noqa: PLR0124 (NaN is not itself)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return _plain(value.tolist())
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _object(
    file: Path, line: int, value: object, problems: list[Problem], which: str = ""
) -> Row | None:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:79] + "…"
    what = f"{which}is {shown}, not an object" if which else f"a case is {shown}, not an object"
    problems.append(Problem(str(file), line, 0, what))
    return None


def _no_json(file: Path, line: int, error: ValueError, which: str = "") -> Problem:
    column = error.colno if isinstance(error, json.JSONDecodeError) else 0
    said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return Problem(str(file), line, column if not which else 0, f"{which}is not JSON: {said}")


def _not_utf8(file: Path) -> int:
    """The first line that is not UTF-8."""
    with file.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            try:
                raw.decode()
            except UnicodeDecodeError:
                return number
    return 0


def told(problems: Sequence[Problem], most: int = 50) -> ConfigError:
    """The error that says what is wrong, of very many problems the first."""
    ordered = sorted(problems)
    return ConfigError(ordered[:most], more=max(0, len(ordered) - most))
