"""What is wrong with a user's files, and what is worth a hint: gathered while reading, so that all is said at once."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from evenhand.core.errors import ConfigError, Problem

SHOWN = 50
"""Problems that an error lists; of the others it says how many there are."""
KEPT = 5_000


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a file. Lines and columns count from 1; 0 is unknown."""

    file: Path
    line: int = 0
    column: int = 0
    later: Callable[[], Place] | None = field(default=None, compare=False, repr=False)
    """Finds line and column where that costs something, and most places are never asked for."""

    def found(self) -> Place:
        """The same spot with its line and column looked up."""
        return self.later() if self.later else self

    def __str__(self) -> str:
        here = self.found()
        text = shown_path(here.file)
        if here.line:
            text += f":{here.line}" + (f":{here.column}" if here.column else "")
        return text


At = Callable[..., Place]
"""Where the parts of something are written: a function from the path of a part to its place."""


class Findings:
    """The problems and hints found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.broken_parts: list[Problem] = []
        self.hints: list[Problem] = []
        self._beyond = 0
        self._hinted: set[tuple[str, str]] = set()

    def problem(self, place: Place, what: str, hint: str = "") -> None:
        """Notes something that keeps the plan from being made."""
        if len(self.problems) < KEPT:
            self.problems.append(_problem(place, what, hint))
        else:
            self._beyond += 1

    def broken(self, place: Place, what: str, hint: str = "") -> None:
        """Notes an assertion that cannot be settled: an error in each test that has it. All else can be run."""
        if len(self.broken_parts) < KEPT:
            self.broken_parts.append(_problem(place, what, hint))

    def hint(self, place: Place, what: str, hint: str = "") -> None:
        """Notes something that is tolerated, and worth a look; once for each file and wording."""
        found = _problem(place, what, hint)
        if (found.file, what) not in self._hinted:
            self._hinted.add((found.file, what))
            self.hints.append(found)

    def error(self) -> ConfigError:
        """The problems as an error: the first fifty in the order of the files, and how many more there are."""
        found = self.problems + self.broken_parts
        shown = sorted(found)[:SHOWN]
        more = len(found) - len(shown) + self._beyond
        return ConfigError(shown, self.hints, more)


def shown_path(path: Path) -> str:
    """A path as people would write it from where they stand."""
    return _shown_from(os.getcwd(), str(path))  # noqa: PTH109 (Path.cwd() takes four times as long)


@lru_cache(maxsize=256)
def _shown_from(folder: str, path: str) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("../..") else relative


def matching(pattern: Path) -> list[Path]:
    """The files and folders that a pattern stands for, by name; the one itself where it is there."""
    if pattern.is_file():
        return [pattern]
    found = glob.glob(str(pattern), recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
    if "**" not in str(pattern):
        return [Path(path) for path in sorted(found)]
    once: dict[str, str] = {}  # links to folders may lead round in circles
    for path in sorted(found, key=lambda path: (len(path), path)):
        once.setdefault(os.path.realpath(path), path)
    return [Path(path) for path in sorted(once.values())]


def nearest(word: str, words: Iterable[str]) -> str:
    """The word that was probably meant; empty for none."""
    found = difflib.get_close_matches(str(word), sorted(words), n=1, cutoff=0.7)
    return found[0] if found else ""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A hint with the word that was probably meant; empty for none."""
    near = nearest(word, words)
    return f"Did you mean '{near}'?" if near else ""


def _problem(place: Place, what: str, hint: str) -> Problem:
    here = place.found()
    return Problem(shown_path(here.file), here.line, here.column, what, hint)
