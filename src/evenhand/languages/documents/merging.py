"""Lines that a merge leaves in a file until its conflicts are resolved."""

from __future__ import annotations

from collections.abc import Sequence

MARKS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
"""What lines begin with that are git's own; between two of them stands `=======`."""
BETWEEN = "======="
MARKED = "this line is a mark of an unresolved merge conflict"
UNRESOLVED = "an unresolved merge conflict begins here"
RESOLVE = (
    "Keep one side or both, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>."
)


def conflict_in(text: str) -> int | None:
    """The line, from 1, on which a conflict with all its marks begins; None where there is none."""
    if MARKS[0] not in text:
        return None
    begins: int | None = None
    divided = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(MARKS[0]):
            begins, divided = number, False
        elif begins is not None and line.rstrip("\r") == BETWEEN:
            divided = True
        elif begins is not None and divided and line.startswith(MARKS[2]):
            return begins
    return None


def is_mark(line: bytes) -> bool:
    """Whether a line of a file in which no line of data can begin so is a mark."""
    return line.startswith(tuple(mark.encode() for mark in MARKS)) or (
        line.rstrip() == BETWEEN.encode()
    )


def is_marked_row(cells: Sequence[str], width: int) -> bool:
    """Whether a row of a table is a mark. `=======` may be data where there is one column."""
    first = cells[0] if cells else ""
    if first.startswith(MARKS) and "\n" not in first:
        return True
    return width > 1 and list(cells) == [BETWEEN]
