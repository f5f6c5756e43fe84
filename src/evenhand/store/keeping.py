"""Keeps a run that was settled elsewhere as a run file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.run import RunMeta, TrialResult
from evenhand.store.catalogue import files, home_for, run_folder
from evenhand.store.journal import Journal

BATCH = 1_000
"""Rows of a transaction."""


async def keep_run(start: Path, meta: RunMeta, trials: Iterable[TrialResult]) -> Path:
    """Writes a finished run, a trial at a time; its file.

    Args:
        start: The folder that its user stands in: it is kept there, or in EVENHAND_HOME.
        trials: Taken while the file is written. Whatever this raises, no file is left.

    Raises:
        UsageError: There is a run with this id, wherever `find` looks.
        StoreError: It cannot be written.
    """
    for known in files(start):
        if known.stem == meta.id:
            raise UsageError(
                f"run {meta.id} is there already: {known}",
                hint=f"Look at it with `evenhand show {meta.id}`; delete its file to import it again.",
            )
    journal = Journal.create(run_folder(home_for(start)), meta)
    journal.write_in_batches(
        BATCH
    )  # nothing is lost with it: an import that breaks off leaves no file
    try:
        for trial in trials:
            await journal.settle(trial)
        journal.close()  # not finished now, but when its meta says
    except BaseException:  # an importer of a package may raise anything
        journal.close()
        journal.path.unlink(missing_ok=True)
        raise
    return journal.path
