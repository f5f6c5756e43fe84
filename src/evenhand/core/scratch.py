"""Files and folders of a process in the folder for temporary files, and the removal of those that a kill left there.

Each is under a shared `flock` for as long as its process lives, and the kernel lets go of it after a kill. So one that
nobody holds is nobody's, and the next process that needs one removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "evenhand."
_YOUNG_S = 60
"""Younger ones are left alone: their process may be about to hold them."""


def scratch_file(kind: str) -> tuple[int, Path]:
    """A new empty file, open for reading and writing; `kind` is a part of its name. Who takes it removes it."""
    _sweep(tempfile.gettempdir())
    handle, path = tempfile.mkstemp(prefix=f"{_PREFIX}{kind}.")
    _hold(handle)
    return handle, Path(path)


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A folder that is removed when it is closed, or after a kill; `kind` is a part of its name."""

    def __init__(self, kind: str) -> None:
        _sweep(tempfile.gettempdir())
        super().__init__(prefix=f"{_PREFIX}{kind}.", ignore_cleanup_errors=True)
        handle = os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
        self._let_go = weakref.finalize(self, os.close, handle)
        _hold(handle)

    def cleanup(self) -> None:
        """Removes it."""
        super().cleanup()
        self._let_go()


def _hold(handle: int) -> None:
    with contextlib.suppress(OSError):  # on a file system without locks, nobody removes it either
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)


@functools.cache
def _sweep(folder: str) -> None:
    """Removes what killed processes of this user left, once in a process."""
    with contextlib.suppress(OSError):
        for path in list(_left(folder)):
            _remove(path)


def _left(folder: str) -> Iterator[str]:
    before = time.time() - _YOUNG_S
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX):
                continue
            with contextlib.suppress(OSError):  # another process was quicker
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid() and status.st_mtime < before:
                    yield entry.path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where a process holds it
            if Path(path).is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                Path(path).unlink()
        finally:
            os.close(handle)
