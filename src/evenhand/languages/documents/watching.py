"""Files that are looked at again and again: what changed between two looks, by size and time of change.

How this works: looking works on every file system, in containers and over networks, and needs no library. A folder of
some thousand files takes milliseconds.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MOST = 50_000
"""Files that are looked at; what is beyond them is not."""
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site", "build", "dist", "venv"})

Looked = Mapping[str, tuple[int, int, int]]
"""Size, time of change in nanoseconds and number of each file, by its absolute path."""


def look(roots: Iterable[Path]) -> Looked:
    """The files in these folders, and these files. Hidden ones, environments and build output are passed over."""
    files: dict[str, tuple[int, int, int]] = {}
    for root in dict.fromkeys(roots):
        for entry in _files(str(root)):
            with contextlib.suppress(OSError):  # it is gone in this very moment
                about = os.stat(entry)  # noqa: PTH116 (thousands of them, many times a minute)
                files[entry] = (about.st_size, about.st_mtime_ns, about.st_ino)
            if len(files) >= MOST:
                return files
    return files


def changed(before: Looked, now: Looked) -> list[str]:
    """The files that are new, gone or other than they were, sorted."""
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):  # noqa: PTH112 (as above)
        yield path
        return
    folders = [path]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.endswith(("~", ".pyc", ".swp", ".tmp")):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path
                elif entry.name not in _PASSED_OVER:
                    folders.append(entry.path)
