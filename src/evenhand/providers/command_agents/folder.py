"""The folder that a program is run in: fresh for each call, seeded from a template, read when it is done."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import field

from evenhand.core.encoding import digest
from evenhand.core.record import MutableRecord

MOST_FILES = 200
LARGEST = 200_000
MOST_BYTES = 2_000_000
_NOT_LEFT = frozenset({".git", "node_modules", "venv", ".venv", "__pycache__", ".pytest_cache"})


class Left(MutableRecord):
    """What a program left in its folder.

    Attributes:
        files: The files that it made or changed, by their path: their text.
        deleted: The files of the template that are gone.
        omitted: Those that it made or changed and that are not in `files`: why, e.g. `binary, 1,024 bytes`.
    """

    files: dict[str, str] = field(default_factory=dict[str, str])
    deleted: list[str] = field(default_factory=list[str])
    omitted: dict[str, str] = field(default_factory=dict[str, str])


@contextmanager
def fresh_folder(template: Path | None) -> Iterator[Path]:
    """A folder of its own, a copy of the template, gone afterwards.

    Raises:
        OSError: It cannot be made.
    """
    place = Path(os.path.realpath(tempfile.mkdtemp(prefix="evenhand-agent-")))
    own = place / "work"
    try:
        if template is None:
            own.mkdir()
        else:
            shutil.copytree(template, own, symlinks=True)
        yield own
    finally:
        shutil.rmtree(place, ignore_errors=True)


def template_digest(template: Path) -> str:
    """A hash of what a template holds."""
    parts: list[bytes] = []
    for name, path in _files(template):
        parts += [name.encode("utf-8", "replace"), digest(_read(path, None) or b"").encode()]
    return digest(*parts)


def what_is_left(own: Path, template: Path | None) -> Left:
    """What a program left in its folder, compared with what it was given.

    Links are not followed. Of `.git`, virtual environments, `node_modules` and caches nothing is told.
    """
    left = Left()
    before = dict(_files(template)) if template is not None else {}
    now = dict(_files(own))
    left.deleted = sorted(name for name in before if name not in now)
    room = MOST_BYTES
    for name, path in now.items():
        try:
            size = path.lstat().st_size
        except OSError:
            continue
        earlier = before.get(name)
        if earlier is not None and _same(earlier, path, size):
            continue
        data = _read(path, LARGEST + 1) if size <= LARGEST else None
        text = _as_text(data) if data is not None else None
        if data is None or len(data) > LARGEST:
            left.omitted[name] = f"{size:,} bytes"
        elif text is None:
            left.omitted[name] = f"binary, {size:,} bytes"
        elif len(left.files) >= MOST_FILES or len(data) > room:
            left.omitted[name] = f"one too many, {size:,} bytes"
        else:
            left.files[name] = text
            room -= len(data)
        if len(left.omitted) >= MOST_FILES:
            break
    return left


def _same(earlier: Path, now: Path, size: int) -> bool:
    try:
        if earlier.lstat().st_size != size:
            return False
    except OSError:
        return False
    return _read(earlier, None) == _read(now, None)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The regular files in and below a folder, by their path in it, in its order."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _NOT_LEFT)
        for name in sorted(names):
            path = Path(place, name)
            try:
                regular = stat.S_ISREG(path.lstat().st_mode)
            except OSError:
                continue
            if regular:
                yield path.relative_to(folder).as_posix(), path


def _read(path: Path, most: int | None) -> bytes | None:
    """What a regular file holds; None where it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read() if most is None else file.read(most)


def _as_text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
