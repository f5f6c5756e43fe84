"""The marks and colours of the terminal report."""

from __future__ import annotations

from evenhand.core.record import Record

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
