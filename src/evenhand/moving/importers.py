"""Who reads which recordings: results of other tools, and traces of applications."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.moving.traces.run import run_of
from evenhand.report.interchange import importers
from evenhand.report.interchange.recorded import Recordings

TRACES = "traces"


def names() -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    return (TRACES, *importers.names())


def read_runs(paths: Sequence[Path], importer: str) -> Recordings:
    """The runs in these files, as this importer reads them.

    Raises:
        UsageError: There is no such importer, it cannot read a file, or what it returns is not a run.
    """
    if importer == TRACES:
        run, notes = run_of(paths)
        return Recordings([run], notes)
    if importer not in names():
        near = nearest(importer, names())
        raise UsageError(
            f"there is no importer '{importer}'",
            hint=f"Did you mean '{near}'?" if near else f"There are: {', '.join(names())}.",
        )
    return importers.read_runs(paths, importer)
