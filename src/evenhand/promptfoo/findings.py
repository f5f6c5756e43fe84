"""What is wrong with a user's files, and what is worth a hint: gathered while reading, so that all is said at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evenhand.core.errors import Problem


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a file. Lines and columns count from 1; 0 is unknown."""

    file: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        text = shown_path(self.file)
        if self.line:
            text += f":{self.line}" + (f":{self.column}" if self.column else "")
        return text


class Findings:
    """The problems and hints found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.hints: list[Problem] = []

    def problem(self, place: Place, what: str, hint: str = "") -> None:
        """Notes something that keeps the plan from being made."""
        self.problems.append(_problem(place, what, hint))

    def hint(self, place: Place, what: str, hint: str = "") -> None:
        """Notes something that is tolerated, and worth a look; once for each file and wording."""
        found = _problem(place, what, hint)
        if not any(h.file == found.file and h.what == what for h in self.hints):
            self.hints.append(found)


def shown_path(path: Path) -> str:
    """A path as people would write it from where they stand."""
    return _shown_from(os.getcwd(), str(path))


@lru_cache(maxsize=256)
def _shown_from(folder: str, path: str) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("../..") else relative


def nearest(word: str, words: Iterable[str]) -> str:
    """The word that was probably meant; empty for none."""
    found = difflib.get_close_matches(str(word), sorted(words), n=1, cutoff=0.7)
    return found[0] if found else ""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A hint with the word that was probably meant; empty for none."""
    near = nearest(word, words)
    return f"Did you mean '{near}'?" if near else ""


def _problem(place: Place, what: str, hint: str) -> Problem:
    return Problem(shown_path(place.file), place.line, place.column, what, hint)
