"""Tests in tables, CSV and XLSX: a header names the variables; columns with `__` say something of the test."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

from evenhand.core.names import did_you_mean
from evenhand.core.record import MutableRecord
from evenhand.doors.promptfoo.table_cells import test_from_row, wrong_columns
from evenhand.doors.promptfoo.tests import Line, WrittenTest
from evenhand.languages.documents.delimited import (
    Header,
    NotDelimited,
    Unclosed,
    column_name,
    records,
    unclosed,
)
from evenhand.languages.documents.file_kinds import other_kind
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import MARKED, RESOLVE, decoded, is_marked_row, replaced
from evenhand.languages.documents.unpacking import packed_too_far

_ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as `surrogateescape` keeps them."""


class Csv(MutableRecord):
    """A CSV file: a header, then one test a row. Columns whose name begins with `__` say something about the test."""

    path: Path
    delimiter: str = ","
    strict: bool = False
    """Quotes that CSV has no rule for are a problem; otherwise they are part of their cell."""

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        data = _start(self.path)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            # Spreadsheets save "Unicode text" like this. Its bytes cannot be split into lines before they are decoded.
            text = self.path.read_bytes().decode("utf-16", "replace")
            yield from self._parsed(io.StringIO(text, newline="").readlines(), findings)
            return
        kind = other_kind(self.path)
        if kind is not None:
            findings.problem(Place(self.path), *kind)
            return
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            yield from self._parsed(self._readable(lines, findings), findings)

    def _readable(self, lines: Iterable[str], findings: Findings) -> Iterator[str]:
        """The lines, with the replacement character for what is not UTF-8."""
        for number, line in enumerate(lines, 1):
            if line.isascii() or not _ESCAPED.search(line):
                yield line
            else:
                data = line.encode("utf-8", "surrogateescape")
                yield replaced(data, self.path, findings, number)

    def _records(self, lines: Iterable[str], findings: Findings) -> Iterator[tuple[int, list[str]]]:
        """The records, each with the line that it begins on."""
        count = 0
        try:
            for record in records(lines, self.delimiter):
                yield record
                count += 1
        except NotDelimited as error:
            if self.strict or isinstance(error, Unclosed):
                raise
            findings.hint(
                Place(self.path, error.line),
                "has quotes that CSV has no rule for; they are taken as part of their cells",
                'A quote inside a quoted cell is written twice: "".',
            )
            text = decoded(self.path.read_bytes(), self.path, Findings(replacing=True)) or ""
            # Read again from the start, without the records that were passed on before the odd quote.
            yield from islice(relaxed(text, self.delimiter), count, None)

    def _parsed(self, lines: Iterable[str], findings: Findings) -> Iterator[WrittenTest]:
        path = self.path
        table = self._records(lines, findings)
        try:
            header = look_at_header(next(table, (1, []))[1], path, findings)
            names = header.names
            if len(names) == 1 and any(char in names[0] for char in ";\t"):
                findings.hint(
                    Place(path, 1),
                    "has one column only, whose name holds the separator of another dialect",
                    "Separate columns with commas, or set PROMPTFOO_CSV_DELIMITER=';' for example.",
                )
            number = 0
            for line, cells in table:
                if not any(cells):
                    continue
                if is_marked_row(cells, header.width):
                    findings.problem(Place(path, line), MARKED, RESOLVE)
                    continue
                if not header.fits(cells):
                    findings.problem(Place(path, line), *header.misfit(cells))
                    continue
                nameless = header.nameless(cells)
                if nameless is not None:
                    findings.problem(Place(path, line), *nameless)
                    continue
                number += 1
                yield table_row(header.row(cells), number, Line(path, line), findings)
        except NotDelimited as error:
            findings.problem(Place(path, error.line), error.what, error.hint)


