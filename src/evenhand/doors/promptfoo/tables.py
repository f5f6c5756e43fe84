"""Tests in tables, CSV and XLSX: a header names the variables; columns with `__` say something of the test."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

from msgspec import field

from evenhand.core.names import did_you_mean, nearest
from evenhand.core.record import MutableRecord
from evenhand.doors.assertions.kinds import KNOWN
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
from evenhand.languages.templates.printing import number_text
from evenhand.scorers.code_languages import CODE_LANGUAGES, TYPES

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
    quoted = re.compile(rf'"((?>(?:[^"]+|"")*))"(?=[{re.escape(delimiter)}\r\n]|\Z)')
    opened = re.compile(r'"((?>(?:[^"]+|"")*))"')
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
            Place(path, 1, column), f"the column '{name}' appears twice", "Only one could count."
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
    place = at()
    variables: dict[str, Any] = {}
    test = _Test(test={"vars": variables, "description": f"Row #{number}"}, variables=variables)
    for name, cell in row.items():
        # Most columns are plain variables, and are spared the look-up.
        if name[:1] != "_":
            test.variables[name] = cell
        # An empty cell in a column about the test says nothing.
        elif cell or name not in _NAMED:
            put, key, hint = _column(name)
            if hint:
                findings.hint(
                    Place(place.file, 1), f"column '{name}' is taken for a variable", hint.strip()
                )
            put(test, key, cell)
            if put is _expect and (slip := _slip(cell)):
                findings.hint(place, f"the output must equal {cell[:60]!r}, word for word", slip)
    return WrittenTest(test.finished(), at, data=True)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # whole numbers, too: a 3 is to read `3`, as it does in CSV
        return number_text(value)
    return str(value).strip()  # nobody sees the spaces around a sheet's cell; promptfoo drops them


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)


_EXPECTED = re.compile(r"__expected(\d*)")
_ALIAS = {"__expected": "__expected1", "__expected1": "__expected"}
"""Two names of the first assertion of a row: one stands for the other where only one is a column."""
_CONFIG = re.compile(r"__config:(__expected\d*):(\w+)")
_TYPED = re.compile(
    # The longest first: some types begin with the whole name of another. A cell has no room for a set's assertions.
    f"((?:not-)?({'|'.join(map(re.escape, sorted(KNOWN - {'assert-set'}, key=len, reverse=True)))}))"
    r"(?:\((\d*\.?\d+)\))?(?::(.*))?",
    re.DOTALL,
)
_DEFAULT_THRESHOLD = {"similar": 0.8, **dict.fromkeys(
    ("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "levenshtein",
     "perplexity", "perplexity-score", "rouge-n"), 0.75)}  # fmt: skip
"""promptfoo's own; its 0.75 for `latency` and `cost` is left out, since nobody means 0.75 ms."""
_NAMED = {
    "__description": "description",
    "__metric": "metric",
    "__prefix": "prefix",
    "__providerOutput": "providerOutput",
    "__suffix": "suffix",
    "__threshold": "threshold",
}
_OPTIONS = frozenset({"__prefix", "__suffix"})
_BEGINS = re.compile(r"(?:not-)?([a-z][a-z-]{3,30})(?:\([^)]*\))?:(?! )")
_MAGIC = (*_NAMED, "__expected")
_COMMA = re.compile(r"(?<!\\),")


