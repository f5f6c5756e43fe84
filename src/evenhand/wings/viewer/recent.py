"""The runs of one config or set, read newest first for as long as somebody waits: no request holds the server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from evenhand.core.errors import EvenhandError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import Runs

ENOUGH_S = 3.0
"""Seconds after which no further run is begun."""
T = TypeVar("T")


def read_recent(runs: Runs, path: Path, look: Callable[[RunFile], T]) -> tuple[list[T], int]:
    """A look into each run of what this one is of, the oldest first, and how many were not looked into.

    The newest one is always looked into. What is left out is older, or cannot be read.
    """
    alike = runs.like(path)
    began = time.monotonic()
    looks: list[T] = []
    for one in reversed(alike):
        if looks and time.monotonic() - began > ENOUGH_S:
            break
        try:
            with RunFile.open(runs.path(one.id)) as run:
                looks.append(look(run))
        except EvenhandError:  # deleted or damaged since it was listed
            continue
    return looks[::-1], len(alike) - len(looks)
