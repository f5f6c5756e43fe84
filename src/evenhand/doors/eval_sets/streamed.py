"""The cases of a file that stay in it: as many as there are, in the same memory.

How this works: the file is read once, to look at every row and to note its place, 16 bytes for each case. From then on
a case is read when it is asked for. The file must not change meanwhile: that is looked at before each reading.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.doors.eval_sets.rowcase import case_of
from evenhand.doors.eval_sets.rows import problems_error, readable, source_in, unreadable

_PARTS = 8
SAME_ID = "Give each row an id of its own, or remove the double."
_ENOUGH = 100
"""So many problems are kept; a file of a million rows may have a million."""


class CasesInFile(Sequence[Case]):
    """The cases of a JSONL, CSV, TSV or Parquet file, read as they are asked for.

    Raises:
        ConfigError: What is wrong with the file, row by row.
        UsageError: Its format is read whole; or, later on, it has changed since it was looked at.
    """

    def __init__(self, file: Path) -> None:
        problems: list[Problem] = []
        if not readable(file, problems):
            raise problems_error(problems)
        source = source_in(file)
        if source is None:
            raise UsageError(
                f"{file}: {file.suffix} is read whole, and cannot be streamed",
                hint=f"Make it lines: evenhand data convert {file} {file.with_suffix('.jsonl')}",
            )
        self._source = source
        self._places = array("Q")
        ids, lines = array("Q"), array("Q")
        with unreadable(file, problems):
            for line, place, row in source.rows(problems):
                try:
                    case = case_of(row)
                except UsageError as error:
                    problems.append(Problem(str(file), line, 0, error.message, error.hint))
                else:
                    self._places.append(place)
                    # 64 bits of each: two of a million share them by chance once in forty million files.
                    id_ = blake2b(case.id.encode("utf-8", "surrogatepass"), digest_size=8)
                    ids.append(int.from_bytes(id_.digest()))
                    lines.append(line)
                if len(problems) >= _ENOUGH:
                    raise problems_error(problems)
        self._state = _state(file)
        problems += self._doubles(ids, lines)
        if not self._places and not problems:
            problems.append(Problem(str(file), 0, 0, "holds no cases"))
        if problems:
            raise problems_error(problems)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Case]:
        self._unchanged()
        return self._cases()

    def _cases(self) -> Iterator[Case]:
        problems: list[Problem] = []
        number = 0
        for _, _, row in self._source.rows(problems):
            number += 1
            yield case_of(row)
        # Rows in which something is wrong by now are left out above.
        if problems or number != len(self):
            raise self._changed()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        self._unchanged()
        problems: list[Problem] = []
        row = self._source.row(self._places[place], problems)
        if row is None:
            raise ConfigError(problems) if problems else self._changed()
        return case_of(row)

    def _unchanged(self) -> None:
        if _state(self._source.file) != self._state:
            raise self._changed()

    def _changed(self) -> UsageError:
        return UsageError(f"{self._source.file} has changed since it was looked at")

    def _doubles(self, ids: Sequence[int], lines: Sequence[int]) -> Iterator[Problem]:
        """Ids that are there twice, found part by part, so that little is in memory at once."""
        for part in range(_PARTS):
            some = sorted(
                (id_, line) for id_, line in zip(ids, lines, strict=True) if id_ % _PARTS == part
            )
            for (id_, line), (other, again) in pairwise(some):
                if id_ == other:
                    what = f"has the same id as line {line}"
                    yield Problem(str(self._source.file), again, 0, what, SAME_ID)


def _state(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns
