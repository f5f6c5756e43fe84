"""The folder that a program is run in: fresh for each call, seeded from a template, read when it is done.

A program that is the agent of a conversation has the same folder at every turn. It is made at the first turn and
removed after the last. A turn whose answer was recorded earlier runs nothing, so what the program left then isn't
there. If a later turn has to run, the folder is made anew and the recorded files are put back. The program's own
session belongs to the old folder: it is told the whole conversation instead. The same happens after an attempt that
failed halfway.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import field

from evenhand.core.encoding import digest
from evenhand.core.errors import InfrastructureError
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Reply
from evenhand.core.record import MutableRecord
from evenhand.core.scratch import ScratchFolder

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
    with ScratchFolder("agent") as place:
        own = Path(os.path.realpath(place), "work")
        if template is None:
            own.mkdir()
        else:
            shutil.copytree(template, own, symlinks=True)
        yield own


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


_SHOWN = 3


class TurnFolder:
    """A program's folder and session through one conversation.

    Args:
        name: The program, for messages.
        template: What the folder is a copy of at first; None for an empty one.

    Attributes:
        session: The program's session that the next turn goes on with; empty where it begins a new one.
    """

    def __init__(self, name: str, template: Path | None) -> None:
        self._name = name
        self._template = template
        self._stack = ExitStack()
        self._own: Path | None = None
        self._left = Left()
        self._ran = False
        self.session = ""

    def begin(self) -> Path:
        """The folder as the last turn left it, for the next one.

        Raises:
            InfrastructureError: The last turn was recorded, and not all of what it left.
            OSError: The folder cannot be made.
        """
        own, self._own = self._own, None  # until this turn has answered, nobody knows what is in it
        if own is not None:
            return own
        self.session = ""
        self._stack.close()
        if self._left.omitted:
            names = ", ".join([*self._left.omitted][:_SHOWN])
            raise InfrastructureError(
                f"{self._name}: an earlier turn was recorded, but not all files that it left: {names}",
                hint="Run the conversation again, without the recorded answers.",
            )
        folder = self._stack.enter_context(fresh_folder(self._template))
        put_back(folder, self._left)
        return folder

    def ran(self, own: Path) -> None:
        """Notes that the program has answered in this folder."""
        self._own, self._ran = own, True

    def answered(self, reply: Reply) -> None:
        """Takes over what an answer left, whether the program ran for it now or earlier."""
        about = as_mapping(reply.metadata)
        if not self._ran or reply.origin != "provider":
            self._own = None
        self._ran = False
        self._left = Left(
            {name: str(text) for name, text in as_mapping(about.get("files")).items()},
            [str(name) for name in as_array(about.get("deleted"))],
            {name: str(why) for name, why in as_mapping(about.get("omitted")).items()},
        )
        self.session = str(about.get("session") or "") if self._own is not None else ""

    def close(self) -> None:
        """Removes the folder."""
        self._stack.close()


def put_back(folder: Path, left: Left) -> None:
    """Makes a copy of the template into what a program left of it. Names that lead out of the folder are refused.

    Raises:
        OSError: A file cannot be written or removed.
        InfrastructureError: A name leads out of the folder.
    """
    for name in left.deleted:
        _inside(folder, name).unlink(missing_ok=True)
    for name, text in left.files.items():
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))


def _inside(folder: Path, name: str) -> Path:
    """Where a file of this name is; the links on the way to it are followed, and it is not."""
    path = folder / name
    parent = Path(os.path.realpath(path.parent))
    if ".." in Path(name).parts or not parent.is_relative_to(folder):
        raise InfrastructureError(f"the recorded file {name!r:.200} is outside of its folder")
    return path
