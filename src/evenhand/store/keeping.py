"""Keeps a run that was settled elsewhere as a run file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.run import RunMeta, TrialResult
from evenhand.store.journal import Journal


async def keep_run(folder: Path, meta: RunMeta, trials: Iterable[TrialResult]) -> Path:
    """Writes a finished run, a trial at a time; its file.

    Args:
        folder: The one that keeps runs.
        trials: Taken while the file is written. Whatever this raises, no file is left.

    Raises:
        UsageError: There is a run with this id.
        StoreError: It cannot be written.
    """
    path = folder / f"{meta.id}.db"
    if path.exists():
        raise UsageError(
            f"run {meta.id} is there already: {path}",
            hint=f"Look at it with `evenhand show {meta.id}`; delete its file to import it again.",
        )
    journal = Journal.create(folder, meta)
    try:
        for trial in trials:
            await journal.settle(trial)
        journal.close()  # not finished now, but when its meta says
    except EvenhandError:
        journal.close()
        path.unlink(missing_ok=True)
        raise
    return path
