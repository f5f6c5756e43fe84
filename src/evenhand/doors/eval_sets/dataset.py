"""Datasets: named, ordered cases with a fingerprint."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.core.arguments import checked, checked_class, past_checks
from evenhand.core.case import Case
from evenhand.core.encoding import digest_of, encode
from evenhand.core.errors import Problem, UsageError
from evenhand.core.names import nearest
from evenhand.core.wording.words import count
from evenhand.doors.eval_sets.frames import rows_of
from evenhand.doors.eval_sets.rowcase import case_of, row_of
from evenhand.doors.eval_sets.rows import FORMATS, problems_error, rows_in
from evenhand.doors.eval_sets.splitting import Part, places_of
from evenhand.doors.eval_sets.streamed import CasesInFile
from evenhand.languages.documents.findings import unreadable as not_a_file

MOST_UNCOUNTED = 1_000_000
"""Rows that are taken from something that does not say how many it has: a generator may never end."""

_notes: set[str] = set()
"""What was told of files that are not beside those that name them."""


@checked_class
class Dataset(Sequence[Case]):
    """Cases in their order, each with an id of its own.

    Args:
        cases: The cases, or rows to make them of (see `Dataset.of`): a list, a frame of pandas or polars, a table of
            pyarrow, or a dataset of Hugging Face.
        name: For reports.

    Attributes:
        file: Where it was read from; None for cases that were made in code.

    Raises:
        UsageError: Two cases have the same id, or what is given holds no cases.
    """

    def __init__(self, cases: Iterable[Case | Mapping[str, Any]] | Any, name: str = "") -> None:
        self.name = name
        self.file: Path | None = None
        if isinstance(cases, (CasesInFile, Part)):
            self._cases: Sequence[Case] = cases
            return
        rows = rows_of(cases)
        if not hasattr(cases, "__len__"):  # it may go on forever
            rows = _at_most(rows, MOST_UNCOUNTED)
        self._cases = tuple(map(case_of, rows))
        twice = _twice([case.id for case in self._cases])
        if twice:
            raise UsageError(
                f"two cases have the id {twice!r}",
                hint="Give each row an id of its own, or remove the double.",
            )

    @staticmethod
    @checked
    def of(*rows: Case | Mapping[str, Any], name: str = "") -> Dataset:
        """A dataset of these rows: `Dataset.of({"input": "2 + 2", "expected": "4"}, …)`."""
        return Dataset(rows, name)

    @staticmethod
    @checked
    def read(path: str | Path, *, stream: bool = False) -> Dataset:
        """A dataset from a file: CSV or TSV with a header, JSON, JSONL, YAML or Parquet.

        The columns `id`, `input`, `expected`, `context`, `description`, `tags` and `metadata` are the case's fields;
        all others are its variables. A case without an id is called by a hash of its row; one with an id and no
        description is described by it. The file is looked for beside the file that says so, then in the current
        folder, with a note on stderr where it is read from there.

        Args:
            path: The file.
            stream: Leave the cases in their file, of any size, and read each when it is asked for: JSONL, CSV, TSV and
                Parquet.

        Raises:
            ConfigError: All that is wrong with the file, row by row.
            UsageError: Its ending says no format, or one that cannot be streamed.
        """
        frame = inspect.currentframe()
        caller = past_checks(frame.f_back) if frame else None
        asker = Path(caller.f_code.co_filename) if caller else Path()
        file = Path(path)
        if caller and asker.is_file() and not file.is_absolute():
            file = _beside(asker, caller.f_lineno, file)
        dataset = Dataset(CasesInFile(file) if stream else _held(file), file.stem)
        dataset.file = file.resolve()
        return dataset

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that the cases say, in their order."""
        return digest_of(encode(_content(case)) for case in self._cases)

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each case, as it would be written: `pandas.DataFrame(dataset.rows())`."""
        return [row_of(case) for case in self]

    @checked
    def write(self, path: str | Path) -> Path:
        """Writes the cases to a file, in the format that its ending says; `read` gives the same cases back.

        Raises:
            UsageError: The ending says no format, or a case holds what the format cannot.
        """
        from evenhand.doors.eval_sets.writing import write_cases  # noqa: PLC0415 (when something is written)

        to = Path(path)
        write_cases(self._cases, to)
        return to

    @checked
    def split(
        self, parts: Mapping[str, float], *, seed: int = 0, by: str = "", group: str = ""
    ) -> dict[str, Dataset]:
        """Parts of the dataset, drawn at random, each with its cases in their order.

        Which part a case is in hangs on its id and the seed alone: rows that are added, left out or moved change it
        for no other case. So parts have their shares on average; of few cases one may have more or less.

        Args:
            parts: A share for each part by name, `{"dev": 0.2, "test": 0.8}`; they are taken relative to their sum.
            seed: Another draw for another number.
            by: A tag list, variable or key of the metadata, each value of which is split by the same shares, as
                exactly as can be: `tags`. A row that is added may move one case at each border.
            group: A variable or key of the metadata: cases with the same value are in the same part, `document`.

        Raises:
            UsageError: A share is not above 0, a part is left without a case, or no case has the field.
        """
        places_by_part = places_of(self._cases, parts, seed=seed, by=by, group=group)
        name = self.name or "dataset"
        return {
            part: Dataset(Part(self._cases, places), f"{name}-{part}")
            for part, places in places_by_part.items()
        }

    def __getitem__(self, place: Any) -> Any:
        return self._cases[place]

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def __repr__(self) -> str:
        return f"<Dataset {self.name or 'unnamed'}: {count(len(self), 'case')}>"


def _at_most(rows: Iterator[Any], most: int) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number == most:
            raise UsageError(
                f"the cases are still coming after {most:,}",
                hint="Give a list, or a file with Dataset.read(…, stream=True).",
            )
        yield row


def _held(file: Path) -> list[Case]:
    """All cases of a file."""
    problems: list[Problem] = []
    cases: list[Case] = []
    rows: dict[str, int] = {}
    for line, row in rows_in(file, problems):
        try:
            case = case_of(row)
        except UsageError as error:
            problems.append(Problem(str(file), line, 0, error.message, error.hint))
            continue
        if case.id in rows:
            what, hint = f"the id {case.id!r} is taken already, in line {rows[case.id]}", ""
            if case.id != str(row.get("id")):  # it was made of what the row says
                what = f"this row says what line {rows[case.id]} says, and neither has an id"
                hint = "Leave one out, or give each an `id`."
            problems.append(Problem(str(file), line, 0, what, hint))
        rows.setdefault(case.id, line)
        cases.append(case)
    if not cases and not problems:
        problems.append(Problem(str(file), 0, 0, "holds no cases"))
    if problems:
        raise problems_error(problems)
    return cases


def _content(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "description": case.description,
        "tags": case.tags,
        "vars": case.vars,
        "input": case.input,
        "expected": case.expected,
        "context": case.context,
        "metadata": case.metadata,
    }


def _twice(names: Sequence[str]) -> str:
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return ""


def _beside(asker: Path, line: int, path: Path) -> Path:
    """The file that a line of a file names: beside it, else in the current folder, which is told once.

    Raises:
        ConfigError: It is in neither.
    """
    beside = asker.parent / path
    # `lexists`, since a broken link beside the asker is meant, and not a file of that name elsewhere.
    if os.path.lexists(beside):
        return beside
    if path.suffix.lower() not in FORMATS or not_a_file(path):
        return path
    folders = list(dict.fromkeys([beside.absolute().parent, path.absolute().parent]))
    if len(folders) > 1 and os.path.lexists(path):
        what = f"{path} is not beside this file, and read from {folders[1]}"
        note = Problem(str(asker), line, 0, what).summary
        if note not in _notes:
            _notes.add(note)
            sys.stderr.write(f"{note}\n")
        return path
    there = [one.name for folder in folders if folder.is_dir() for one in folder.iterdir()]
    near = nearest(path.name, there)
    hint = f"Looked in {' and '.join(map(str, folders))}."
    hint = f"Did you mean '{path.with_name(near)}'? {hint}" if near else hint
    raise problems_error([Problem(str(asker), line, 0, f"{path} does not exist", hint)])
