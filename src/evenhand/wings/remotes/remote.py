"""What a remote does, whatever it is kept in; and the run that is pushed to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.version import __version__
from evenhand.store.runfile import RunFile
from evenhand.store.snapshot import Digests, snapshot
from evenhand.wings.remotes.manifest import SCHEMA, Manifest, Part, is_id

CHUNK = 32 * 1024 * 1024
"""The run file travels in pieces of so many bytes: what was pushed before a stop is not pushed again."""

LARGEST_SAID = 256 << 20
"""Bytes of all that people said of a run since it was pushed."""


class Snapshot(Record, frozen=True, kw_only=True):
    """A run as it is now, in a file of its own that nobody writes.

    Attributes:
        path: The file.
        meta: What it says of itself.
        trials: How many are settled.
        digests: Over its rows.
        pieces: The size of each piece of the file, with the hash of what is in it.
        sha256: Of the whole file.
    """

    path: Path
    meta: RunMeta
    trials: int
    digests: Digests
    pieces: tuple[tuple[int, str], ...]
    sha256: str

    def manifest(
        self, trial_parts: Sequence[Part] = (), outcome_parts: Sequence[Part] = ()
    ) -> Manifest:
        """What is said of it at the remote."""
        return Manifest(
            schema=SCHEMA,
            id=self.meta.id,
            title=self.meta.title,
            created_at=self.meta.created_at,
            version=__version__,
            trials=self.trials,
            digest=self.digests.everything,
            sha256=self.sha256,
            file=tuple(self.part("run", "db", size, name) for size, name in self.pieces),
            trial_parts=tuple(trial_parts),
            outcome_parts=tuple(outcome_parts),
            results=self.digests.results,
        )

    def part(self, kind: str, ending: str, size: int, sha256: str) -> Part:
        """A piece, named by what is in it."""
        return Part(f"parts/{self.meta.id}/{kind}-{sha256[:32]}.{ending}", size)

    def read(self) -> Iterator[bytes]:
        """The pieces of the file."""
        yield from _pieces(self.path)


class Remote(Protocol):
    """A place that runs are pushed to. What is there never changes; a run is there whole or not at all."""

    @property
    def name(self) -> str:
        """For people, without what is secret."""
        ...

    def ids(self) -> list[str]:
        """The runs that are there, in any order.

        Raises:
            StoreError: It cannot be reached.
        """
        ...

    def manifest(self, run: str) -> Manifest | None:
        """The manifest of the run with this id; None where it is not there.

        Raises:
            StoreError: It cannot be reached, or read.
        """
        ...

    def add(self, run: Snapshot) -> bool:
        """Puts a run there; False where somebody was faster. What an earlier try has put there stays and is used.

        Raises:
            StoreError: It cannot be written.
        """
        ...

    def read(self, manifest: Manifest) -> Iterator[bytes]:
        """The pieces of a run file, in their order; of one that is larger than it should be, perhaps only the start.

        Raises:
            StoreError: One is not there, or cannot be read.
        """
        ...

    def said(self, run: str) -> list[str]:
        """The names of what was handed in for a run since it was pushed, in any order; see `said_name`.

        Raises:
            StoreError: It cannot be reached.
        """
        ...

    def add_said(self, run: str, name: str, data: bytes) -> None:
        """Hands in what people said of a run. What is there already stays.

        Raises:
            StoreError: It cannot be written.
        """
        ...

    def read_said(self, run: str, name: str) -> bytes:
        """What was handed in under this name.

        Raises:
            StoreError: It is not there, or cannot be read.
        """
        ...

    def close(self) -> None:
        """Lets go of connections."""
        ...


def said_name(data: bytes) -> str:
    """What is handed in is named by what is in it: 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def snapshot_of(path: Path, folder: Path) -> Iterator[Snapshot]:
    """A run as it is now; its file is there until the end.

    Args:
        path: The run.
        folder: An empty one, with room for the file.

    Raises:
        UsageError: It is not finished.
        StoreError: It cannot be read.
    """
    with RunFile.open(path) as run:
        if run.alive:
            raise UsageError(f"run {run.meta.id} is still running", hint="Push it when it is done.")
        if run.meta.status not in ("finished", "decided"):
            raise UsageError(
                f"run {run.meta.id} is not finished, and what is pushed never changes",
                hint=f"`evenhand resume {run.meta.id}` finishes it.",
            )
    copy = folder / "run.db"
    digests = snapshot(path, copy)
    whole, pieces = hashlib.sha256(), list[tuple[int, str]]()
    for piece in _pieces(copy):
        whole.update(piece)
        pieces.append((len(piece), hashlib.sha256(piece).hexdigest()))
    with RunFile.open(copy) as run:
        meta, trials = run.meta, run.totals().trials
    if not is_id(meta.id):
        raise UsageError(f"{meta.id!r:.60} is not the id of a run")
    yield Snapshot(
        path=copy,
        meta=meta,
        trials=trials,
        digests=digests,
        pieces=tuple(pieces),
        sha256=whole.hexdigest(),
    )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece
