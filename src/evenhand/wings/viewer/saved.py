"""Views that people saved: a name for what the page's address says, for all runs of one config or set.

They are in `views.json` in the home, beside the folder of runs, so that everybody who looks at it has them. Two viewers
may write it at the same time: whoever changes it holds a lock, reads it anew, and writes it whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evenhand.core.document import Key
from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.record import Record
from evenhand.store.home import make_folder, turn
from evenhand.store.replacing import replaced
from evenhand.store.run_lookup import run_folder
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import source_of

RUNS = run_folder(Path()).name
LONGEST_NAME = 80
LONGEST_STATE = 4_000
MOST = 100
"""Views of one config or set."""
LARGEST = 16 << 20
"""Bytes of the file: far more than people save."""


class SavedView(Record, frozen=True):
    """A view that somebody saved."""

    name: str
    state: Annotated[str, Key("What the address says behind `#`, without the run and the cell.")]
    created_at: Annotated[float, Key("Seconds since 1970.")]


class _Views(Record, frozen=True):
    """The file: the views of each config or set, by its source."""

    views: dict[str, list[SavedView]]
    schema: str = "evenhand.views/1"


def saved_views(run: RunFile) -> list[SavedView]:
    """The views that were saved for runs of what this one is of, by name.

    Raises:
        StoreError: The file with them cannot be read.
    """
    if run.path.parent.name != RUNS:
        return []
    views = _read(_file(run.path)).views.get(_key(run), [])
    return sorted(views, key=lambda view: view.name.lower())


def keep_view(path: Path, body: Mapping[str, Any]) -> None:
    """Saves a view under a name, in place of an earlier one of this name; without a state, deletes it.

    Args:
        path: The run that was looked at.
        body: Its `name` and `state`; and as `was` the state that its name had for whoever saves it, null for none.

    Raises:
        UsageError: It is not a view, there are too many, or somebody else saved another one under this name.
        StoreError: The file cannot be read or written.
    """
    name, state = _name(body.get("name")), body.get("state")
    if state is not None and not _is_state(state):
        raise UsageError(
            f"state: the end of an address, of at most {LONGEST_STATE:,} characters",
            hint="A shorter filter fits into a saved view.",
        )
    with RunFile.open(path) as run:
        key = _key(run)
    file = _file(path)
    try:
        make_folder(file.parent / "locks")
        lock = os.open(
            file.parent / "locks" / "views.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            with turn(lock):
                views = _read(file)
                _refuse_other(views.views.get(key, []), name, body)
                _write(file, _changed(views, key, name, state))
        finally:
            os.close(lock)
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}") from error


def _refuse_other(views: Sequence[SavedView], name: str, body: Mapping[str, Any]) -> None:
    stands = next((view.state for view in views if view.name == name), None)
    if stands not in (body.get("was", stands), body.get("state")):
        raise UsageError(
            f"somebody else saved another view as {name!r} meanwhile",
            hint="Look at it. Take another name, or do it again.",
        )


def _is_state(value: object) -> bool:
    if not isinstance(value, str):
        return False
    return value.isascii() and value.isprintable() and len(value) <= LONGEST_STATE


def _name(value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"name: 1 to {LONGEST_NAME} characters, all of which can be seen",
            hint="Give the view another name.",
        )
    return name


def _key(run: RunFile) -> str:
    """What runs that share views have in common: their source, or their title where they have none."""
    key = source_of(run.meta) or f"title: {run.plan_title}"
    return key.encode("utf-8", "backslashreplace").decode()  # a path may have half a character


def _file(path: Path) -> Path:
    if path.parent.name != RUNS:
        raise UsageError(
            "views are saved beside a folder of runs, and this run is in none",
            hint="Bookmark the address instead.",
        )
    return path.parent.parent / "views.json"


def _read(file: Path) -> _Views:
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError("it is too large")  # noqa: TRY301 (told like the others)
        return msgspec.json.decode(file.read_bytes(), type=_Views)
    except FileNotFoundError:
        return _Views({})
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{file} cannot be read: {error}", hint="Mend it, or move it away to start again."
        ) from error


def _changed(views: _Views, key: str, name: str, state: str | None) -> _Views:
    others = [view for view in views.views.get(key, []) if view.name != name]
    if state is not None:
        if len(others) >= MOST:
            raise UsageError(f"there are {MOST} saved views already", hint="Delete one first.")
        others.append(SavedView(name, state, time.time()))
    rest = {other: of for other, of in views.views.items() if other != key}
    return _Views(rest | {key: others} if others else rest)


def _write(file: Path, views: _Views) -> None:
    with replaced(file) as new:
        new.write_bytes(encode(views, ordered=False))
