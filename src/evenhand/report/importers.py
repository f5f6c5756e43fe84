"""Who reads which results: promptfoo's are read by us, others by installed packages."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.core.plugins import IMPORTERS, Plugin, plugin, plugins
from evenhand.report.imported import Imported, ImportedRun, RecordedRun

OURS = ("promptfoo",)


def names() -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    return OURS + tuple(name for name in plugins(IMPORTERS) if name not in OURS)


def read_run(path: Path, importer: str) -> RecordedRun:
    """The run in a file, as this importer reads it.

    Raises:
        UsageError: There is no such importer, it cannot read the file, or what it returns is not a run.
    """
    if importer in OURS:
        from evenhand.report.promptfoo_results.reading import read_results  # noqa: PLC0415 (on use)

        return read_results(path)
    one = plugin(IMPORTERS, importer)
    if one is None:
        near = nearest(importer, names())
        raise UsageError(
            f"there is no importer '{importer}'",
            hint=f"Did you mean '{near}'?" if near else f"There are: {', '.join(names())}.",
        )
    return Imported(_called(one, path), path, importer)


def _called(one: Plugin, path: Path) -> ImportedRun:
    read = one.load()
    if not callable(read):
        raise one.broken(f"is {read!r}, not a function of a path")
    try:
        run: object = read(path)
    except (Exception, SystemExit) as error:
        raise one.broken(f"cannot read {path}", error) from error
    if not isinstance(run, ImportedRun):
        raise one.broken(f"returned {type(run).__name__}, not an ImportedRun")
    return run
