"""Remarks in a run file, and its end: a run that is deleted is not being written."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.json_shapes import as_array
from evenhand.core.remark import Remarks, checked, first_tags
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import clip
from evenhand.store.adding import added_to
from evenhand.store.home import Lock, left_beside, lock_of
from evenhand.store.opened import BY, own_meta, remarks_in
from evenhand.store.replacing import OF_SQLITE


def remark(
    path: Path,
    fields: Mapping[str, object],
    by: str = "",
    was: Mapping[str, object] | None = None,
) -> Remarks:
    """Says something of a run: title, tags, note; all of it or nothing. What counts from now on.

    Args:
        path: The run file, of whichever version, also while it is being written.
        by: Who says it, where somebody vouches for that; empty otherwise.
        was: What they had read before they changed it, by field: nobody else's words are lost. Tags that others added
            or removed since then stay so.

    Raises:
        UsageError: One of them is not what can be said, or somebody else changed it meanwhile.
        StoreError: The file cannot be written.
    """
    rows: list[tuple[str, object]] = [checked(*each) for each in fields.items()]
    before = was or {}
    if by and rows:
        rows.append((BY, by))
    with added_to(path, "remarks") as db:
        meta = own_meta(db, path)
        rows = [
            (field, _merged(remarks_in(db, meta), meta, before, field, value))
            for field, value in rows
        ]
        if "tags" in fields and first_tags(meta.config):
            # The list as it was comes first: so what the new one lacks is known to have been removed.
            rows.insert(0, ("tags", list(remarks_in(db, meta).tags)))
        for field, value in rows:
            db.execute(
                "insert into remark (at, field, value) values (?, ?, ?)",
                (time.time(), field, encode(value)),
            )
        return remarks_in(db, meta)


_QUOTED = 300
"""Columns of what somebody else wrote that a message quotes."""


def _merged(
    now: Remarks, meta: RunMeta, was: Mapping[str, object], field: str, value: object
) -> object:
    """What a field becomes where it was read as `was` says, and may have been changed since."""
    if field not in was:
        return value
    if field == "tags":
        read, wished = as_array(was[field]), as_array(value)
        rest = [tag for tag in now.tags if tag in wished or tag not in read]
        return checked(field, [*rest, *(tag for tag in wished if tag not in read)])[1]
    stands = (now.title or meta.title) if field == "title" else now.note
    if str(was[field]).split() != stands.split():
        raise UsageError(
            f"the {field} was changed meanwhile, by {now.by or 'somebody'}: {clip(stands, _QUOTED) or 'it is empty'}",
            hint="Save again to replace it.",
        )
    return value


def delete(path: Path) -> None:
    """Deletes a run, with everything in it.

    Raises:
        StoreError: A process is writing it, it is not there, or it cannot be deleted. Then nothing is.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such run file")
    try:
        lock = Lock(lock_of(path), f"run {path.stem}")  # nobody writes it, or begins to
    except OSError as error:
        raise StoreError(f"{path} cannot be deleted: {error}") from error
    try:
        # The run file goes first: if it cannot be deleted, its log has to stay beside it.
        path.unlink()
        for beside in OF_SQLITE[1:]:
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + beside).unlink()
        for left in left_beside(lock_of(path)):  # if it was killed
            left.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be deleted: {error}") from error
    finally:
        lock.release()
