"""A remote that holds objects by name: a folder, or a bucket.

How this works: pieces are named by a hash of what is in them, so a piece that is there is the right one. They are put
there first. The manifest comes last, and only if there is none: with it the run is there. A stop in between leaves
pieces that no manifest names, which nobody reads, and which the next push uses.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from evenhand.core.errors import StoreError, UsageError
from evenhand.store.runfile import RunFile
from evenhand.wings.remotes.address import RUNS
from evenhand.wings.remotes.manifest import (
    LARGEST_MANIFEST,
    Manifest,
    Part,
    is_id,
    read_manifest,
    write_manifest,
)
from evenhand.wings.remotes.remote import LARGEST_SAID, Snapshot
from evenhand.wings.remotes.rows import OUTCOMES, TRIALS, Kind, Row, names, rows_of

SAID = "said"
"""The folder of a remote with what people said of runs after they were pushed."""
AT_ONCE = 20_000
"""Trials in a piece of Parquet."""


class Objects(Protocol):
    """Objects by name; each is there whole or not at all."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of all objects in this folder, from the root; empty for none."""
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """The names of all objects in this folder, with their sizes."""
        ...

    def get(self, name: str, most: int) -> bytes | None:
        """What is in an object, its first `most` + 1 bytes where it is larger; None where it is not there."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Puts an object there."""
        ...

    def put_new(self, name: str, data: bytes) -> bool:
        """Puts an object there if there is none of this name; False where there is."""
        ...


class ObjectRemote:
    """Runs in a folder or a bucket. Implements `evenhand.wings.remotes.remote.Remote`."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    @property
    def name(self) -> str:
        return self._objects.name

    def ids(self) -> list[str]:
        stems = [Path(name).stem for name in self._objects.names(RUNS) if name.endswith(".json")]
        return [stem for stem in stems if is_id(stem)]

    def manifest(self, run: str) -> Manifest | None:
        data = self._objects.get(f"{RUNS}/{run}.json", LARGEST_MANIFEST)
        return None if data is None else read_manifest(data, run, self.name)

    def add(self, run: Snapshot) -> bool:
        write = parquet_writer()
        there = self._objects.sizes(f"parts/{run.meta.id}")
        for (size, sha256), piece in zip(run.pieces, run.read(), strict=True):
            self._piece(run.part("run", "db", size, sha256), piece, there)
        tables: dict[str, list[Part]] = {"trials": [], "outcomes": []}

        def table(kind: str, columns: Sequence[tuple[str, Kind]], rows: list[Row]) -> None:
            with tempfile.TemporaryDirectory(prefix="evenhand-push-") as folder:
                file = Path(folder) / "part.parquet"
                write(file, columns, rows)
                data = file.read_bytes()
            part = run.part(kind, "parquet", len(data), hashlib.sha256(data).hexdigest())
            self._piece(part, data, there)
            tables[kind].append(part)

        with RunFile.open(run.path) as file:
            for rows in rows_of(file, AT_ONCE):
                table("trials", TRIALS, rows.trials)
                table("outcomes", OUTCOMES, rows.outcomes)
        # Last, once all of its parts are there: whoever sees the manifest can fetch the run.
        manifest = run.manifest(tables["trials"], tables["outcomes"])
        return self._objects.put_new(f"{RUNS}/{run.meta.id}.json", write_manifest(manifest))

    def _piece(self, part: Part, data: bytes, there: dict[str, int]) -> None:
        # Names are hashes of what is in them. Of another size is one that was broken off.
        if there.get(part.name) != part.size:
            self._objects.put(part.name, data)
            there[part.name] = part.size

    def read(self, manifest: Manifest) -> Iterator[bytes]:
        for part in manifest.file:
            data = self._objects.get(part.name, part.size)
            if data is None:
                raise StoreError(f"{self.name}: run {manifest.id} lacks {part.name}")
            yield data

    def said(self, run: str) -> list[str]:
        return [Path(name).name for name in self._objects.names(f"{SAID}/{run}")]

    def add_said(self, run: str, name: str, data: bytes) -> None:
        self._objects.put(f"{SAID}/{run}/{name}", data)

    def read_said(self, run: str, name: str) -> bytes:
        data = self._objects.get(f"{SAID}/{run}/{name}", LARGEST_SAID)
        if data is None:
            raise StoreError(f"{self.name}: run {run} lacks {SAID}/{run}/{name}")
        return data

    def close(self) -> None:
        """Nothing is held."""


WriteTable = Callable[[Path, Sequence[tuple[str, Kind]], Sequence[Row]], None]


def parquet_writer() -> WriteTable:
    """What writes a file of these columns and rows.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 (heavy, and seldom wanted)
        from pyarrow import parquet  # noqa: PLC0415 (the same)
    except ImportError:
        raise UsageError(
            "runs are pushed with tables in Parquet, which pyarrow writes, and it is not installed",
            hint="Install it: pip install 'evenhand[remote]'",
        ) from None
    kinds: dict[Kind, Any] = {
        "text": pa.string(),
        "json": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
        "moment": pa.timestamp("us", tz="UTC"),
    }

    def write(file: Path, columns: Sequence[tuple[str, Kind]], rows: Sequence[Row]) -> None:
        schema = pa.schema([(name, kinds[kind]) for name, kind in columns])
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(v, kinds[k]) for v, (_, k) in zip(values, columns, strict=True)]
        table = pa.Table.from_arrays(arrays, names=names(columns)).cast(schema)
        parquet.write_table(table, file, compression="zstd")

    return write
