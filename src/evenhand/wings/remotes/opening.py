"""Opens the remote that somebody names: objects in a folder, or in a bucket of S3 and whatever speaks its language.

How this works: pieces are named by a hash of what is in them, so a piece that is there is the right one. They are put
there first. The manifest comes last, and only if there is none: with it the run is there. A stop in between leaves
pieces that no manifest names, which nobody reads, and which the next push uses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.scratch import ScratchFolder
from evenhand.core.secrets import known
from evenhand.languages.documents.findings import unreadable
from evenhand.store.replacing import beside
from evenhand.store.runfile import RunFile
from evenhand.wings.remotes.address import RUNS, S3, Address
from evenhand.wings.remotes.database import DatabaseRemote
from evenhand.wings.remotes.remote import (
    LARGEST_MANIFEST,
    LARGEST_SAID,
    Manifest,
    Part,
    Remote,
    Snapshot,
    is_id,
    lacking,
    read_manifest,
    refuse_lacking,
    write_manifest,
)
from evenhand.wings.remotes.rows import OUTCOMES, TRIALS, Kind, Row, names, rows_of


@contextmanager
def remote_at(address: Address) -> Iterator[Remote]:
    """The remote at an address, until the end.

    Raises:
        UsageError: What reaches it is not installed.
        StoreError: It cannot be reached.
    """
    remote = _remote(address)
    try:
        yield remote
    finally:
        remote.close()


def _remote(address: Address) -> Remote:
    if address.kind == "folder":
        return ObjectRemote(FolderObjects(Path(address.full), address.name))
    if address.kind == S3:
        return ObjectRemote(BucketObjects(address))
    return DatabaseRemote(address)


PATIENCE = timedelta(seconds=60)
"""So long is a request tried again."""
_ANSWER = re.compile(r"<Code>([^<]+)</Code>\s*(?:<Message>([^<]*)</Message>)?")
_ROLES = "/latest/api/token"
"""Where the vendor's machines have the keys of their roles. It is asked when there are none in the environment."""


class BucketObjects:
    """Objects of a bucket, below a folder. Implements `evenhand.wings.remotes.opening.Objects`.

    Raises:
        UsageError: obstore is not installed, or no request can hold a setting of the environment.
        StoreError: The environment's settings cannot be used.
    """

    def __init__(self, address: Address) -> None:
        try:
            import obstore  # noqa: PLC0415 (an extra)
            from obstore.exceptions import AlreadyExistsError, BaseError  # noqa: PLC0415
            from obstore.store import S3Store  # noqa: PLC0415
        except ImportError:
            raise UsageError(
                f"{address.name} is reached by obstore, which is not installed",
                hint="Install it: pip install 'evenhand[remote]'",
            ) from None
        self.name = address.name
        self._obstore: Any = obstore
        self._exists, self._broken = AlreadyExistsError, BaseError
        parts = urlsplit(address.full)
        self._root = parts.path.strip("/")
        plain = _plain_server(os.environ)
        with self._told():
            self._store: Any = S3Store(
                parts.netloc,
                prefix=self._root or None,
                client_options={"allow_http": True} if plain else None,
                retry_config={"max_retries": 6, "retry_timeout": PATIENCE},
            )

    def names(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        with self._told():
            batches = self._obstore.list(self._store, prefix=folder)
            return {str(one["path"]): int(one["size"]) for batch in batches for one in batch}

    def moments(self, folder: str) -> dict[str, float]:
        with self._told():
            batches = self._obstore.list(self._store, prefix=folder)
            return {
                str(one["path"]): one["last_modified"].timestamp()
                for batch in batches
                for one in batch
            }

    def get(self, name: str, most: int) -> bytes | None:
        with self._told():
            try:
                there = self._obstore.get(self._store, name)
                # The size comes before the content, so that a huge object is never held.
                if int(there.meta["size"]) <= most:
                    return bytes(there.bytes())
                return bytes(self._obstore.get_range(self._store, name, start=0, end=most + 1))
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes) -> None:
        with self._told():
            self._obstore.put(self._store, name, data, use_multipart=False)

    def put_new(self, name: str, data: bytes) -> bool:
        with self._told():
            try:
                self._obstore.put(self._store, name, data, mode="create", use_multipart=False)
            except self._exists:
                return False
        return True

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (self._broken, OSError, ValueError) as error:
            raise StoreError(
                f"{self.name}: {known.text(_reason(error))[:300]}",
                hint=_SETTINGS,
            ) from error
        except BaseException as error:
            # What obstore never expected ends in a panic of Rust, which is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise StoreError(
                f"{self.name}: obstore broke down: {known.text(_reason(error))[:200]}",
                hint=_SETTINGS,
            ) from error


_LISTED = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")
_SETTINGS = f"Keys, region and address come from the environment: {', '.join(_LISTED)}."
_ADDRESS = re.compile(r"[!\"$->@-~]+")  # visible ASCII without a query or fragment
_IN_HEADERS = (*_LISTED[:3], "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_TOKEN")
_SERVERS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT")


