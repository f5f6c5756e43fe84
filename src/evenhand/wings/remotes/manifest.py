"""The manifest of a pushed run: with it, and not before, the run is there."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from evenhand.core.document import Key
from evenhand.core.errors import StoreError

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
        raise StoreError(f"{where}: the manifest of run {run} cannot be read: {error}") from error
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
