"""Who reads which recordings: results of other tools, and traces of applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.doors.importers import registry as importers
from evenhand.doors.importers.recorded import Recordings

OURS: Mapping[str, str] = {"traces": "evenhand.wings.traces.run:read", **importers.OURS}
"""What is read here, by name, each with the place of its importer."""


def names() -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    return importers.names(OURS)


def read_runs(paths: Sequence[Path], importer: str) -> Recordings:
    """The runs in these files, as this importer reads them.

    Raises:
        UsageError: There is no such importer, it cannot read a file, or what it returns is not a run.
    """
    return importers.read_runs(paths, importer, OURS)