def _plain_server(env: Mapping[str, str]) -> bool:
    """Whether the environment names a server without TLS, and doesn't say itself whether that is fine.

    Raises:
        UsageError: A setting is one that obstore panics at.
    """
    for name in _IN_HEADERS:
        if not env.get(name, "").isprintable():
            raise UsageError(
                f"{name} has a line break or another invisible character in it",
                hint="Set it again without that: a file or a copied line often ends with one.",
            )
    servers = {name: env[name] for name in _SERVERS if name in env}
    for name, url in servers.items():
        if not _is_server(url):
            raise UsageError(
                f"{name} is empty, or isn't the address of a server",
                hint="Write https://HOST or https://HOST:PORT, or unset it for Amazon's own S3.",
            )
    plain = any(url.startswith("http:") for url in servers.values())
    return plain and "AWS_ALLOW_HTTP" not in env


def _is_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.port != 0 and bool(
            parts.scheme in ("http", "https") and parts.hostname and _ADDRESS.fullmatch(url)
        )
    except ValueError:  # its port is none
        return False


def _reason(error: BaseException) -> str:
    """What the server said, without the request around it."""
    words = " ".join(str(error).split("\n\nDebug source")[0].split())
    if _ROLES in words:
        return "there are no keys in the environment, and this machine has no role that gives them"
    if answer := _ANSWER.search(words):
        return ": ".join(filter(None, answer.groups()))
    return words.removeprefix("Generic S3 error: ")


class FolderObjects:
    """Objects as files. Implements `evenhand.wings.remotes.opening.Objects`."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self.name = name

    def names(self, folder: str) -> list[str]:
        with self._told():
            if not (self._root / folder).is_dir():
                return []
            return [
                f"{folder}/{path.name}"
                for path in (self._root / folder).iterdir()
                if not path.name.startswith(".")
            ]

    def sizes(self, folder: str) -> dict[str, int]:
        with self._told():
            return {
                name: (self._root / name).stat().st_size
                for name in self.names(folder)
                if (self._root / name).is_file()
            }

    def moments(self, folder: str) -> dict[str, float]:
        with self._told():
            return {name: (self._root / name).lstat().st_mtime for name in self.names(folder)}

    def get(self, name: str, most: int) -> bytes | None:
        with self._told():
            path = self._root / name
            problem = unreadable(path)  # a pipe would be waited for, and a device may never end
            if problem is not None:
                raise StoreError(f"{self.name}: {name} {problem[0]}")
            try:
                with path.open("rb") as file:
                    return file.read(most + 1)
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes) -> None:
        path = self._root / name
        with self._told(), self._beside(path, data) as file:
            # The content is on disk already; without this, a power failure may take the name.
            file.replace(path)
            _synced(path.parent)

    def put_new(self, name: str, data: bytes) -> bool:
        path = self._root / name
        with self._told(), self._beside(path, data) as file:
            try:
                os.link(file, path)  # refused where there is one, on shared file systems, too
            except FileExistsError:
                return False
            _synced(path.parent)
            return True

    @contextlib.contextmanager
    def _beside(self, path: Path, data: bytes) -> Iterator[Path]:
        """A file with this in it, on disk, of a name that nobody looks at."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as file:
            with file.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            yield file

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.name}: {error.strerror or error}"
                + (f": {error.filename}" if error.filename else "")
            ) from error


def _synced(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


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

    def moments(self, folder: str) -> dict[str, float]:
        """The names of all objects in this folder, and when each was written, in seconds since 1970."""
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

    def arrivals(self) -> dict[str, float]:
        moments = self._objects.moments(RUNS)
        stems = {Path(name).stem: at for name, at in moments.items() if name.endswith(".json")}
        return {stem: at for stem, at in stems.items() if is_id(stem)}

    def manifest(self, run: str) -> Manifest | None:
        data = self._objects.get(f"{RUNS}/{run}.json", LARGEST_MANIFEST)
        return None if data is None else read_manifest(data, run, self.name)

    def add(self, run: Snapshot) -> bool:
        # Last, once all of its parts are there: whoever sees the manifest can fetch the run.
        manifest = self._with_parts(run)
        return self._objects.put_new(f"{RUNS}/{run.meta.id}.json", write_manifest(manifest))

    def restore(self, run: Snapshot, manifest: Manifest) -> bool:
        if not lacking(manifest, self._objects.sizes(f"parts/{manifest.id}")):
            return False
        self._with_parts(run)
        refuse_lacking(self.name, manifest, self._objects.sizes(f"parts/{manifest.id}"))
        return True

    def _with_parts(self, run: Snapshot) -> Manifest:
        """Puts the parts there that are not, and returns the manifest that names all."""
        write = parquet_writer()
        there = self._objects.sizes(f"parts/{run.meta.id}")
        for (size, sha256), piece in zip(run.pieces, run.read(), strict=True):
            self._piece(run.part("run", "db", size, sha256), piece, there)
        tables: dict[str, list[Part]] = {"trials": [], "outcomes": []}

        def table(kind: str, columns: Sequence[tuple[str, Kind]], rows: list[Row]) -> None:
            with ScratchFolder("push") as folder:
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
        return run.manifest(tables["trials"], tables["outcomes"])

    def _piece(self, part: Part, data: bytes, there: dict[str, int]) -> None:
        # Names are hashes of what is in them. Of another size is one that was broken off.
        if there.get(part.name) != part.size:
            self._objects.put(part.name, data)
            there[part.name] = part.size

    def read(self, manifest: Manifest) -> Iterator[bytes]:
        for part in manifest.file:
            data = self._objects.get(part.name, part.size)
            if data is None:
                raise StoreError(
                    f"{self.name}: run {manifest.id} lacks {part.name}",
                    hint="It was damaged or changed there: push the run again.",
                )
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
