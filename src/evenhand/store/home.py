"""The folder `.evenhand`, which keeps runs and the cache: how it is made, its locks, and which run files are its own.

It keeps itself out of version control. A lock is a file under `flock` that says who holds it: the kernel lets go when
the holder dies.

How a run file is recognised: a run's settings name paths, models and programs, and `resume` and its like run what they
name. So each home has a key, made with its first run, and a run's file carries an HMAC of its settings. A file that
somebody sent, or that was made in another home, has none that this key makes. The key lies beside the runs, not in
them: they can be sent to others, and the home can be moved as a whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError
from evenhand.core.run import RunMeta
from evenhand.core.secrets import known
from evenhand.store.replacing import beside, is_at

HOME = ".evenhand"
KEY = "key"
"""The name of the file with a home's key."""
_BYTES = 32
_IGNORE = "# Made by Evenhand: runs hold prompts and answers.\n*\n"


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it, for its owner alone. A `.evenhand` among them gets a .gitignore.

    One that was there already gets none: whoever deleted its .gitignore wants its runs committed.

    Raises:
        OSError: It cannot be made.
    """
    for home in reversed((folder, *folder.parents)):
        if home.name == HOME and not home.exists():
            _make_home(home)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _make_home(home: Path) -> None:
    """Makes a `.evenhand` that has its .gitignore from the start, whenever its maker is killed."""
    new = home.with_name(f"{HOME}.new")
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # No run depends on the .gitignore: where it can't be written, the folder is made without.
    with contextlib.suppress(OSError):
        new.mkdir(exist_ok=True, mode=0o700)
        (new / ".gitignore").write_text(_IGNORE, "utf-8")
        new.rename(home)  # refused where another process was faster: its folder is not empty
    if home.exists():
        with contextlib.suppress(OSError):
            (new / ".gitignore").unlink()
            new.rmdir()


def signed(meta: RunMeta, home: Path) -> RunMeta:
    """What a run says of itself, with the signature of the home that makes it; without one where it can keep no key."""
    key = _key(home) or _made(home)
    return replace(meta, signature="" if key is None else _signature(meta, key))


def is_signed(meta: RunMeta, homes: Iterable[Path]) -> bool:
    """Whether one of these homes made the run, and what it would run is as it was then."""
    keys = (key for home in homes if (key := _key(home)) is not None)
    return bool(meta.signature) and any(
        hmac.compare_digest(_signature(meta, key), meta.signature) for key in keys
    )


def _signature(meta: RunMeta, key: bytes) -> str:
    # As it is written: without the secrets that a command line may have had.
    text = known.without(encode([meta.id, meta.source, meta.settings]))
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _key(home: Path) -> bytes | None:
    with contextlib.suppress(OSError):
        key = (home / KEY).read_bytes()
        return key if len(key) == _BYTES else None
    return None


def _made(home: Path) -> bytes | None:
    """A new key, or that of a process that has just made one."""
    try:
        make_folder(home)
        with beside(home / KEY, 0o600) as file:
            file.write_bytes(secrets.token_bytes(_BYTES))
            os.link(file, home / KEY)  # fails where there is one, and never leaves half of one
    except FileExistsError:
        pass
    except OSError:
        return None
    return _key(home)


IMPORTING = ".importing"
"""The folder, beside the runs, with those that are being imported: on the same file system, and in no list."""


def lock_of(run: Path) -> Path:
    """The lock that whoever writes this run file holds."""
    folder = run.parent.parent if run.parent.name == IMPORTING else run.parent
    return folder.parent / "locks" / f"{run.stem}.lock"


def left_beside(lock: Path) -> list[Path]:
    """What a killed writer left beside its lock: what it was running then, in the words of the cases."""
    with contextlib.suppress(OSError):
        return [file for file in lock.parent.iterdir() if file.stem == lock.stem and file != lock]
    return []


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


def holder(path: Path) -> int | None:
    """The number of the process of this machine that holds a lock; None where none does, or where it isn't known."""
    if not held(path):
        return None
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(path.read_text("utf-8").split()[1])
    return None


@contextlib.contextmanager
def turn(fd: int) -> Iterator[None]:
    """Inside, this process alone has the lock of this open file; others wait."""
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
