"""What is wrong with a user's files, and what is worth a hint: gathered while reading, so that all is said at once."""

from __future__ import annotations

import contextlib
import errno
import glob
import math
import os
import stat
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from pathlib import Path

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.names import did_you_mean
from evenhand.core.ranges import NUMBER, Range
from evenhand.core.record import Record

SHOWN = 50
"""Problems that an error lists; of the others it says how many there are."""
KEPT = 5_000


class Place(Record, frozen=True):
    """A spot in a file. Lines and columns count from 1; 0 is unknown."""

    file: Path
    line: int = 0
    column: int = 0
    later: Callable[[], Place] | None = None
    """Finds line and column where that costs something, and most places are never asked for."""

    def resolved(self) -> Place:
        """This spot with its line and column looked up."""
        return self.later() if self.later else self

    def __str__(self) -> str:
        here = self.resolved()
        text = shown_path(here.file)
        if here.line:
            text += f":{here.line}" + (f":{here.column}" if here.column else "")
        return text


At = Callable[..., Place]
"""Where the parts of something are written: a function from the path of a part to its place."""


class Findings:
    """The problems and hints found so far.

    Args:
        replacing: A byte that is not UTF-8 is read as the replacement character, with a hint, as promptfoo does;
            otherwise it is a problem.
    """

    def __init__(self, *, replacing: bool = False) -> None:
        self.replacing = replacing
        self.problems: list[Problem] = []
        self.broken_parts: list[Problem] = []
        self.hints: list[Problem] = []
        self._beyond = 0
        self._hinted: set[tuple[str, str]] = set()
        self._broken: set[str] = set()

    def problem(self, place: Place, what: str, hint: str = "", slug: str = "config") -> None:
        """Notes something that keeps the plan from being made."""
        if len(self.problems) < KEPT:
            self.problems.append(problem_at(place, what, hint, slug))
        else:
            self._beyond += 1

    def broken(self, place: Place, what: str, hint: str = "", slug: str = "config") -> Problem:
        """Notes what keeps a part of the plan from a verdict: its trials are errors, and all else can be run."""
        problem = problem_at(place, what, hint, slug)
        self.break_off(problem)
        return problem

    def number(
        self, value: object, place: Place, name: str, within: Range = NUMBER
    ) -> float | None:
        """A number that somebody wrote; None, and a problem, where it is something else, or in another range."""
        if value is None:
            return None
        result = math.nan  # in no range
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            with contextlib.suppress(ValueError, OverflowError):
                result = float(value)
        if result not in within:
            self.problem(place, within.problem(name, value))
            return None
        return result

    def break_off(self, *problems: Problem) -> None:
        """Notes such problems that are known already; each once."""
        for problem in problems:
            if len(self.broken_parts) < KEPT and str(problem) not in self._broken:
                self._broken.add(str(problem))
                self.broken_parts.append(problem)

    def apart(self) -> Apart:
        """Inside it, all that is noted as a problem is one of a part of the plan alone; see `broken`."""
        return Apart(self)

    def hint(self, place: Place, what: str, hint: str = "") -> None:
        """Notes something that is tolerated, and worth a look; once for each file and wording."""
        self.also(hints=[problem_at(place, what, hint)])

    def unknown(
        self,
        keys: Iterable[str],
        known: Collection[str],
        at: At | Place,
        of: str = " is not used",
        *,
        noun: str = "key",
        otherwise: str = "",
    ) -> None:
        """Hints at each key that is not known, with the one that was probably meant.

        Args:
            keys: As they are written.
            known: Those that there are.
            at: The place of a key, or of the table where its keys have no places.
            of: What is said after the key.
            otherwise: The hint where no known key is near.
        """
        for key in keys:
            if key not in known:
                place = at if isinstance(at, Place) else at(key)
                near = did_you_mean(key, known, otherwise)
                self.hint(place, f"unknown {noun} '{key}'{of}", near)

    def also(self, problems: Iterable[Problem] = (), hints: Iterable[Problem] = ()) -> None:
        """Notes what was found apart; each hint once."""
        self.problems += problems
        for hint in hints:
            if (hint.file, hint.what) not in self._hinted:
                self._hinted.add((hint.file, hint.what))
                self.hints.append(hint)

    def error(self) -> ConfigError:
        """The problems as an error: the first fifty in the order of the files, and how many more there are."""
        problems = self.problems + self.broken_parts
        listed = sorted(problems)[:SHOWN]
        more = len(problems) - len(listed) + self._beyond
        return ConfigError(listed, self.hints, more)


class Apart:
    """Gathers the problems of a part of the plan: those noted inside, without those that are known to be of a part.

    A generator would do, at three times the cost, and this is entered twice for each test.
    """

    __slots__ = ("_findings", "_outside")

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._outside = findings.problems

    def __enter__(self) -> list[Problem]:
        inside = self._findings.problems = list[Problem]()
        return inside

    def __exit__(self, *error: object) -> None:
        inside, self._findings.problems = self._findings.problems, self._outside
        self._findings.break_off(*inside)


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
    """The files and folders that a pattern stands for, in promptfoo's order; the one itself where it is there.

    That order is Node's: in each folder the last name first, what is in a folder before what is in those below it.
    """
    if pattern.is_file():
        return [pattern]
    paths = glob.glob(str(pattern), recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
    if "**" in str(pattern):
        once: dict[str, str] = {}  # links to folders may lead round in circles
        # Of several ways to one file, the shortest is kept.
        for path in sorted(paths, key=lambda path: (len(path), path)):
            once.setdefault(os.path.realpath(path), path)
        paths = list(once.values())
    return sorted(map(Path, paths), key=_from_last)


def _from_last(path: Path) -> list[tuple[bool, list[int]]]:
    """Sorts paths as `matching` says. The 1 at the end, above all bytes turned round, has `ab` before `a`."""
    names = path.parts
    return [
        (i < len(names) - 1, [*(-byte for byte in os.fsencode(name)), 1])
        for i, name in enumerate(names)
    ]


def problem_at(place: Place, what: str, hint: str = "", slug: str = "config") -> Problem:
    """A problem in this place."""
    here = place.resolved()
    return Problem(shown_path(here.file), here.line, here.column, what, hint, slug)


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
