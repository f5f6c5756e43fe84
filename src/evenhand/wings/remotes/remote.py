"""What a remote does, whatever it is kept in; the run that is pushed to it, and the manifest with which it is there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from evenhand.core.document import Key
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.version import __version__
from evenhand.store.runfile import RunFile
from evenhand.store.snapshot import Digests, snapshot
from evenhand.wings.remotes.rows import holdable

CHUNK = 32 * 1024 * 1024
"""The run file travels in pieces of so many bytes: what was pushed before a stop is not pushed again."""

LARGEST_SAID = 256 << 20
"""Bytes of all that people said of a run since it was pushed."""


class Snapshot(Record, frozen=True, kw_only=True):
    """A run as it is now, in a file of its own that nobody writes.

    Attributes:
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
            title=holdable(self.meta.title),
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

    def arrivals(self) -> dict[str, float]:
        """The runs that are there, in any order, and when each came, by the remote's clock, in seconds since 1970.

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

    def restore(self, run: Snapshot, manifest: Manifest) -> bool:
        """Puts pieces back that the manifest names and that aren't there whole; False where nothing is missing.

        Raises:
            StoreError: It cannot be written, or this copy of the run has other pieces.
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
        """Hands in what people said of a run. What already exists stays.

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


def lacking(manifest: Manifest, there: Mapping[str, int]) -> list[str]:
    """The names of pieces of a manifest that aren't there, or not whole.

    Args:
        there: What there is, with the bytes of each.
    """
    pieces = (*manifest.file, *manifest.trial_parts, *manifest.outcome_parts)
    return [piece.name for piece in pieces if there.get(piece.name) != piece.size]


def refuse_lacking(name: str, manifest: Manifest, there: Mapping[str, int]) -> None:
    """Raises a StoreError where pieces are missing that this copy of the run can't put back.

    Args:
        there: What there is, with the bytes of each, after that was tried.
    """
    if missing := lacking(manifest, there):
        raise StoreError(
            f"{name}: run {manifest.id} lacks {missing[0]}, and this copy of it has other pieces",
            hint=f"Push it from where it was pushed before, or {start_again(manifest.id)}.",
        )


def start_again(run: str) -> str:
    """What to do about a run that is damaged at the remote."""
    return f"delete runs/{run}.json and parts/{run} there (in PostgreSQL, its rows), and push the run again"


def said_name(data: bytes) -> str:
    """What is handed in is named by what is in it: 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def snapshot_of(path: Path, folder: Path) -> Iterator[Snapshot]:
    """A run as it is now; its file is there until the end.

    Args:
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


SCHEMA = "evenhand.pushed/1"
LARGEST_MANIFEST = 16 << 20
"""Bytes of a manifest: it has about a hundred for each piece."""
_LARGEST_PIECE = 256 << 20
"""Bytes of a piece of the run file, which is held in memory."""
_ID = re.compile(r"[0-9A-Z]{26}")
_PART = re.compile(r"parts/[0-9A-Z]{26}/[a-z0-9-]+(\.[a-z0-9]+)+")
_HASH = re.compile(r"[0-9a-f]{64}")


class Part(msgspec.Struct, frozen=True):
    """A piece of what was pushed."""

    name: Annotated[
        str,
        Key(
            "where it is, from the root of the remote; in PostgreSQL, its name in `evenhand.parts`"
        ),
    ]
    size: Annotated[int, Key("", "bytes")]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of a run, and in which pieces."""

    schema: Annotated[str, Key("`evenhand.pushed/1`")]
    id: Annotated[str, Key("the run's id")]
    title: Annotated[str, Key("what it is called")]
    created_at: Annotated[float, Key("when it began", "seconds since 1970")]
    version: Annotated[str, Key("the Evenhand that pushed it")]
    trials: Annotated[int, Key("how many are settled", "trials")]
    digest: Annotated[str, Key("SHA-256 over all rows of the run file: equal runs have equal ones")]
    sha256: Annotated[str, Key("of the [run file](run-file.md): all of its pieces, in their order")]
    file: Annotated[
        tuple[Part, ...], Key("the pieces of the run file, 32 MB each but for the last one")
    ]
    trial_parts: Annotated[
        tuple[Part, ...],
        Key("Parquet with the table `trials`, 20,000 rows each; empty in PostgreSQL"),
    ] = ()
    outcome_parts: Annotated[
        tuple[Part, ...],
        Key("Parquet with the table `outcomes`, of the same trials; empty in PostgreSQL"),
    ] = ()
    results: Annotated[
        str,
        Key(
            "SHA-256 over the rows that don't hold labels, draws, rules or remarks. A run with the same "
            "results may be pushed again with new labels. Empty in manifests of earlier versions: those runs "
            "take none"
        ),
    ] = ""


def is_id(text: str) -> bool:
    """Whether this is the id of a run."""
    return _ID.fullmatch(text) is not None


def read_manifest(data: bytes, run: str, where: str) -> Manifest:
    """The manifest of a run. It was written elsewhere: names in it lead nowhere but to the run's pieces.

    Raises:
        StoreError: It is none, or a newer Evenhand wrote it.
    """
    if len(data) > LARGEST_MANIFEST:
        raise StoreError(
            f"{where}: the manifest of run {run} cannot be read: it has more than {LARGEST_MANIFEST:,} bytes"
        )
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{where}: the manifest of run {run} cannot be read: {error}",
            hint=f"It was damaged or changed there: {start_again(run)}.",
        ) from error
    if manifest.schema != SCHEMA:
        raise StoreError(
            f"{where}: run {run} was pushed as {manifest.schema[:40]!r}, and this reads {SCHEMA}",
            hint="A newer Evenhand pushed it.",
        )
    pieces = (*manifest.file, *manifest.trial_parts, *manifest.outcome_parts)
    names_fit = all(_PART.fullmatch(p.name) and p.name.split("/")[1] == run for p in pieces)
    names = [piece.name for piece in pieces]
    if len(set(names)) < len(names) or any(piece.size < 0 for piece in pieces):
        raise StoreError(
            f"{where}: the manifest of run {run} names a piece twice, or one without a size"
        )
    large = next((piece for piece in manifest.file if piece.size > _LARGEST_PIECE), None)
    if large is not None:
        raise StoreError(
            f"{where}: the manifest of run {run} names a piece of {large.size:,} bytes; none is larger than"
            f" {_LARGEST_PIECE:,}"
        )
    if manifest.id != run or not names_fit or not _HASH.fullmatch(manifest.sha256):
        raise StoreError(f"{where}: the manifest of run {run} is not of this run")
    return manifest


def write_manifest(manifest: Manifest) -> bytes:
    """The manifest as JSON, for people, too."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
