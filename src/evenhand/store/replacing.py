"""Writes a small file in the place of an earlier one: whole or not at all, and never over something else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from evenhand.core.errors import UsageError


def replace_file(data: bytes, path: Path, is_one: Callable[[Path], bool], kind: str) -> None:
    """Writes a file, and the folders that it is in.

    Args:
        data: All of it.
        path: Where.
        is_one: Whether a file that is there may be written over: it is of the same kind.
        kind: What such files are called, e.g. `baseline`.

    Raises:
        UsageError: It cannot be written, or the file that is there is something else.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not is_one(path):
            raise UsageError(
                f"{path} is there, and is not a {kind}: it was not written over",
                hint="Give --to another name, or delete that file.",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)  # half of it, on a full disk
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
