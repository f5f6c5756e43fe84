"""Who reads which results: wings bring importers, and packages may also name them in their entry points.

How this works: an importer is a function of all the paths that returns `Recordings`. Ours stand in the records of our
wings by where they are, `module:attribute`, as a package's stand in its own; all are loaded and called alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core import wing
from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.core.plugins import IMPORTERS, Plugin, plugin, plugins
from evenhand.doors.importers.packaged import importer_of, recordings_of
from evenhand.doors.importers.recorded import Recordings


def names() -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    brought = wing.parts("importers")
    return (*brought, *(name for name in plugins(IMPORTERS) if name not in brought))


def example_of(tool: str) -> str:
    """What a file that this tool's importer reads may be called, for messages."""
    brought = wing.importer_of(tool)
    return brought.example if brought is not None else "export.json"


def read_runs(paths: Sequence[Path], tool: str) -> Recordings:
    """The runs and datasets in these files, as this tool's importer reads them.

    Raises:
        UsageError: There is no such importer, it cannot read the files, or what it returns is not `Recordings`.
    """
    brought = wing.part("importers", tool)
    if brought is not None and brought.ours:
        # What ours raises is told as it is: a user's mistake in its own words, and a fault of ours with its traceback.
        return importer_of(_as_plugin(tool, brought))(paths)
    one = plugin(IMPORTERS, tool) if brought is None else _as_plugin(tool, brought)
    if one is None:
        near = nearest(tool, names())
        raise UsageError(
            f"there is no importer '{tool}'",
            hint=f"Did you mean '{near}'?" if near else f"There are: {', '.join(names())}.",
        )
    return recordings_of(one, paths)


def _as_plugin(name: str, brought: wing.Part) -> Plugin:
    package, _, version = brought.package.partition(" ")
    return Plugin(IMPORTERS, name, package, version, brought.place)
