"""What each thread is running, in a file that outlives a crash: the last words of a process that died."""

from __future__ import annotations

import contextlib
import mmap
from pathlib import Path

SLOT = 256
"""Bytes for each thread."""


class Breadcrumbs:
    """A file of fixed slots, one for each thread, mapped so that a write costs no system call and outlives a crash."""

    def __init__(self, path: Path, slots: int) -> None:
        self._path = path
        with path.open("wb") as file:
            file.truncate(slots * SLOT)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), slots * SLOT)

    def write(self, slot: int, text: str) -> None:
        data = text.encode("utf-8", "replace")[:SLOT].ljust(SLOT, b"\0")
        # Closed while an abandoned thread was still running; or a thread more than there are slots, as some wait.
        with contextlib.suppress(ValueError, IndexError):
            self._map[slot * SLOT : (slot + 1) * SLOT] = data

    def close(self) -> None:
        self._map.close()
        self._path.unlink(missing_ok=True)


def last_words(path: Path) -> list[str]:
    """What was running when the process that kept this file died; empty where it ended in order."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    slots = (data[i : i + SLOT].rstrip(b"\0") for i in range(0, len(data), SLOT))
    return [slot.decode("utf-8", "replace") for slot in slots if slot]
