"""A repository of prompts: which there are below `prompts/`, and what of their folders is theirs to read.

A prompt is a folder `prompts/ID`. Nothing outside of the repository is read: ids are plain names, and a symbolic link
that leads out of a prompt's folder is a problem, not a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record

PROMPTS = "prompts"
META = "meta.yml"
TEMPLATE = "prompt.xml"
EVAL = "eval.yml"
GUARD = "guard.sh"
VERIFY = "verify.sh"
ALIASES = "aliases"
EXAMPLES = "examples"
INPUTS = "inputs.yml"
FILES = (META, TEMPLATE, EVAL, GUARD, VERIFY, ALIASES, EXAMPLES)

OLD_FOLDERS = frozenset({"draft", "tested", "ready"})
"""Of the layout in which a prompt's status was the folder that it lay in; `migrate` reads it."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Library(Record, frozen=True):
    """The repository around a folder `prompts`.

    Attributes:
        root: The folder that holds it, absolute.
    """

    root: Path

    @property
    def prompts(self) -> Path:
        """The folder with one folder for each prompt."""
        return self.root / PROMPTS

    def ids(self) -> list[str]:
        """The ids of all prompts, by name: each folder below `prompts` with a meta.yml or a prompt.xml."""
        try:
            with os.scandir(self.prompts) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if not entry.name.startswith((".", "_")) and _is_prompt(entry.path)
                )
        except OSError as error:
            raise UsageError(f"{self.prompts} cannot be read: {error.strerror}") from None

    def folder(self, id: str) -> Path:
        """The folder of a prompt.

        Raises:
            UsageError: There is no such prompt, or this is no id.
        """
        if not is_id(id):
            rule = (
                "An id is the name of a folder below prompts/: letters, digits, '.', '_' and '-'."
            )
            # `evenhand run` takes the path.
            named = Path(id).name
            meant = f"Did you mean {named!r}? " if named in self.ids() else ""
            raise UsageError(f"{id!r} is not the id of a prompt", hint=f"{meant}{rule}")
        folder = self.prompts / id
        if not (folder / META).is_file():
            hint = did_you_mean(id, self.ids(), "`evenhand prompt list` has them all.")
            raise UsageError(f"prompt not found: {PROMPTS}/{id}/{META}", hint=hint)
        return folder


def is_id(text: str) -> bool:
    """Whether this can be the name of a prompt's folder, and of nothing else."""
    return _ID.fullmatch(text) is not None and ".." not in text


def library_of(start: Path) -> Library:
    """The repository that this path is in: the nearest folder, it or above it, with a folder `prompts`.

    Folders above a Git repository are not looked at, unless that is the folder `prompts` itself.

    Raises:
        UsageError: There is none.
    """
    start = Path(os.path.abspath(start))
    for folder in (start, *start.parents):
        if _is_root(folder):
            return Library(folder)
        if (folder / ".git").exists() and not (folder.name == PROMPTS and _has_prompts(folder)):
            break
    raise UsageError(
        f"there is no folder {PROMPTS}/ in {start} or above it",
        hint="Go to a repository of prompts; `evenhand prompt new ID` starts one here.",
    )


def prompts_at(path: Path) -> tuple[Library, list[str]] | None:
    """The prompts that a path stands for: one folder, or all of a repository; None where it stands for none.

    Args:
        path: `prompts/ID`, a file in it, `prompts`, or the repository.
    """
    path = Path(os.path.abspath(path))
    folder = path.parent if path.is_file() else path
    if (folder / META).is_file() and folder.parent.name == PROMPTS:
        return Library(folder.parent.parent), [folder.name]
    if folder != path:
        return None
    library = Library(path.parent if path.name == PROMPTS and not _is_root(path) else path)
    if library.prompts.is_dir() and _has_prompts(library.prompts):
        return library, library.ids()
    return None


def leads_out(path: Path, folder: Path) -> bool:
    """Whether this path, with its links followed, is outside of the folder."""
    place, around = os.path.realpath(path), _real(folder)
    return place != around and not place.startswith(os.path.join(around, ""))  # noqa: PTH118 (its end counts)


@lru_cache(maxsize=64)
def _real(folder: Path) -> str:
    """Where a folder really is, asked once: thousands of files are held against the same one."""
    return os.path.realpath(folder)


def links_out(folder: Path) -> Iterator[Path]:
    """The entries of a prompt's folder, and of its examples, that are links to somewhere else."""
    for place in (folder, folder / EXAMPLES):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_symlink() and leads_out(Path(entry.path), folder):
                        yield Path(entry.path)
        except OSError:
            continue


def _is_root(folder: Path) -> bool:
    """Whether a folder has a folder `prompts` that is not itself the prompt of that name in another `prompts`."""
    inner = folder / PROMPTS
    return inner.is_dir() and (folder.name != PROMPTS or not _is_prompt(str(inner)))


def _has_prompts(folder: Path) -> bool:
    return any(folder.glob(f"*/{META}"))


def _is_prompt(folder: str) -> bool:
    there = os.path.exists  # of the module, as it is asked of every folder
    return there(f"{folder}{os.sep}{META}") or there(f"{folder}{os.sep}{TEMPLATE}")