def relaxed(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of CSV whose quotes follow no rule, each with the line that it begins on.

    A quoted cell ends at a quote before a delimiter or the end of the line. Where something else follows a quote, the
    cell was not quoted at all: its quotes are part of it, and the next delimiter ends it.
    """
    cells: list[str] = []
    at, line, size = 0, 1, len(text)
    begun = line
    plain = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    # Possessive groups do not backtrack: a long cell that is never closed costs one pass over it, and not many.
    quoted = re.compile(rf'"((?>[^"]+|"")*+)"(?=[{re.escape(delimiter)}\r\n]|\Z)')
    opened = re.compile(r'"((?>[^"]+|"")*+)"')
    while at < size:
        match = quoted.match(text, at)
        if match is not None:
            cells.append(match[1].replace('""', '"'))
        else:
            first = opened.match(text, at)
            if first is None and text[at] == '"':
                raise unclosed(line)
            match = plain.match(text, first.end() if first else at)
            assert match is not None  # noqa: S101 (it matches nothing, too)
            inside = first[1].replace('""', '"') if first else ""
            cells.append((f'"{inside}"' if first else "") + match.group())
        line += text.count("\n", at, match.end())
        at = match.end()
        if text[at : at + 1] == delimiter:
            at += 1
            if at < size:
                continue
            # A delimiter at the very end has one more cell after it, which is empty.
            cells.append("")
        at += 2 if text[at : at + 2] == "\r\n" else 1
        yield begun, cells
        line, cells = line + 1, []
        begun = line


def look_at_header(cells: Sequence[str], path: Path, findings: Findings) -> Header:
    """The header of a table. Notes columns that mean nothing, or that only one of two could mean."""
    header = Header(cells)
    for what, hint in wrong_columns(header.names):
        findings.problem(Place(path, 1), what, hint)
    if not header.names:
        findings.problem(Place(path, 1), "is empty", "Its first row names the variables.")
    for name in header.twice:
        column = [i for i, one in enumerate(cells, 1) if column_name(one) == name][1]
        findings.problem(
            Place(path, 1, column), f"the column '{name}' is here twice", "Only one could count."
        )
    return header


class Xlsx(MutableRecord):
    """A sheet of a workbook: a header, then one test a row. `sheet` is a name, or a number from 1; empty: the first."""

    path: Path
    sheet: str = ""

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        try:
            from openpyxl import load_workbook  # noqa: PLC0415 (an extra)
        except ImportError:
            findings.problem(
                Place(self.path),
                "workbooks are read with openpyxl, which is not installed",
                "pip install 'evenhand[xlsx]', or save the sheet as CSV.",
            )
            return
        try:
            with zipfile.ZipFile(self.path) as archive:
                # Looked at before openpyxl unpacks it: a small file may unpack to more than memory holds.
                packed = packed_too_far(archive)
            if packed is not None:
                findings.problem(Place(self.path), packed)
                return
            book = load_workbook(self.path, read_only=True, data_only=True)
        except Exception as error:  # noqa: BLE001 (openpyxl lets out whatever zip and XML do)
            findings.problem(Place(self.path), f"is not a workbook: {error}")
            return
        try:
            names: list[str] = book.sheetnames
            name = (
                names[int(self.sheet) - 1]
                if self._is_number(len(names))
                else self.sheet or names[0]
            )
            if name not in names:
                findings.problem(
                    Place(self.path),
                    f"has no sheet '{self.sheet}'",
                    did_you_mean(self.sheet, names) or f"It has: {', '.join(names)}.",
                )
                return
            table = cast("Iterator[tuple[object, ...]]", book[name].iter_rows(values_only=True))
            header = look_at_header(list(map(_cell, next(table, ()))), self.path, findings)
            number = 0
            for line, values in enumerate(table, 2):
                cells = [_cell(value) for value in values]
                if not any(cells):
                    continue
                nameless = header.nameless(cells)
                if nameless is not None:
                    findings.problem(Place(self.path, line), *nameless)
                    continue
                number += 1
                # A row of a sheet may end before its header does.
                row = header.row([*cells, *[""] * header.width])
                yield table_row(row, number, Line(self.path, line), findings)
        except (
            SyntaxError,
            ValueError,
            KeyError,
            OSError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            # What openpyxl lets out of a damaged workbook while its rows are read: ParseError is a SyntaxError.
            findings.problem(Place(self.path), f"is a damaged workbook: {error}")
        finally:
            book.close()

    def _is_number(self, count: int) -> bool:
        return self.sheet.isdigit() and 1 <= int(self.sheet) <= count


def table_row(row: Mapping[str, str], number: int, at: Line, findings: Findings) -> WrittenTest:
    """The test that a row stands for."""
    return WrittenTest(test_from_row(row, number, at(), findings), at, data=True)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Workbooks keep whole numbers as floats too: a 3 is to read `3`, as it does in CSV.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)
