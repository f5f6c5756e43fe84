"""A run as a file to be kept: what `evenhand export` writes, sent to the page's own browser."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from evenhand.analysis.filters.where import narrow
from evenhand.core.errors import UsageError
from evenhand.core.record import MutableRecord
from evenhand.core.scratch import ScratchFolder
from evenhand.render.export import export, formats
from evenhand.store.runfile import RunFile

_ENDINGS = {
    "markdown": "md",
    "junit": "junit.xml",
    "inspect": "eval",
    "promptfoo": "json",
    "promptfoo-jsonl": "jsonl",
    "promptfoo-csv": "csv",
    "promptfoo-yaml": "yaml",
    "promptfoo-xml": "xml",
}
_LONGEST_NAME = 60


class Exported(MutableRecord):
    """A file that was written; `folder` takes it away when it is closed."""

    folder: ScratchFolder
    path: Path
    name: str


def exported(
    path: Path,
    format_: str,
    where: str = "",
    baseline: Path | None = None,
    hidden: Collection[int] = (),
) -> Exported:
    """Writes a run into a file of its own.

    Args:
        format_: One of `formats()`.
        where: A filter: only the trials that it chooses.
        baseline: What `changed:` holds it against, and a page shows beside it.
        hidden: Columns, by index, that are left out.

    Raises:
        UsageError: There is no such format, or something is wrong with the filter.
        StoreError: A run cannot be read.
    """
    if format_ not in formats():
        raise UsageError(
            f"{format_!r:.40} is not known", hint=f"There are: {', '.join(formats())}."
        )
    folder = ScratchFolder("export")
    before = RunFile.open(baseline) if baseline else None
    try:
        with RunFile.open(path) as run:
            title = run.meta.title
            chosen = narrow(run, where, before, hidden=hidden) if where.strip() or hidden else run
            to = Path(folder.name, "results")
            export(chosen, to, format_, before=before)
    except BaseException:
        folder.cleanup()
        raise
    finally:
        if before is not None:
            before.close()
    plain = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-")[:_LONGEST_NAME]
    ending = _ENDINGS.get(format_, format_)
    return Exported(folder, to, f"{plain or 'run'}-{path.stem[:10]}.{ending}")
