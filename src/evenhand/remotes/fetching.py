"""Fetches runs from a remote: each once, into the cache of this machine, where every reader opens it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import StoreError, UsageError
from evenhand.remotes.manifest import Manifest
from evenhand.remotes.remote import Remote
from evenhand.store.catalogue import matching, newest_first

FOLDER = "pushed"
"""Of the cache."""


def fetch(remote: Remote, run: str, cache: Path) -> Path:
    """The file of the run that somebody means, on this machine; it can only be read.

    Args:
        remote: Where it is.
        run: Its id, or the start of it; empty for the latest.
        cache: The folder that keeps what was fetched.

    Raises:
        UsageError: There is none, or more than one.
        StoreError: It cannot be fetched.
    """
    known = newest_first(Path(name) for name in remote.ids())
    if not known:
        raise UsageError(
            f"{remote.name} has no runs", hint="`evenhand push RUN --to REMOTE` puts one there."
        )
    meant = matching(known, run) if run else known[:1]
    if len(meant) == 1:
        return _fetched(remote, meant[0].name, cache)
    if meant:
        some = ", ".join(path.name for path in meant[:5])
        raise UsageError(
            f"'{run}' could be any of {len(meant)} runs of {remote.name}",
            hint=f"Write more of one: {some}",
        )
    newest = ", ".join(path.name for path in known[:5])
    raise UsageError(f"{remote.name} has no run '{run}'", hint=f"The newest there: {newest}")


def fetch_all(remote: Remote, cache: Path) -> Sequence[Path]:
    """The files of all runs, on this machine, newest first; empty for none.

    Raises:
        StoreError: One cannot be fetched.
    """
    known = newest_first(Path(name) for name in remote.ids())
    return [_fetched(remote, path.name, cache) for path in known]


def _fetched(remote: Remote, run: str, cache: Path) -> Path:
    manifest = remote.manifest(run)
    if manifest is None:
        raise StoreError(f"{remote.name}: run {run} is gone")
    path = cache / FOLDER / manifest.sha256[:32] / f"{run}.db"
    if not path.is_file() or path.stat().st_size != sum(part.size for part in manifest.file):
        _download(remote, manifest, path)
    return path


def _download(remote: Remote, manifest: Manifest, path: Path) -> None:
    """Writes the file, if it is what the manifest says."""
    beside = path.with_name(f".{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole = hashlib.sha256()
        with beside.open("xb") as file:
            for piece in remote.read(manifest):
                whole.update(piece)
                file.write(piece)
        if whole.hexdigest() != manifest.sha256:
            raise StoreError(
                f"{remote.name}: run {manifest.id} is not what was pushed: its hash differs",
                hint="It was damaged or changed there.",
            )
        beside.chmod(0o444)
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