def assertion_from_cell(text: str) -> dict[str, Any]:
    """The assertion that a cell stands for, as a config would write it.

    `contains:text`, `not-regex:a+`, `latency(500)`, `python:…`; other text is what the output must equal.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in ("javascript", "fn", "eval"):
        return {"type": "javascript", "value": rest.strip()}
    if colon and kind in ("grade", "llm-rubric"):
        return {"type": "llm-rubric", "value": rest.strip()}
    if colon and kind in {"python", *TYPES}:
        return {"type": kind, "value": rest.strip()}
    if text.startswith("file://"):
        name = text.rpartition("/")[2]
        named = {".py": "python"} | {one.ending: one.type for one in CODE_LANGUAGES}
        kind = next((named[ending] for ending in named if ending in name), "javascript")
        return {"type": kind, "value": text.strip()}
    match = _TYPED.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    written, type_, threshold, value = match.groups()
    assertion: dict[str, Any] = {"type": written}
    if value is not None:
        assertion["value"] = value.strip()
    if threshold is None:
        threshold = _DEFAULT_THRESHOLD.get(type_)
    if threshold is not None:
        assertion["threshold"] = float(threshold)
    return assertion


class _Test(MutableRecord, kw_only=True):
    """A test being put together from the cells of a row."""

    test: dict[str, Any]
    variables: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    asserts: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    thresholds: dict[str, str] = field(default_factory=dict[str, str])
    metric: str = ""
    columns: set[str] = field(default_factory=set[str])

    def finished(self) -> dict[str, Any]:
        """The test, with what other columns say of its assertions."""
        for name, assertion in self.asserts.items():
            threshold = self.thresholds.get(name)
            if threshold is None and _ALIAS.get(name, name) not in self.columns:
                threshold = self.thresholds.get(_ALIAS.get(name, name))
            if threshold is not None:
                assertion["threshold"] = threshold
            if self.metric:
                assertion["metric"] = self.metric
        for key, value in (
            ("assert", [*self.asserts.values()]),
            ("metadata", self.metadata),
            ("options", self.options),
        ):
            if value:
                self.test[key] = value
        return self.test


def _slip(cell: str) -> str:
    """The type that a cell probably means, where it begins like an assertion and is taken for plain text."""
    begins = _BEGINS.match(cell)
    if begins is None or assertion_from_cell(cell)["type"] != "equals" or begins[1] == "equals":
        return ""
    if begins[1] in KNOWN:
        return f"Write {begins[1]}(0.8): …, if that is meant: the threshold is a number."
    return did_you_mean(begins[1], KNOWN)


_Put = Callable[[_Test, str, str], None]


@lru_cache(maxsize=1024)
def _column(name: str) -> tuple[_Put, str, str]:
    """Where the cells of a column belong, under which key, and a hint where the name looks misspelt."""
    if _EXPECTED.fullmatch(name):
        return _expect, name, ""
    if name in _NAMED:
        return (_option if name in _OPTIONS else _say), _NAMED[name], ""
    if name.startswith("__metadata:"):
        key = name.removeprefix("__metadata:")
        return (_list, key[:-2], "") if key.endswith("[]") else (_tell, key, "")
    config = _CONFIG.fullmatch(name)
    if config is not None:
        return _bound, config[1], ""
    near = did_you_mean(name if name.startswith("__") else f"_{name}", _MAGIC)
    return _vary, name, near or " "


def wrong_columns(header: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns that can mean nothing: (what is wrong, what to do)."""
    expects = any(map(_EXPECTED.fullmatch, header))
    for name in header:
        config = _CONFIG.fullmatch(name)
        if config is None:
            # With one underscore, it may be a variable.
            slip = name[:2] == "__" and _column(name)[0] is _vary
            if slip and not expects and nearest(name, _MAGIC) == "__expected":
                what = f"column '{name}' is a variable, and no column says what is expected"
                yield what, "Did you mean '__expected'?"
            continue
        column = config[1]
        if column not in header:
            column = _ALIAS.get(column, column)
        if config[2] != "threshold":
            yield f"column '{name}': only 'threshold' can be set for an assertion", ""
        elif column not in header:
            yield f"column '{name}': there is no column '{column}'", did_you_mean(column, header)


def _vary(test: _Test, key: str, cell: str) -> None:
    test.variables[key] = cell


def _expect(test: _Test, key: str, cell: str) -> None:
    test.columns.add(key)
    if cell and not cell.isspace():
        test.asserts[key] = assertion_from_cell(cell.strip())


def _say(test: _Test, key: str, cell: str) -> None:
    if key == "metric":
        test.metric = cell
    elif cell.strip():
        test.test[key] = cell


def _option(test: _Test, key: str, cell: str) -> None:
    test.options[key] = cell


def _bound(test: _Test, key: str, cell: str) -> None:
    if cell.strip():
        test.thresholds[key] = cell
        with suppress(ValueError):  # promptfoo tells it there as well
            test.metadata["threshold"] = float(cell)


def _tell(test: _Test, key: str, cell: str) -> None:
    if cell:
        test.metadata[key] = cell


def _list(test: _Test, key: str, cell: str) -> None:
    if not cell:
        return
    parts = (part.strip() for part in _COMMA.split(cell))
    test.metadata[key] = [part.replace("\\,", ",") for part in parts if part]
