"""Pushes a run to a remote."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from evenhand.core.document import Key, as_object, filled
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.scratch import ScratchFolder
from evenhand.store.labels.exchange import write_said
from evenhand.wings.remotes.remote import Manifest, Remote, said_name, snapshot_of

SCHEMA = "evenhand.push/1"


class PushRun(Record, frozen=True, kw_only=True):
    """What `evenhand.push/1` says of a run."""

    run: Annotated[str, Key("its id")]
    title: Annotated[str, Key("what it is called")]
    new: Annotated[bool, Key("false if it was there already, with the same results")]
    labelled: Annotated[
        bool,
        Key(
            "true if it was there already, and labels or other remarks given since were pushed now"
        ),
    ]
    trials: Annotated[int, Key("how many are settled", "trials")]
    digest: Annotated[str, Key("SHA-256 over all rows of the run file: equal runs have equal ones")]
    sha256: Annotated[str, Key("of the run file, as it is at the remote")]


class PushDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.push/1`."""

    schema: Annotated[str, Key("`evenhand.push/1`")]
    remote: Annotated[str, Key("where to, without passwords")]
    runs: Annotated[list[PushRun], Key("in the order in which they were given")]


class Pushed(Record, frozen=True):
    """What became of it.

    Attributes:
        manifest: As it is at the remote.
        new: Whether it was not there before.
        labelled: Whether only what people said of it is new.
        restored: Whether pieces were put back that were missing there.
    """

    manifest: Manifest
    new: bool
    labelled: bool = False
    restored: bool = False


def push_document(remote: Remote, pushed: Sequence[Pushed]) -> dict[str, Any]:
    """What was pushed, as a document: `evenhand.push/1`."""
    return as_object(
        PushDocument(
            schema=SCHEMA,
            remote=remote.name,
            runs=[
                filled(
                    PushRun, one.manifest, run=one.manifest.id, new=one.new, labelled=one.labelled
                )
                for one in pushed
            ],
        )
    )


def push(path: Path, remote: Remote) -> Pushed:
    """Pushes a run. One that already exists stays as it is; what people said of it since is put beside it.

    Raises:
        UsageError: It is not finished, or the remote has a run of this id with other results.
        StoreError: It cannot be read, or the remote not be written.
    """
    with (
        ScratchFolder("push") as folder,
        snapshot_of(path, Path(folder)) as run,
    ):
        there = remote.manifest(run.meta.id)
        new = there is None and remote.add(run)
        there = there or remote.manifest(run.meta.id) or run.manifest()
        if there.digest == run.digests.everything:
            return Pushed(there, new, restored=not new and remote.restore(run, there))
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


CLOCKS_DIFFER_S = 120
"""So far the clocks of a remote and of a machine may be apart before it is said."""


def clock_is_off(remote: Remote, run: str) -> float:
    """How many seconds this machine's clock is ahead of a remote's, after it pushed this run; 0 for hardly any.

    Below 0, it is behind.

    Raises:
        StoreError: The remote cannot be read.
    """
    now = time.time()
    off = now - remote.arrivals().get(run, now)
    return off if abs(off) >= CLOCKS_DIFFER_S else 0.0
