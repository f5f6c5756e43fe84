"""Rows of texts, in and out of CSV files, or of JSON lines where the file's name ends in .jsonl."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.languages.documents.delimited import Header, NotDelimited, records
from evenhand.languages.documents.file_kinds import not_lines
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import decoded


class SheetRow(Record, frozen=True):
    """A row of a file.

    Attributes:
        line: The line that it begins on, from 1.
        texts: What it says, by column.
        problem: What is wrong with it, and what to do; None for nothing.
    """

    line: int
    texts: Mapping[str, str]
    problem: tuple[str, str] | None = None


def write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[str | int | float]]
) -> None:
    """Writes rows to a new file.

    Raises:
        UsageError: The file is there already, or cannot be written.
    """
    if _is_json_lines(path):
        text = "".join(
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n"
            for row in rows
        )
    else:
        table = io.StringIO()
        sheet = csv.writer(table)
        sheet.writerow(columns)
        sheet.writerows([cell(value) for value in row] for row in rows)
        text = table.getvalue()
    try:
        # "x": a file that is there may hold an hour of somebody's labels.
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{path} is there already, maybe with labels in it",
            hint="Name another file, or delete it.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def read_rows(path: Path, columns: Sequence[str], needed: Sequence[str]) -> Iterator[SheetRow]:
    """The rows of a file that `write_rows` wrote and somebody filled in.

    Args:
        path: The file.
        columns: What `write_rows` wrote, for messages.
        needed: What each row must have. The last of them is what is filled in: a row without it may be broken.

    Raises:
        UsageError: The file cannot be read, or lacks a column.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = (
            f"Looked in {path.absolute().parent}." if isinstance(error, FileNotFoundError) else ""
        )
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint=hint) from error
    findings = Findings()
    text = decoded(data, path, findings)
    if text is None:
        (problem,) = findings.problems
        raise UsageError(problem.summary, hint=problem.hint)
    if _is_json_lines(path):
        wrong = not_lines(path)
        if wrong is not None:
            raise UsageError(f"{path}: {wrong[0]}", hint=wrong[1])
        return _json_rows(text, columns, needed)
    return _csv_rows(path, text, columns, needed)


def read_verdicts(
    path: Path,
    columns: Sequence[str],
    needed: Sequence[str],
    read: Callable[[Mapping[str, str]], tuple[str, str] | None],
) -> None:
    """Reads a file that `write_rows` wrote and somebody filled in, row by row.

    Args:
        path: The file.
        columns: See `read_rows`.
        needed: See `read_rows`.
        read: Keeps a row's verdict; what is wrong with it, and what to do, where it can't.

    Raises:
        UsageError: The file cannot be read, or lacks a column.
        ConfigError: All that is wrong with its rows.
    """
    problems: list[Problem] = []
    for row in read_rows(path, columns, needed):
        problem = row.problem or read(row.texts)
        if problem is not None:
            what, remedy = problem
            problems.append(Problem(str(path), row.line, 0, what, remedy))
    if problems:
        raise ConfigError(problems, spared="no label was kept")


def no_labels(path: Path, verdicts: str) -> UsageError:
    """The error of a file in which nobody has written a verdict.

    Args:
        path: The file.
        verdicts: What may be written.
    """
    what = "the key" if _is_json_lines(path) else "the column"
    return UsageError(
        f"{path} has no labels: {what} `verdict` is empty in all rows",
        hint=f"Write {verdicts} for each output that you have looked at, then read the file again.",
    )


def missing_words(what: str, names: Sequence[str]) -> str:
    """Which columns or keys a file lacks.

    >>> missing_words("column", ["metric", "verdict"])
    'the columns `metric` and `verdict` are missing'
    """
    quoted = [f"`{name}`" for name in names]
    if len(quoted) == 1:
        return f"the {what} {quoted[0]} is missing"
    return f"the {what}s {', '.join(quoted[:-1])} and {quoted[-1]} are missing"


def _is_json_lines(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _csv_rows(
    path: Path, text: str, columns: Sequence[str], needed: Sequence[str]
) -> Iterator[SheetRow]:
    try:
        table = records(io.StringIO(text, newline=""))
        header = Header(next(table, (1, []))[1])
        missing = [name for name in needed if name not in header.names]
        if missing:
            raise UsageError(
                f"{path}: {missing_words('column', missing)}",
                hint=f"The columns are {', '.join(columns)}, as `evenhand label RUN --draw N --to FILE` writes them.",
            )
        if header.twice:
            named = " and ".join(f"`{name}`" for name in header.twice)
            raise UsageError(f"{path}:1: two columns are called {named}", hint="Take one out.")
        for line, cells in table:
            if not any(cells):
                continue
            # Spreadsheets leave empty cells at the end of a row out.
            row = header.row([*cells, *[""] * header.width])
            if header.fits(cells) or not row[needed[-1]].strip():
                yield SheetRow(line, row)
            else:
                what = "the row has another number of columns than the first line"
                yield SheetRow(line, {}, (what, "Quote texts with commas."))
    except NotDelimited as error:
        raise UsageError(f"{path}:{error.line}: {error.what}", hint=error.hint) from None


def _json_rows(text: str, columns: Sequence[str], needed: Sequence[str]) -> Iterator[SheetRow]:
    # Not splitlines(): an output may hold U+2028, which is no end of a line in JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not is_object(value):
            problem = "the line is not a JSON object", "Write one object on a line."
            yield SheetRow(number, {}, problem)
            continue
        row = {
            name: "" if one is None else one if isinstance(one, str) else json.dumps(one)
            for name, one in value.items()
        }
        missing = [name for name in needed if name not in row]
        if missing:
            what = missing_words("key", missing)
            yield SheetRow(number, {}, (what, f"The keys are {', '.join(columns)}."))
        else:
            yield SheetRow(number, row)
