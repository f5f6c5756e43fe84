"""What to do about each kind of trouble that SQLite and the system have with a run file."""

from __future__ import annotations

import errno
import sqlite3

_SPACE = "Free some space"
_BY_SQLITE = {
    sqlite3.SQLITE_FULL: _SPACE,
    sqlite3.SQLITE_BUSY: "Close whatever else has it open: a program, or code of yours",
    sqlite3.SQLITE_LOCKED: "Close whatever else has it open: a program, or code of yours",
    sqlite3.SQLITE_READONLY: "Make the file and its folder writable",
    sqlite3.SQLITE_PERM: "Make the file and its folder writable",
    sqlite3.SQLITE_AUTH: "Make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "See that its folder is there, and can be written",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore it from a copy, or run it again; the cache has the replies",
    sqlite3.SQLITE_NOTADB: "The file is damaged: restore it from a copy, or run it again; the cache has the replies",
    sqlite3.SQLITE_IOERR: "Look at the disk, or name a folder on another one with EVENHAND_HOME",
    sqlite3.SQLITE_NOMEM: "Free some memory",
    sqlite3.SQLITE_TOOBIG: "A reply is larger than SQLite stores: ask for shorter ones",
}
_BY_SYSTEM = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EACCES: "Make the file and its folder writable",
    errno.EPERM: "Make the file and its folder writable",
    errno.EROFS: "Make the file and its folder writable",
    errno.EIO: "Look at the disk, or name a folder on another one with EVENHAND_HOME",
    errno.EMFILE: "Allow more open files with `ulimit -n 1024`",
    errno.ENFILE: "Allow more open files with `ulimit -n 1024`",
}


def remedy(error: BaseException) -> str:
    """What to do, as a sentence without its end; to free some space where nobody knows better."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        # An extended code has the basic one in its lowest byte.
        return _BY_SQLITE.get(code & 0xFF, _SPACE)
    return _BY_SYSTEM.get(getattr(error, "errno", None) or 0, _SPACE)
