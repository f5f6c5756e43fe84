"""How far a run is, while it runs: one line that rewrites itself on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TextIO

from evenhand.core.run import ProgressSnapshot
from evenhand.report.words import clip, money, safe, seconds

LOG_EVERY_S = 10.0
BAR = 24


class Progress:
    """Prints progress. Trouble with the stream it prints to is never the run's trouble.

    Args:
        out: Where to, as a rule stderr.
        live: Whether it is a terminal.
    """

    def __init__(self, out: TextIO, live: bool) -> None:  # noqa: FBT001 (what it is called with says it)
        self._out = out
        self._live = live and os.environ.get("TERM") != "dumb"
        self._drawn = False
        self._logged_at = time.monotonic()
        self._last: ProgressSnapshot | None = None

    def start(self, title: str) -> None:
        """Says what is about to run."""
        self._print(safe(title) + "\n")

    def update(self, now: ProgressSnapshot) -> None:
        """Shows how far it is."""
        self._last = now
        if self._live:
            self._print("\r\x1b[2K" + clip(line(now), _width() - 1))
            self._drawn = True
        elif time.monotonic() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = time.monotonic()
            self._print(line(now, bar=False) + "\n")

    def note(self, text: str) -> None:
        """Says something that should be known at once."""
        if self._drawn:
            self._print("\r\x1b[2K")
            self._drawn = False
        self._print(f"evenhand: {safe(text)}\n")

    def stop(self) -> None:
        """Leaves the last line standing."""
        if self._drawn:
            self._print("\n\n")
            self._drawn = False

    def _print(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._out.write(text)
            self._out.flush()


def line(now: ProgressSnapshot, *, bar: bool = True) -> str:
    """How far a run is, in a line."""
    share = now.settled / now.planned if now.planned else 1.0
    parts = [f"{now.settled}/{now.planned}"]
    if now.failed or now.passed:
        parts.append(f"{now.passed} passed")
    if now.failed:
        parts.append(f"{now.failed} failed")
    if now.errors:
        parts.append(f"{now.errors} errors")
    if now.cost_usd:
        parts.append(money(now.cost_usd))
    parts.append(seconds(now.seconds) if now.settled >= now.planned else f"{seconds(_left(now))} left")
    if now.waiting:
        parts.append(safe(now.waiting))
    text = " · ".join(parts)
    if not bar:
        return text
    full = round(share * BAR)
    return "━" * full + "╌" * (BAR - full) + " " + text


def _left(now: ProgressSnapshot) -> float | None:
    """Seconds that are probably left; None before anything is settled."""
    return now.seconds / now.settled * (now.planned - now.settled) if now.settled else None


def _width() -> int:
    try:
        return max(40, os.get_terminal_size(2).columns)
    except OSError:
        return 80
