"""Pushes a run to a remote."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.store.labels.exchange import write_said
from evenhand.wings.remotes.manifest import Manifest
from evenhand.wings.remotes.remote import Remote, said_name, snapshot_of

SCHEMA = "evenhand.push/1"


class Pushed(Record, frozen=True):
    """What became of it.

    Attributes:
        manifest: As it is at the remote.
        new: Whether it was not there before.
        labelled: Whether only what people said of it is new.
    """

    manifest: Manifest
    new: bool
    labelled: bool = False


def push_document(remote: Remote, pushed: Sequence[Pushed]) -> dict[str, Any]:
    """What was pushed, as a document: `evenhand.push/1`."""
    return {
        "schema": SCHEMA,
        "remote": remote.name,
        "runs": [
            {
                "run": one.manifest.id,
                "title": one.manifest.title,
                "new": one.new,
                "labelled": one.labelled,
                "trials": one.manifest.trials,
                "digest": one.manifest.digest,
                "sha256": one.manifest.sha256,
            }
            for one in pushed
        ],
    }


def push(path: Path, remote: Remote) -> Pushed:
    """Pushes a run. One that is there already stays as it is; what people said of it since is put beside it.

    Raises:
        UsageError: It is not finished, or the remote has a run of this id with other results.
        StoreError: It cannot be read, or the remote not be written.
    """
    with (
        tempfile.TemporaryDirectory(prefix="evenhand-push-") as folder,
        snapshot_of(path, Path(folder)) as run,
    ):
        there = remote.manifest(run.meta.id)
        new = there is None and remote.add(run)
        there = there or remote.manifest(run.meta.id) or run.manifest()
        if there.digest == run.digests.everything:
            return Pushed(there, new)
        if there.results != run.digests.results:
            raise UsageError(
                f"{remote.name} has run {run.meta.id} with other results, and what is pushed never changes",
                hint="It was resumed since it was pushed, or the two files share an id."
                " Nothing was changed there.",
            )
        data = write_said(run.path, run.meta.id)
        name = said_name(data)
        known = name in remote.said(run.meta.id)
        if not known:
            remote.add_said(run.meta.id, name, data)
        return Pushed(there, new, labelled=not known)
