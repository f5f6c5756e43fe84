"""Writes a file in the place of an earlier one: whole or not at all, and never over something else.

How this works: a file is written beside its place, under a name of a few that the place has, and moved there when it is
done. Its writer holds a lock on it, which the kernel lets go when the writer dies: a file of such a name that nobody
holds is what a killed writer left, and whoever writes next to the same place removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError

LOOKED_AT = 8
"""So many writers to one place may have been killed at the same time, and all that they left is removed."""
OF_SQLITE = ("", "-journal", "-wal", "-shm")
"""The ends of the names of a run file, and of what SQLite has beside it."""


@contextlib.contextmanager
def beside(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new file beside a place, to be written and then moved or linked there. If it is not moved, it is removed.

    Args:
        mode: The permissions of the file, less the umask. Its owner may always write it.
    """
    file, number = _begun(path, mode | 0o600)
    try:
        yield file
    finally:
        if is_at(number, file):  # and not another writer's, once this one is in its place
            with contextlib.suppress(OSError):
                file.unlink()
        os.close(number)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A new file that takes the place of `path`, and its permissions, unless something is raised.

    What a link points to is replaced, not the link.
    """
    path = Path(os.path.realpath(path))
    try:
        earlier = path.stat().st_mode & 0o777
    except FileNotFoundError:
        earlier = None
    with beside(path, 0o666 if earlier is None else earlier) as file:
        yield file
        if earlier is not None:
            # The umask may have taken away what the earlier file allowed.
            file.chmod(earlier)
        file.replace(path)


@contextlib.contextmanager
def created(path: Path, mode: int = 0o666, name: str | None = None) -> Iterator[Path]:
    """A new file that is there when it is whole, unless something is raised. Nothing is written over.

    Args:
        mode: The permissions of the file, less the umask.
        name: What several such places have in common, so that a killed writer's file is removed by the next one.

    Raises:
        FileExistsError: Something is there already.
    """
    with beside(path if name is None else path.with_name(name), mode) as file:
        yield file
        try:
            os.link(file, path)
        except OSError as error:
            if isinstance(error, FileExistsError) or os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            file.replace(path)  # a file system without links


@contextlib.contextmanager
def created_folder(path: Path) -> Iterator[Path]:
    """A new folder that is there when it is whole, unless something is raised. A folder with files is left alone.

    Raises:
        OSError: It cannot be written, or something is there already.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with beside(path) as held:  # nobody else has a folder of this name while its file is held
        folder = held.with_name(f"{held.name}.new")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir()
            yield folder
            folder.rename(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def written_to(path: Path) -> contextlib.AbstractContextManager[Path]:
    """Where to write what takes the place of `path`, as `replaced` has it; a terminal or a pipe is written to."""
    is_stream = path.exists() and not path.is_file()
    return contextlib.nullcontext(path) if is_stream else replaced(path)


def write_committed(document: Mapping[str, Any], path: Path) -> None:
    """Writes a document as a file that is made to be committed: sorted and indented, so that a change shows in a diff.

    Raises:
        UsageError: The file cannot be written.
    """
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    try:
        with written_to(path) as file:
            file.write_text(text + "\n", "utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise UsageError(f"{path} cannot be written: {error}") from error


def replace_file(data: bytes, path: Path, is_one: Callable[[Path], bool], kind: str) -> None:
    """Writes a file, and the folders that it is in.

    Args:
        is_one: Whether a file that is there may be written over: it is of the same kind.
        kind: What such files are called, e.g. `baseline`.

    Raises:
        UsageError: It cannot be written, or the file that is there is something else.
    """
    try:
        if path.exists() and not is_one(path):
            raise UsageError(
                f"{path} is there, and is not a {kind}: it was not written over",
                hint="Give --to another name, or delete that file.",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def remove_run(path: Path) -> None:
    """Removes a run file, and what SQLite has beside it, as far as they are there and can be removed."""
    for tail in OF_SQLITE:
        with contextlib.suppress(OSError):
            Path(f"{path}{tail}").unlink()


def is_at(fd: int, path: Path) -> bool:
    """Whether an open file is the one that is there."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def _begun(path: Path, mode: int) -> tuple[Path, int]:
    """An empty file beside a place, and its number, which holds the lock. Removes what killed writers left there."""
    for count in itertools.count(1):
        number = _made(_name(path, count), mode)
        if number is not None:
            for other in range(count + 1, LOOKED_AT + 1):
                _is_free(_name(path, other))
            return _name(path, count), number
    raise AssertionError  # there is always one more name


def _name(path: Path, count: int) -> Path:
    return path.with_name(f".{path.name[:50]}.evenhand-{count}")  # of 255 bytes at most


def _made(file: Path, mode: int) -> int | None:
    """The number of a new file of this name; None where it is another writer's."""
    while True:
        try:
            number = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            if not _is_free(file):
                return None
            continue
        with contextlib.suppress(
            OSError
        ):  # a file system without locks: there, nobody removes anything
            fcntl.flock(number, fcntl.LOCK_EX)
        if is_at(number, file):
            return number
        os.close(number)  # before it had its lock, it was taken for a left-over


def _is_free(file: Path) -> bool:
    """Whether there is no file of this name any more. One that no living writer holds is removed."""
    try:
        # A link is not followed and a pipe does not block: neither is a writer's file.
        number = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(number, file):
            # The file itself goes last: while its name is there, others see that something is left to remove.
            for end in reversed(OF_SQLITE):
                file.with_name(file.name + end).unlink(missing_ok=True)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(number)
