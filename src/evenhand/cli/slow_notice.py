"""A word to whoever waits for files to be read: what takes so long, and that it can be stopped."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from evenhand.cli.streams import tell

FIRST_S = 8.0
AGAIN_S = 15.0


@contextlib.contextmanager
def patience(what: str) -> Iterator[None]:
    """Inside, something that may take long: after some seconds, and again and again, it is said where it is."""
    over = threading.Event()
    reader = threading.get_ident()
    started = time.monotonic()

    def watch() -> None:
        pause = FIRST_S
        while not over.wait(pause):
            seconds = time.monotonic() - started
            tell(f"still reading {what}{_where(reader)} after {seconds:.0f} s; Ctrl-C stops it")
            pause = AGAIN_S

    # A thread, as the reading is user code that may never give way; a daemon, so that it never holds the process.
    thread = threading.Thread(target=watch, name="evenhand-patience", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _where(thread: int) -> str:
    """The line of the user's own code that a thread is at; empty where it is in none."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    here = f"{Path.cwd()}{os.sep}"
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(here) and "site-packages" not in file:
            return f", in {file.removeprefix(here)}:{frame.f_lineno},"
        frame = frame.f_back
    return ""
