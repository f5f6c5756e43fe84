"""What there is to print on: how wide it is, whether it takes colours, and the marks and colours of reports."""

from __future__ import annotations

import os
from typing import TextIO

from evenhand.core.record import Record

PLAIN_WIDTH = 100
"""Columns of a file or a pipe, unless COLUMNS says otherwise."""
NARROWEST = 40
UNBOUND = 1_000
"""For a text that nobody has to read in lines."""
_COLORS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}
MARKS = {
    "pass": ("✓", "green"),
    "fail": ("✗", "red"),
    "error": ("!", "yellow"),
    "not_applicable": ("–", "dim"),
    "mixed": ("±", "yellow"),
    "missing": (" ", ""),
}


class Ink(Record, frozen=True):
    """Colours, where the reader wants any."""

    on: bool

    def __call__(self, text: str, color: str) -> str:
        return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if self.on and text and color else text

    def mark(self, state: str) -> str:
        """The mark of an outcome, in its colour."""
        text, color = MARKS[state]
        return self(text, color)


def width_of(out: TextIO) -> int:
    """How many columns a stream has: what COLUMNS says, or else its terminal."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else 0
    if not width and out.isatty():
        try:
            width = os.get_terminal_size(out.fileno()).columns
        except (OSError, ValueError):  # some streams call themselves terminals, and have no size
            width = 0
    return max(NARROWEST, width or PLAIN_WIDTH)


def takes_colors(out: TextIO) -> bool:
    """Whether escapes for colours may be used."""
    return out.isatty() and not is_plain()


def is_plain() -> bool:
    """Whether the environment asks for text without colours."""
    return bool(os.environ.get("NO_COLOR")) or is_dumb()


def is_dumb() -> bool:
    """Whether the terminal knows no escapes, so that a line cannot be rewritten."""
    return os.environ.get("TERM") == "dumb"
