"""Who reads which results: some tools' are read by us, others' by installed packages.

How this works: an importer is a function of all the paths that returns `Recordings`. Ours stand in a table by where
they are, `module:attribute`, as a package's stand in its entry points; both are loaded and called alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.core.plugins import IMPORTERS, Plugin, plugin, plugins
from evenhand.core.version import __version__
from evenhand.doors.importers.packaged import importer_of, recordings_of
from evenhand.doors.importers.recorded import Recordings

_HERE = "evenhand.wings.interchange"
OURS: Mapping[str, str] = {
    "promptfoo": f"{_HERE}.promptfoo_results.reading:read",
    "openai-evals": f"{_HERE}.openai_evals.runs:read",
    "inspect": f"{_HERE}.inspect_logs.runs:read",
    "pydantic-evals": f"{_HERE}.pydantic_evals.reading:read",
    "deepeval": f"{_HERE}.deepeval.reading:read",
    "ragas": f"{_HERE}.ragas.reading:read",
    "langfuse": f"{_HERE}.langfuse.reading:read",
    "langsmith": f"{_HERE}.langsmith.reading:read",
    "braintrust": f"{_HERE}.braintrust.reading:read",
    "phoenix": f"{_HERE}.phoenix.reading:read",
    "lm-eval": f"{_HERE}.lm_eval.reading:read",
}
"""The tools whose results are read here, each with the place of its importer."""


def names(ours: Mapping[str, str] = OURS) -> tuple[str, ...]:
    """The names of all importers: ours first, then those of installed packages."""
    return (*ours, *(name for name in plugins(IMPORTERS) if name not in ours))


def read_runs(paths: Sequence[Path], importer: str, ours: Mapping[str, str] = OURS) -> Recordings:
    """The runs and datasets in these files, as this importer reads them.

    Raises:
        UsageError: There is no such importer, it cannot read the files, or what it returns is not `Recordings`.
    """
    place = ours.get(importer)
    if place is not None:
        # What ours raises is told as it is: a user's mistake in its own words, and a fault of ours with its traceback.
        return importer_of(Plugin(IMPORTERS, importer, "evenhand", __version__, place))(paths)
    one = plugin(IMPORTERS, importer)
    if one is None:
        near = nearest(importer, names(ours))
        raise UsageError(
            f"there is no importer '{importer}'",
            hint=f"Did you mean '{near}'?" if near else f"There are: {', '.join(names(ours))}.",
        )
    return recordings_of(one, paths)
