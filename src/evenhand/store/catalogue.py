"""Where runs live, and which there are. The list is made anew from the files each time: there is nothing to fall out of
step with them."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import RunMeta
from evenhand.store.runfile import RunFile

SUFFIX = ".db"
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in the list. `meta` is None for a file that cannot be read; `problem` says why."""

    path: Path
    meta: RunMeta | None
    alive: bool = False
    problem: str = ""


def new_id() -> str:
    """A ULID: 48 bits of time in milliseconds, 80 random bits, in 26 characters that sort by time.

    Source: https://github.com/ulid/spec
    """
    number = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def home_for(source: Path | None) -> Path:
    """The folder that keeps runs: EVENHAND_HOME, or `.evenhand` beside the config, or in the current folder."""
    named = os.environ.get("EVENHAND_HOME")
    if named:
        return Path(named).expanduser().absolute()
    beside = Path.cwd() if source is None else source if source.is_dir() else source.parent
    return beside.absolute() / ".evenhand"


def cache_folder(home: Path) -> Path:
    """The folder that keeps the cache: EVENHAND_CACHE, or `cache` in the home."""
    named = os.environ.get("EVENHAND_CACHE")
    return Path(named).expanduser().absolute() if named else home / "cache"


def run_folder(home: Path) -> Path:
    """The folder with one file for each run."""
    return home / "runs"


def lock_path(run: Path) -> Path:
    """The lock that whoever writes this run holds."""
    return run.parent.parent / "locks" / f"{run.stem}.lock"


def paths(home: Path) -> list[Path]:
    """The run files, newest first."""
    folder = run_folder(home)
    return sorted(folder.glob(f"*{SUFFIX}"), reverse=True) if folder.is_dir() else []


def runs(home: Path) -> list[Listed]:
    """All runs, newest first; files that cannot be read are listed as such."""
    found: list[Listed] = []
    for path in paths(home):
        try:
            with RunFile.open(path) as run:
                found.append(Listed(path, run.meta, run.alive))
        except StoreError as error:
            found.append(Listed(path, None, problem=error.message))
    return found


def find(home: Path, ref: str | None) -> Path:
    """The run meant: an id, the start of one, a file, or the latest for None.

    Raises:
        UsageError: There is none, or more than one.
    """
    if ref and (ref.endswith(SUFFIX) or os.sep in ref):
        path = Path(ref)
        if path.is_file():
            return path.absolute()
        raise UsageError(f"{ref}: there is no such run file")
    known = paths(home)
    if not known:
        raise UsageError(
            f"there are no runs in {run_folder(home)}",
            hint="`evenhand run` makes one; EVENHAND_HOME says where to look for those kept elsewhere.",
        )
    if ref is None or ref == "latest":
        return known[0]
    matching = [path for path in known if path.stem.startswith(ref.upper())]
    if len(matching) == 1:
        return matching[0]
    newest = ", ".join(path.stem for path in (matching or known)[:5])
    if matching:
        raise UsageError(f"'{ref}' could be any of {len(matching)} runs", hint=f"Write more of one: {newest}")
    raise UsageError(f"there is no run '{ref}'", hint=f"The newest: {newest}")
