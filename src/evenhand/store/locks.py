"""Locks between processes: a file under `flock` that says who holds it. The kernel lets go when the holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.store.home import make_folder
from evenhand.store.replacing import is_at

IMPORTING = ".importing"
"""The folder, beside the runs, with those that are being imported: on the same file system, and in no list."""


def lock_of(run: Path) -> Path:
    """The lock that whoever writes this run file holds."""
    folder = run.parent.parent if run.parent.name == IMPORTING else run.parent
    return folder.parent / "locks" / f"{run.stem}.lock"


class Lock:
    """A lock that is held until it is released or its process ends."""

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        make_folder(path.parent)
        self._fd = _locked(path, what)
        # Its holder let go, and took the file away, while it was being opened.
        while not is_at(self._fd, path):
            os.close(self._fd)
            self._fd = _locked(path, what)
        # A holder that was killed has left its name in the file.
        os.ftruncate(self._fd, 0)
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        os.pwrite(
            self._fd, f"process {os.getpid()} on {socket.gethostname()} since {stamp}".encode(), 0
        )

    def release(self) -> None:
        """Lets go."""
        with contextlib.suppress(OSError):
            # Before the lock is let go: afterwards, the file at this path may be the next holder's.
            self._path.unlink()
        with contextlib.suppress(OSError):
            os.close(self._fd)


def _locked(path: Path, what: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # A holder writes its name only once it has the lock: for a moment there may be none.
        holder = os.pread(fd, 200, 0).decode("utf-8", "replace").strip()
        os.close(fd)
        raise StoreError(
            f"{what} is in use by {holder or 'another process'}",
            hint="Wait for it to end, or stop it; what it has done so far can be seen with `evenhand show`.",
        ) from None
    return fd


def held(path: Path) -> bool:
    """Whether a living process holds this lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two who only look never take each other for a writer.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(fd)


@contextlib.contextmanager
def turn(fd: int) -> Iterator[None]:
    """Inside, this process alone has the lock of this open file; others wait."""
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
