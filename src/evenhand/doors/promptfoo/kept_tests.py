"""Keeps the tests that were read, where they are few: reading them again takes time from the calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.doors.promptfoo.sources import Scenario
from evenhand.doors.promptfoo.tests import Test, TestSource

MOST = 20_000
"""Tests that are kept. Of more than these none is, and each walk reads them."""
MOST_TEXT = 16_000_000
"""The same for the characters of what is written in them."""
_OTHER = 32
"""What a value that is no text counts for."""


class KeptTests:
    """The tests of a config, as long as they are few and short, and nobody writes to their files.

    Args:
        sources: Where they come from, before any of them is read.
    """

    def __init__(self, sources: Sequence[TestSource]) -> None:
        self._files = [source.path for source in sources if source.path is not None]
        self._stamps = list(map(_stamp, self._files))
        # A scenario has files in it that cannot be watched here.
        nested = any(isinstance(source, Scenario) for source in sources)
        self._tests: list[Test] | None = None if nested else []
        self._text = 0

    def add(self, test: Test) -> None:
        """One more."""
        if self._tests is None:
            return
        self._text += _length(test.raw)
        if self._text > MOST_TEXT or len(self._tests) >= MOST:
            self._tests = None
        else:
            self._tests.append(test)

    def tests(self) -> Sequence[Test] | None:
        """All that were added; None where they have to be read again."""
        if self._tests is not None and list(map(_stamp, self._files)) != self._stamps:
            self._tests = None
        return self._tests


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _length(value: object) -> int:
    """Characters of text in it, and something for each of the other values."""
    if isinstance(value, str):
        return len(value)
    if is_mapping(value):
        return sum(map(_length, value.values()))
    if is_array(value):
        return sum(map(_length, value))
    return _OTHER
