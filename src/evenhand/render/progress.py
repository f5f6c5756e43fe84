"""How far a run is, while it runs: one line that rewrites itself on a terminal, a line now and then in a log.

In a notebook it is one line below the cell that changes. Notebooks are found by what they have imported already.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Protocol, TextIO, cast

from evenhand.core.run import ProgressSnapshot
from evenhand.core.wording.ink import NARROWEST, is_dumb, is_plain, width_of
from evenhand.core.wording.words import (
    clip,
    columns,
    count,
    folded,
    money,
    put_quietly,
    safe,
    seconds,
)

LOG_EVERY_S = 10.0
LOG_EVERY_SHARE = 0.1
LOG_AT_MOST_EVERY_S = 1.0
DRAW_EVERY_S = 0.09  # a little less than the engine's tick, so that none is skipped for being early
BAR = 24
_CLEAR = "\r\x1b[2K"


class Progress:
    """Prints progress. Trouble with the stream it prints to is never the run's trouble.

    In a log a line comes every ten seconds, or when another tenth of the run is done, but never more than one a second.

    Args:
        out: Where to, as a rule stderr.
        live: Whether it is a terminal.
    """

    def __init__(self, out: TextIO, live: bool) -> None:
        self._out = out
        self._on_terminal = live
        self._live = live and not is_dumb()
        self._color = self._live and not is_plain()
        self._drawn_at = 0.0
        self._drawn = False
        self._logged_at = time.monotonic()
        self._logged_share = 0.0
        self._shown: ProgressSnapshot | None = None
        self._last: ProgressSnapshot | None = None

    def start(self, title: str) -> None:
        """Says what is about to run."""
        lines = self._folded(safe(title))
        put_quietly(self._out, "\n".join(lines) + "\n")

    def update(self, now: ProgressSnapshot) -> None:
        """Shows how far it is, unless it was shown a moment ago."""
        self._last = now
        clock = time.monotonic()
        if self._live:
            if clock - self._drawn_at >= DRAW_EVERY_S:
                self._drawn_at = clock
                self._draw(now)
            return
        since = clock - self._logged_at
        share = _share(now)
        if since >= LOG_EVERY_S or (
            # As floats, 0.3 − 0.2 is slightly less than 0.1.
            since >= LOG_AT_MOST_EVERY_S and share - self._logged_share >= LOG_EVERY_SHARE - 1e-9
        ):
            self._log(now, clock)

    def note(self, text: str) -> None:
        """Says something that should be known at once, above the line that rewrites itself."""
        lines = self._folded(f"evenhand: {safe(text)}")
        put_quietly(self._out, (_CLEAR if self._drawn else "") + "\n".join(lines) + "\n")
        if self._drawn and self._last is not None:
            self._draw(self._last)

    def make_way(self) -> None:
        """Takes the line away, for something that is about to be printed; the next update brings it back."""
        if self._drawn:
            put_quietly(self._out, _CLEAR)
            self._drawn = False

    def stop(self) -> None:
        """Leaves the last state standing."""
        last, self._last = self._last, None
        if self._live:
            if last is not None:
                self._draw(last)
            if self._drawn:
                put_quietly(self._out, "\n\n")
            self._drawn = False
        elif last is not None and last != self._shown and self._shown is not None:
            self._log(last, time.monotonic())

    def _draw(self, now: ProgressSnapshot) -> None:
        self._drawn = True
        self._shown = now
        # Some terminals begin a new line as soon as the last column is filled.
        room = self._width() - 1
        text = line(now)
        bar = columns(text) <= room
        text = text if bar else clip(line(now, bar=False), room)
        if bar and self._color:
            full = round(_share(now) * BAR)
            done, left = text[:full], text[full:BAR]
            text = _colored(done, "31" if now.failed else "32") + _colored(left, "2") + text[BAR:]
        put_quietly(self._out, _CLEAR + text)

    def _log(self, now: ProgressSnapshot, clock: float) -> None:
        self._logged_at, self._logged_share, self._shown = clock, _share(now), now
        put_quietly(self._out, "\n".join(self._folded(line(now, bar=False))) + "\n")

    def _folded(self, text: str) -> list[str]:
        """The text in lines that a terminal holds; in a log, where somebody looks for it, in one piece."""
        return folded(text, self._width(), "", "  ", whole=True) if self._on_terminal else [text]

    def _width(self) -> int:
        try:
            there = os.get_terminal_size(self._out.fileno()).columns
        except (OSError, ValueError):
            there = 0
        try:
            return max(NARROWEST, min(width_of(self._out), there or 80))
        except ValueError:  # it was closed
            return 80


def line(now: ProgressSnapshot, *, bar: bool = True) -> str:
    """How far a run is, in a line."""
    parts = [f"{now.settled:,}/{now.planned:,}"]
    if now.failed or now.passed:
        parts.append(f"{now.passed:,} passed")
    if now.failed:
        parts.append(f"{now.failed:,} failed")
    if now.errors:
        parts.append(count(now.errors, "error"))
    if now.cost_usd:
        parts.append(money(now.cost_usd))
    if now.settled >= now.planned:
        parts.append(seconds(now.seconds))
    else:
        if now.settled and now.seconds >= 1:
            parts.append(_pace(now.settled / now.seconds))
        left = _left(now)
        parts.append("starting" if left is None else f"{seconds(left)} left")
    if now.waiting:
        parts.append(safe(now.waiting))
    text = " · ".join(parts)
    if not bar:
        return text
    full = round(_share(now) * BAR)
    return "━" * full + "╌" * (BAR - full) + " " + text


def _pace(rate: float) -> str:
    """Trials a second; a minute or an hour where that would be none.

    >>> _pace(1234), _pace(2.04), _pace(0.04), _pace(0.0005)
    ('1,234/s', '2.0/s', '2.4/min', '1.8/h')
    """
    if rate >= 10:
        return f"{rate:,.0f}/s"
    for seconds_, unit in ((1, "s"), (60, "min")):
        if rate * seconds_ >= 0.1:
            return f"{rate * seconds_:.1f}/{unit}"
    return f"{rate * 3600:.1f}/h"


def _colored(text: str, color: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if text else ""


def _share(now: ProgressSnapshot) -> float:
    return min(1.0, now.settled / now.planned) if now.planned else 1.0


def _left(now: ProgressSnapshot) -> float | None:
    """Seconds that are probably left; None before anything is settled."""
    return now.seconds / now.settled * (now.planned - now.settled) if now.settled else None


DRAW_IN_NOTEBOOK_EVERY_S = 0.25


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
        if clock - self._drawn_at >= DRAW_IN_NOTEBOOK_EVERY_S:
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
