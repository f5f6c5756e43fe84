"""Room on the disk for what is in flight: set aside before a call is sent, given up when the disk is full.

How this works: a nameless file holds the room. It vanishes with the process, however that ends. What is in flight when
the disk fills up is written into the room that the file gives back. How much that takes is reckoned from the replies
that have come so far: each call in flight will have one, and each trial a result, each in a transaction of its own.

A limit on the size of files (`ulimit -f`) is held to in the same way: what is in flight has to fit under it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import tempfile
from pathlib import Path
from typing import IO

CALL_PAGES, REPLY_PAGES, RESULT_PAGES = 12_000, 16_000, 28_000
"""Bytes of the write-ahead log that a row of each kind takes at most beside its texts: pages of tables and indexes."""
COPIES = 2
"""How often an answer is written: with a reply, to the cache too; with a result, as what was made of it, too."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_WAY = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})
_STRIDE = 1 << 16


class Room:
    """Holds room in a folder for so many replies.

    Args:
        folder: On the disk that has to have the room.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._held = 0
        self._replies = 0
        self._bytes = 0
        self._largest = 0
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._limit = None if limit == resource.RLIM_INFINITY else limit

    def learn(self, size: int) -> None:
        """A reply of so many bytes was written: others may be as long."""
        self._replies += 1
        self._bytes += size
        self._largest = max(self._largest, size)

    def needed(self, new: int, in_flight: int, trials: int) -> int:
        """The bytes that are still to be written.

        Args:
            new: Calls that are about to be begun.
            in_flight: Calls without a reply, these among them.
            trials: Those that have begun calls and no result yet.
        """
        text = COPIES * (self._bytes // self._replies) if self._replies else 0
        replies, results = in_flight * (REPLY_PAGES + text), trials * (RESULT_PAGES + text)
        return new * CALL_PAGES + replies + results + 2 * COPIES * self._largest

    def hold(self, size: int, *, beside: int = 0) -> None:
        """Sets aside so many bytes at least.

        Args:
            beside: The length of the file that is to grow by them.

        Raises:
            OSError: The disk has no such room, or the file may not grow so long.
        """
        if self._limit is not None:
            if beside + size > self._limit:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return
        if size <= self._held:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 (held until it is given up)
            # Rounded up, so that most calls find the room that they need already held.
            size += -size % _STRIDE
            _allocate(self._file, self._held, size)
            self._held = size
        except OSError as error:
            # Any other error only means that no room can be set aside here, and the run goes on without.
            if error.errno in _NO_ROOM:
                raise

    def give_up(self) -> None:
        """Gives the room back, for what is to be written now."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                # At once, even where a child of this process holds the file, too.
                self._file.truncate(0)
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        self._held = 0


def _allocate(file: IO[bytes], start: int, end: int) -> None:
    """Makes the file take the blocks from `start` to `end` on the disk."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), start, end - start)
        except OSError as error:
            if error.errno not in _NO_WAY:
                raise
        else:
            return
    file.seek(start)  # macOS, and file systems that cannot: blocks that are written are there
    for place in range(start, end, _STRIDE):
        file.write(bytes(min(_STRIDE, end - place)))
