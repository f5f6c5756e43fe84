"""How far a run is, in a notebook: one line below the cell that changes while it runs.

Notebooks are found by what they have imported already: nothing is imported here that would not be there anyway.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Protocol, cast

from evenhand.core.run import ProgressSnapshot
from evenhand.core.wording.words import safe
from evenhand.render.progress import line

DRAW_EVERY_S = 0.25


class _Shown(Protocol):
    """An output below a cell, which can be replaced."""

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        """Shows this instead."""
        ...


class _Display(Protocol):
    """IPython's `display`."""

    def __call__(self, data: dict[str, str], *, raw: bool, display_id: bool) -> _Shown | None:
        """Shows data by its MIME type, and returns what can replace it."""
        ...


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel; IPython in a terminal is none."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    shell = get() if callable(get) else None
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """Shows progress below a cell. Trouble with the notebook is never the run's trouble."""

    def __init__(self) -> None:
        self._title = ""
        self._shown: _Shown | None = None
        self._drawn_at = 0.0
        self._last: ProgressSnapshot | None = None

    def start(self, title: str) -> None:
        """Says what is about to run."""
        self._title = safe(title)
        with contextlib.suppress(Exception):
            display = cast("_Display", sys.modules["IPython.display"].display)
            self._shown = display(_text(self._title), raw=True, display_id=True)

    def update(self, now: ProgressSnapshot) -> None:
        """Shows how far it is, unless it was shown a moment ago."""
        self._last = now
        clock = time.monotonic()
        if clock - self._drawn_at >= DRAW_EVERY_S:
            self._drawn_at = clock
            self._draw(now)

    def stop(self) -> None:
        """Leaves the last state standing."""
        if self._last is not None:
            self._draw(self._last)

    def _draw(self, now: ProgressSnapshot) -> None:
        if self._shown is not None:
            with contextlib.suppress(Exception):
                self._shown.update(_text(f"{self._title}\n{line(now)}"), raw=True)


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}
