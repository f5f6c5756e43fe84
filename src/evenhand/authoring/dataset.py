"""Datasets: named, ordered cases with a fingerprint."""

from __future__ import annotations

import csv
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import ConfigError, Problem, UsageError

_FIELDS = frozenset(
    {"id", "input", "expected", "context", "description", "tags", "metadata", "vars"}
)


class Dataset(Sequence[Case]):
    """Cases in their order, each with an id of its own.

    Args:
        cases: The cases, or rows to make them of (see `Dataset.of`).
        name: For reports.

    Raises:
        UsageError: Two cases have the same id.
    """

    def __init__(self, cases: Iterable[Case | Mapping[str, Any]], name: str = "") -> None:
        self.name = name
        self._cases = tuple(case if isinstance(case, Case) else _case(case) for case in cases)
        twice = _twice([case.id for case in self._cases])
        if twice:
            raise UsageError(
                f"two cases have the id {twice!r}",
                hint="Give each row an id of its own, or remove the double.",
            )

    @staticmethod
    def of(*rows: Case | Mapping[str, Any], name: str = "") -> Dataset:
        """A dataset of these rows: `Dataset.of({"input": "2 + 2", "expected": "4"}, …)`."""
        return Dataset(rows, name)

    @staticmethod
    def read(path: str | Path) -> Dataset:
        """A dataset from a file: CSV with a header, JSON (a list), or JSONL.

        The columns `id`, `input`, `expected`, `context`, `description`, `tags` and `metadata` are the case's fields;
        all others are its variables. A case without an id is called by a hash of its row; one with an id and no
        description is described by it. The file is looked for beside the file that says so, then where one stands.

        Raises:
            ConfigError: All that is wrong with the file, row by row.
            UsageError: Its ending says no format.
        """
        frame = inspect.currentframe()
        asker = Path(frame.f_back.f_code.co_filename) if frame and frame.f_back else Path()
        beside = asker.parent / path
        file = beside if asker.is_file() and beside.is_file() else Path(path)
        problems: list[Problem] = []
        cases: list[Case] = []
        places: list[int] = []
        for line, row in _rows(file, problems):
            try:
                cases.append(_case(row))
                places.append(line)
            except UsageError as error:
                problems.append(Problem(str(file), line, 0, error.message, error.hint))
        seen: dict[str, int] = {}
        for case, line in zip(cases, places, strict=True):
            if case.id in seen:
                problems.append(
                    Problem(
                        str(file),
                        line,
                        0,
                        f"the id {case.id!r} is taken already, in line {seen[case.id]}",
                    )
                )
            seen.setdefault(case.id, line)
        if not cases and not problems:
            problems.append(Problem(str(file), 0, 0, "holds no cases"))
        if problems:
            raise ConfigError(problems)
        return Dataset(cases, file.stem)

    @property
    def fingerprint(self) -> str:
        """A hash of all that the cases say, in their order."""
        return digest(*(encode(_said(case)) for case in self._cases))

    def __getitem__(self, place: Any) -> Any:
        return self._cases[place]

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def __repr__(self) -> str:
        return f"<Dataset {self.name or 'unnamed'}: {len(self)} cases>"


def _rows(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    suffix = file.suffix.lower()
    if suffix not in (".csv", ".tsv", ".json", ".jsonl"):
        raise UsageError(f"{file}: a dataset ends in .csv, .json or .jsonl, not '{file.suffix}'")
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        problems.append(
            Problem(str(file), 0, 0, "does not exist", f"Looked in {file.absolute().parent}.")
        )
        return
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problems.append(Problem(str(file), line, 0, "is not UTF-8", "Save it as UTF-8."))
        return
    if suffix in (".csv", ".tsv"):
        yield from _table(file, text, "\t" if suffix == ".tsv" else ",", problems)
        return
    if suffix == ".jsonl":
        for line, row in enumerate(text.splitlines(), 1):
            if row.strip():
                value = _json(file, line, row, problems)
                if value is not None:
                    yield line, value
        return
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        problems.append(Problem(str(file), error.lineno, error.colno, f"is not JSON: {error.msg}"))
        return
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, dict):
            yield 0, item
        else:
            problems.append(Problem(str(file), 0, 0, f"a case is {item!r}, not an object"))


def _table(
    file: Path, text: str, delimiter: str, problems: list[Problem]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a table with a header, each with its first line."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    before = reader.line_num
    for cells in reader:
        line, before = before + 1, reader.line_num
        if not any(cells):
            continue
        if len(cells) != len(header):
            what = f"the row has {len(cells)} cells, the header has {len(header)}"
            problems.append(Problem(str(file), line, 0, what))
            continue
        yield line, dict(zip(header, cells, strict=True))


def _json(file: Path, line: int, text: str, problems: list[Problem]) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        problems.append(Problem(str(file), line, error.colno, f"is not JSON: {error.msg}"))
        return None
    if not isinstance(value, dict):
        problems.append(Problem(str(file), line, 0, f"a case is {value!r}, not an object"))
        return None
    return cast("dict[str, Any]", value)


def _case(row: Mapping[str, Any]) -> Case:
    given = dict(row)
    context = given.get("context") or ()
    tags = given.get("tags") or ()
    metadata = given.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise UsageError(f"metadata is {metadata!r}, not an object")
    variables = {key: value for key, value in given.items() if key not in _FIELDS}
    variables.update(given.get("vars") or {})
    return Case(
        id=str(given["id"]) if given.get("id") not in (None, "") else case_id(given),
        vars=variables,
        input=given.get("input"),
        expected=given.get("expected"),
        context=(context,) if isinstance(context, str) else tuple(map(str, context)),
        description=str(given.get("description") or given.get("id") or ""),
        tags=tuple(t.strip() for t in tags.split(","))
        if isinstance(tags, str)
        else tuple(map(str, tags)),
        metadata=cast("Mapping[str, Any]", metadata),
    )


def _said(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "vars": case.vars,
        "input": case.input,
        "expected": case.expected,
        "context": case.context,
        "metadata": case.metadata,
    }


def _twice(names: Sequence[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""
