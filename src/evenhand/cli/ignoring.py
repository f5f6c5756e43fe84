"""Keeps runs out of version control: `.evenhand/` in the .gitignore of a folder that begins to have some."""

from __future__ import annotations

from pathlib import Path

from evenhand.store.catalogue import HOME

FILE = ".gitignore"
LINE = f"{HOME}/"
_ANYWHERE = frozenset({HOME, LINE, f"**/{HOME}", f"**/{LINE}"})
_HERE = frozenset({f"/{HOME}", f"/{LINE}"})


def ignore_runs(folder: Path) -> Path | None:
    """Adds the line to the folder's .gitignore, which is made where there is none, unless it is ignored already.

    Whatever else is in the file stays, byte by byte. A link, and what cannot be read or written, is left alone: nothing
    depends on it.

    Returns:
        The file, where it was written.
    """
    folder = folder.absolute()
    path = folder / FILE
    try:
        if path.is_symlink() or _is_ignored(folder):
            return None
        before = path.read_bytes() if path.exists() else b""
        # A file with the line ends of Windows gets one more of these.
        end = b"\r\n" if b"\r\n" in before else b"\n"
        # A last line without an end would be joined with the new one.
        gap = end if before and not before.endswith(b"\n") else b""
        with path.open("ab") as file:
            file.write(gap + LINE.encode() + end)
    except OSError:
        return None
    return path


def _is_ignored(folder: Path) -> bool:
    """Whether a .gitignore here, or above it in the same repository, decides about it already, either way."""
    for place in (folder, *folder.parents):
        path = place / FILE
        lines = path.read_bytes().decode("utf-8", "replace").splitlines() if path.is_file() else []
        for line in map(str.strip, lines):
            bare = line.removeprefix("!")
            if bare in _ANYWHERE or (place == folder and bare in _HERE):
                return True
        # What is above the repository says nothing in it.
        if (place / ".git").exists():
            break
    return False
