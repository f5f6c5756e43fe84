"""Pushes a run to a remote."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.remotes.manifest import Manifest
from evenhand.remotes.remote import Remote, snapshot_of

SCHEMA = "evenhand.push/1"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of it.

    Attributes:
        manifest: As it is at the remote.
        new: Whether it was not there before.
    """

    manifest: Manifest
    new: bool


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
                "trials": one.manifest.trials,
                "digest": one.manifest.digest,
                "sha256": one.manifest.sha256,
            }
            for one in pushed
        ],
    }


def push(path: Path, remote: Remote) -> Pushed:
    """Pushes a run. One that is there already with the same content stays as it is.

    Raises:
        UsageError: It is not finished, or the remote has a run of this id with other content.
        StoreError: It cannot be read, or the remote not be written.
    """
    with (
        tempfile.TemporaryDirectory(prefix="evenhand-push-") as folder,
        snapshot_of(path, Path(folder)) as run,
    ):
        there = remote.manifest(run.meta.id)
        new = there is None and remote.add(run)
        there = there or remote.manifest(run.meta.id) or run.manifest()
        if there.digest != run.digest:
            raise UsageError(
                f"{remote.name} has run {run.meta.id} with other content, and what is pushed never changes",
                hint="It was resumed or labelled since it was pushed, or the two files share an id."
                " Nothing was changed there.",
            )
        return Pushed(there, new)
