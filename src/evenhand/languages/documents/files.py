"""Which paths can be read at all: regular files, and not folders, pipes, devices or links that lead back to themselves.

A pipe would be waited for, and could be read only once; a device may never end.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

LARGEST_BYTES = 2 << 30
"""Of a file that is read whole."""

_KINDS = (
    (stat.S_ISDIR, "is a folder, not a file"),
    (stat.S_ISFIFO, "is a pipe: it would have to be read more than once"),
    (stat.S_ISSOCK, "is a socket, not a file"),
    (stat.S_ISCHR, "is a device, not a file"),
    (stat.S_ISBLK, "is a device, not a file"),
)
_HINTS = {
    "is a folder, not a file": "Name a file in it.",
    "is a pipe: it would have to be read more than once": "Write what it says to a file, and name that.",
}


def unreadable(path: Path) -> tuple[str, str] | None:
    """Why a path cannot be read as a file, and what to do; None where it can, or is not there at all."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        return _lost(path, error)
    for is_kind, what in _KINDS:
        if is_kind(status.st_mode):
            return what, _HINTS.get(what, "")
    if status.st_size > LARGEST_BYTES:
        return f"has {status.st_size / 1e9:,.1f} GB, more than is read at once", ""
    return None


def _lost(path: Path, error: OSError | ValueError) -> tuple[str, str] | None:
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ELOOP:
        return "is a symbolic link that leads back to itself", "Make it lead to a file."
    if code == errno.ENAMETOOLONG:
        return "has a name that is too long for a file", ""
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"is a symbolic link to {path.readlink()}, which does not exist", ""
    if isinstance(error, (FileNotFoundError, NotADirectoryError, ValueError)):
        return None
    return f"cannot be read: {error.strerror}", ""
