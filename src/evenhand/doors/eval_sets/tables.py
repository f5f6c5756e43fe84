"""Rows of tables: of CSV and TSV files with a header, and of Parquet files.

A column `name:json` holds JSON, and an empty cell in it nothing. Both kinds are read as they are asked for, so a file
may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import Problem, UsageError
from evenhand.doors.eval_sets.frames import plain_row
from evenhand.doors.eval_sets.json_lines import Placed, Row, no_json
from evenhand.languages.documents.delimited import Header, NotDelimited, records
from evenhand.languages.documents.file_kinds import other_kind
from evenhand.languages.documents.tree import MARKED, RESOLVE, is_marked_row

JSON_COLUMN = ":json"
_BATCH = 1000


class DelimitedFile:
    """A CSV or TSV file. The place of a row is the byte that it begins at."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
        self._header = Header([])

    def rows(self, problems: list[Problem]) -> Iterator[Placed]:
        """The rows, each with its first line; what is wrong with one is put to the problems, and the next one comes."""
        with self.file.open("rb") as raw:
            lines = _Lines(raw)
            try:
                table = records(lines, self._delimiter)
                self._header = Header(next(table, (1, []))[1])
                wrong = self._wrong_header()
                if wrong is not None:
                    problems.append(Problem(str(self.file), 1, 0, *wrong))
                    return
                place = lines.read
                for line, cells in table:
                    row = self._row(line, cells, problems)
                    if row is not None:
                        yield line, place, row
                    place = lines.read
            except NotDelimited as error:
                problems.append(Problem(str(self.file), error.line, 0, error.what, error.hint))

    def _wrong_header(self) -> tuple[str, str] | None:
        names = self._header.names
        twice = self._header.twice
        if twice:
            return f"two columns are called {' and '.join(map(repr, twice))}", ""
        if len(names) == 1 and self._delimiter == "," and set(names[0]) & {";", "\t"}:
            return (
                f"its one column is called {names[0]!r}",
                "Separate columns with commas, or with tabs in a file that ends in .tsv.",
            )
        return None

    def row(self, place: int, problems: list[Problem]) -> Row | None:
        """The row at a place; None where it is none any more. The header is that of the last look at all rows."""
        with self.file.open("rb") as raw:
            raw.seek(place)
            try:
                _, cells = next(records(_Lines(raw), self._delimiter), (0, []))
            except NotDelimited as error:
                problems.append(Problem(str(self.file), 0, 0, error.what, error.hint))
                return None
            return self._row(0, cells, problems)

    def _row(self, line: int, cells: list[str], problems: list[Problem]) -> Row | None:
        if not any(cells):
            return None
        header, wrong = self._header, None
        if is_marked_row(cells, header.width):
            wrong = MARKED, RESOLVE
        elif not header.fits(cells):
            wrong = header.misfit(cells)
        wrong = wrong or header.nameless(cells)
        if wrong is not None:
            problems.append(Problem(str(self.file), line, 0, *wrong))
            return None
        return _unpacked(self.file, line, header.row(cells), problems)


class _Lines:
    """The lines of a file as text, and how many bytes were read so far: where the next row begins."""

    def __init__(self, raw: BinaryIO) -> None:
        self.read = raw.tell()
        self._raw = raw

    def __iter__(self) -> Iterator[str]:
        for raw in self._raw:
            # By bytes: CR, LF and CRLF, and nothing else.
            for line in raw.splitlines(keepends=True):
                first = self.read == 0
                self.read += len(line)
                yield line.decode("utf-8-sig" if first else "utf-8")


class Parquet:
    """A Parquet file. The place of a row is its number, from 0."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._batches: Iterator[tuple[int, Any]] = iter(())
        self._start = 0
        self._batch: Any = ()

    def rows(self, problems: list[Problem]) -> Iterator[Placed]:
        """The rows, each with its number, from 1."""
        for start, batch in self._read(problems):
            for place, record in enumerate(batch.to_pylist(), start):
                row = self._plain(place, record, problems)
                if row is not None:
                    yield place + 1, place, row

    def row(self, place: int, problems: list[Problem]) -> Row | None:
        """The row at a place; None where there is none any more.

        Going on from the last one is quick; going back reads from the start.
        """
        if place < self._start or not len(self._batch):
            self._batches = self._read(problems)
            self._start, self._batch = next(self._batches, (0, ()))
        while place >= self._start + len(self._batch):
            following = next(self._batches, None)
            if following is None:
                return None
            self._start, self._batch = following
        # Only this row is converted to Python objects, not the whole batch.
        (record,) = self._batch.slice(place - self._start, 1).to_pylist()
        return self._plain(place, record, problems)

    def _plain(self, place: int, record: dict[str, Any], problems: list[Problem]) -> Row | None:
        try:
            row = plain_row(record)
        except UsageError as error:
            problems.append(Problem(str(self.file), place + 1, 0, error.message, error.hint))
            return None
        return _unpacked(self.file, place + 1, row, problems)

    def _read(self, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
        """The batches, each with the place of its first row."""
        parquet = parquet_library(self.file)
        import pyarrow as pa  # noqa: PLC0415 (only for Parquet)

        start = 0
        try:
            with parquet.ParquetFile(self.file) as table:
                names: list[str] = table.schema_arrow.names
                twice = sorted({name for name in names if names.count(name) > 1})
                if twice:
                    what = f"two columns are called {' and '.join(map(repr, twice))}"
                    problems.append(Problem(str(self.file), 0, 0, what))
                    return
                for batch in table.iter_batches(batch_size=_BATCH):
                    yield start, batch
                    start += len(batch)
        except (pa.ArrowException, pa.ArrowInvalid):
            problems.append(Problem(str(self.file), 0, 0, *_no_parquet(self.file)))


def _no_parquet(file: Path) -> tuple[str, str]:
    """Why a file cannot be read as Parquet, and what to do."""
    with file.open("rb") as raw:
        begins = raw.read(4)
    # The beginning is Parquet's, so that its end must be missing.
    if begins == b"PAR1":
        return "is not a whole Parquet file", "It may have been cut off: write or copy it again."
    other = other_kind(file)
    if other is not None:
        return f"is not Parquet: it {other[0]}", other[1]
    return (
        "is not Parquet",
        "Rename it, so that its name ends in what it is: .csv, .jsonl or .json.",
    )


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
                problems.append(no_json(file, line, error, f"the column {name!r} "))
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
    # A list of anything but texts is a text that merely looks like JSON.
    return items if all(isinstance(item, str) for item in items) else cell
