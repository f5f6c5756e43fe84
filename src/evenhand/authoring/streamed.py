"""The cases of a JSONL file that stay in their file: as many as there are, in the same memory.

How this works: the file is read once, to look at every row and to note where it begins, 16 bytes for each case. From
then on a case is read when it is asked for. The file must not change meanwhile: that is looked at before each reading.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from evenhand.authoring.rowcase import case_of
from evenhand.authoring.rows import Row, lines_in, row_in, told
from evenhand.core.case import Case
from evenhand.core.errors import ConfigError, Problem, UsageError

_PARTS = 8
_ENOUGH = 100
"""So many problems are kept; a file of a million rows may have a million."""


class CasesInFile(Sequence[Case]):
    """The cases of a JSONL file, read as they are asked for.

    Raises:
        ConfigError: What is wrong with the file, row by row.
        UsageError: The file has changed since it was looked at.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._starts = array("Q")
        ids, lines = array("Q"), array("Q")
        problems: list[Problem] = []
        for line, start, row in lines_in(file, problems):
            try:
                case = case_of(row)
            except UsageError as error:
                problems.append(Problem(str(file), line, 0, error.message, error.hint))
            else:
                self._starts.append(start)
                ids.append(_short(case.id))
                lines.append(line)
            if len(problems) >= _ENOUGH:
                raise told(problems)
        self._state = _state(file)
        problems += self._doubles(ids, lines)
        if not self._starts and not problems:
            problems.append(Problem(str(file), 0, 0, "holds no cases"))
        if problems:
            raise told(problems)

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Case]:
        self._unchanged()
        return (case_of(row) for _, _, row in lines_in(self._file, []))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        self._unchanged()
        with self._file.open("rb") as lines:
            lines.seek(self._starts[place])
            return case_of(self._row(lines.readline(), first=self._starts[place] == 0))

    def _row(self, raw: bytes, *, first: bool) -> Row:
        problems: list[Problem] = []
        row = row_in(self._file, 1 if first else 2, raw, problems)
        if row is None:
            raise ConfigError(problems)
        return row

    def _unchanged(self) -> None:
        if _state(self._file) != self._state:
            raise UsageError(f"{self._file} has changed since it was looked at")

    def _doubles(self, ids: Sequence[int], lines: Sequence[int]) -> Iterator[Problem]:
        """Ids that are there twice, found part by part, so that little is in memory at once."""
        for part in range(_PARTS):
            some = sorted(
                (id_, line) for id_, line in zip(ids, lines, strict=True) if id_ % _PARTS == part
            )
            for (id_, line), (other, again) in pairwise(some):
                if id_ == other:
                    what = f"has the same id as line {line}"
                    yield Problem(str(self._file), again, 0, what)


def _short(id_: str) -> int:
    """64 bits for an id: of a million, two share them by chance once in forty million files."""
    return int.from_bytes(blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _state(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns
