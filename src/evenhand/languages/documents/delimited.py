"""Tables in CSV and TSV: the one reader of them, which refuses quotes that CSV has no rule for, and says where.

Python's own reader takes a quote that is never closed for a cell with the rest of the file in it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

MOST = (1 << 31) - 1
"""Characters of a cell: an output may be as long as a document."""

_QUOTED = re.compile(r'"(?>(?:[^"]+|"")*)"')
_UNNAMED = re.compile(r"Unnamed: \d+(_level_\d+)?|__index_level_\d+__")
"""What pandas and pyarrow call columns that have no name."""


class NotDelimited(Exception):
    """A table cannot be read.

    Attributes:
        line: The line on which what is wrong begins, from 1.
    """

    def __init__(self, line: int, what: str, hint: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.hint = hint


class Unclosed(NotDelimited):
    """A quote is opened, and nothing closes it: a cell would have the rest of the file in it."""


def records(lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The records of a table, the header first, each with the line that it begins on, read as they are asked for.

    Args:
        lines: With their ends. A line ends in CR, LF or both.

    Raises:
        NotDelimited: A quote is not closed, or something follows one that is.
    """
    pending: list[str] = []

    def kept() -> Iterator[str]:
        for line in lines:
            # csv.Error does not say which cell is wrong, so `_wrong` looks at the lines of the record.
            pending.append(line)
            yield line

    reader = csv.reader(kept(), delimiter=delimiter, strict=True)
    line = 1
    while True:
        # The limit holds for the whole process, so it is raised for one record at a time.
        before = csv.field_size_limit(MOST)
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _wrong("".join(pending), delimiter, line, str(error)) from None
        finally:
            csv.field_size_limit(before)
        if cells is None:
            return
        pending.clear()
        yield line, cells
        # Cells can hold line breaks, so counting records would not give the line.
        line = reader.line_num + 1


def delimiter_of(text: str, needed: Iterable[str]) -> str:
    r"""What separates the columns: a comma, or what the header shows that a spreadsheet wrote in its place.

    >>> delimiter_of("item;metric;verdict\n", ["item", "verdict"])
    ';'

    Args:
        needed: Columns that the table has to have.
    """
    first = re.match(r"[^\r\n]*", text)
    line = first[0] if first else ""
    for delimiter in ",;\t":
        names = {column_name(name.strip().strip('"')) for name in line.split(delimiter)}
        if names.issuperset(needed):
            return delimiter
    return ","


def _wrong(text: str, delimiter: str, line: int, reason: str) -> NotDelimited:
    """What is wrong with a record that begins on this line: the first of its cells whose quotes follow no rule."""
    at = 0
    while at < len(text):
        if text[at] == '"':
            match = _QUOTED.match(text, at)
            begins = line + _breaks(text[:at])
            if match is None:
                return unclosed(begins)
            after = text[match.end() : match.end() + 1]
            if after and after not in (delimiter, "\r", "\n"):
                rest = re.split(r"[\r\n]", text[match.end() : match.end() + 20])[0]
                ends = line + _breaks(text[: match.end()])
                where = f" on line {ends}" if ends > begins else ""
                what = f"is not CSV: {rest!r} follows the quote that closes a cell{where}"
                hint = 'A quote inside a quoted cell is written twice: "7"" pipe".'
                return NotDelimited(begins, what, hint)
            at = match.end()
        following = text.find(delimiter, at)
        if following < 0:
            break
        at = following + 1
    return NotDelimited(line, f"is not CSV: {reason}", "Write it anew as CSV.")


def unclosed(line: int) -> Unclosed:
    """The error that a quote which is opened on this line is never closed."""
    hint = 'Close it. A quote inside a quoted cell is written twice: "".'
    return Unclosed(line, "is not CSV: a quote is not closed", hint)


def _breaks(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))


def column_name(name: str) -> str:
    """The name of a column without the blanks around it; empty for one that has none, or one that a library made up."""
    name = name.strip()
    return "" if _UNNAMED.fullmatch(name) else name


class Header:
    """The names of a table's columns. Those without a name hold nothing, or count the rows.

    Args:
        cells: The first record.
    """

    __slots__ = ("_named", "_unnamed", "width")

    def __init__(self, cells: Sequence[str]) -> None:
        names = [column_name(name) for name in cells]
        self.width = len(names)
        self._named = [(i, name) for i, name in enumerate(names) if name]
        self._unnamed = [i for i, name in enumerate(names) if not name]

    @property
    def names(self) -> list[str]:
        """The columns that have a name."""
        return [name for _, name in self._named]

    @property
    def twice(self) -> list[str]:
        """The names that several columns have, in alphabetical order."""
        names = self.names
        return sorted({name for name in names if names.count(name) > 1})

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether a record has a cell for each column that has a name, and nothing beyond the last column."""
        needed = self._named[-1][0] + 1 if self._named else 0
        return len(cells) >= needed and not any(cells[self.width :])

    def misfit(self, cells: Sequence[str]) -> tuple[str, str]:
        """What is wrong with a record that does not fit, and what to do."""
        what = f"the row has {len(cells)} cells, the header has {self.width}"
        return what, "A cell with commas has to stand in double quotes."

    def row(self, cells: Sequence[str]) -> dict[str, str]:
        """The cells of a record that fits, by the names of their columns."""
        return {name: cells[i] for i, name in self._named}

    def nameless(self, cells: Sequence[str]) -> tuple[str, str] | None:
        """A value of a record whose column has no name, and what to do; None for none. A counter is no value."""
        first = self._named[0][0] if self._named else 0
        for i in self._unnamed:
            cell = cells[i].strip() if i < len(cells) else ""
            # An unnamed column of numbers before all others is the index that pandas writes.
            if cell and not (i < first and cell.isdecimal()):
                what = f"column {i + 1} has no name, and holds {cell:.40}"
                return what, "Name it in the first line, or take it out."
        return None
