"""Runs of remotes as the command line names them, `REMOTE#RUN`: each is fetched once, into this machine's cache."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.cli.streams import tell
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import safe
from evenhand.store.home import make_folder
from evenhand.store.labels.exchange import Said, add_said, read_said
from evenhand.store.replacing import beside
from evenhand.store.run_lookup import (
    cache_folder,
    home_for,
    id_at,
    matching,
    newest_first,
    runs_back,
)
from evenhand.wings.remotes.remote import (
    LARGEST_SAID,
    Manifest,
    Remote,
    said_name,
    start_again,
)


class RemoteRuns:
    """Runs of remotes. Implements `evenhand.cli.remote_run_names.RunNames`."""

    def one(self, name: str) -> str | None:
        """The file of a remote's run, fetched to this machine; None where the name is none of a remote's."""
        from evenhand.wings.remotes.address import remote_run
        from evenhand.wings.remotes.opening import remote_at

        meant = remote_run(name)
        if meant is None:
            return None
        with remote_at(meant.address) as remote:
            path = fetch(remote, meant.run, cache_folder(home_for(None)))
        return f"{path}:{meant.column}" if meant.column else str(path)

    def several(self, name: str) -> Sequence[Path] | None:
        """The files of all runs of a remote, on this machine; says which are left out, and why."""
        from evenhand.wings.remotes.address import remote_run
        from evenhand.wings.remotes.opening import remote_at

        meant = remote_run(name)
        if meant is None:
            return None
        with remote_at(meant.address) as remote:
            runs = fetch_all(remote, cache_folder(home_for(None)))
        for why in runs.left_out:
            tell(f"a run is left out: {safe(why)}")
        return runs.files


RUN_NAMES = RemoteRuns()


FOLDER = "pushed"
"""Of the cache."""
_LEFT_FREE = 256 << 20
"""Bytes of the disk that no run takes."""


def fetch(remote: Remote, run: str, cache: Path) -> Path:
    """The file of the run that somebody means, on this machine; it can only be read.

    Args:
        run: Its id, or the start of it; empty for the latest.
        cache: The folder that keeps what was fetched.

    Raises:
        UsageError: There is none, or more than one.
        StoreError: It cannot be fetched.
    """
    arrivals = remote.arrivals()
    known = _newest_first(arrivals)
    if not known:
        raise UsageError(
            f"{remote.name} has no runs",
            hint="`evenhand runs push RUN --to REMOTE` puts one there.",
        )
    back = runs_back(run)
    meant = matching(known, run) if back is None else known[back : back + 1]
    if back is not None and meant and (ahead := _ahead(arrivals, back, meant[0])):
        tell(
            f"run {ahead} of {safe(remote.name)} says that it began after it came there, so the clock of its machine"
            f" was ahead: by the remote's clock, {run or 'latest'} is {meant[0].name}"
        )
    if len(meant) == 1:
        try:
            return _fetched(remote, meant[0].name, cache)
        except StoreError as error:
            others = ", ".join(path.name for path in known[:6] if path != meant[0])
            if run or error.hint or not others:
                raise
            raise StoreError(
                error.message, hint=f"REMOTE#RUN names another run: {others}"
            ) from error
    if meant:
        some = ", ".join(path.name for path in meant[:5])
        raise UsageError(
            f"'{run}' could be any of {len(meant)} runs of {remote.name}",
            hint=f"Write more of one: {some}",
        )
    newest = ", ".join(path.name for path in known[:5])
    raise UsageError(f"{remote.name} has no run '{run}'", hint=f"The newest there: {newest}")


def _newest_first(arrivals: Mapping[str, float]) -> list[Path]:
    """The runs of a remote, newest first: by when they began, or when they came there, if that was earlier.

    Runs come from many machines. One whose clock was ahead would make its run the latest for as long.
    """

    def began(run: Path) -> str:
        return min(run.name, id_at(arrivals[run.name], _LAST))

    return sorted(newest_first(map(Path, arrivals)), key=began, reverse=True)


_LAST = "f" * 20
"""Of the ids of one moment, the last."""


def _ahead(arrivals: Mapping[str, float], back: int, meant: Path) -> str:
    """The run that its machine's clock has put into this place wrongly; empty where no clock has."""
    run = newest_first(map(Path, arrivals))[back].name
    return "" if run == meant.name or run <= id_at(arrivals[run], _LAST) else run


class FetchedRuns(Record, frozen=True):
    """The runs of a remote.

    Attributes:
        files: On this machine, newest first; empty for none.
        left_out: Why runs are not among them.
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


def fetch_all(remote: Remote, cache: Path) -> FetchedRuns:
    """All runs. One that cannot be fetched, for example for a damaged manifest, is left out, and the others are there.

    Raises:
        StoreError: The remote cannot be reached, or none of its runs can be fetched.
    """
    files: list[Path] = []
    errors: list[StoreError] = []
    for path in _newest_first(remote.arrivals()):
        try:
            files.append(_fetched(remote, path.name, cache))
        except StoreError as error:
            errors.append(error)
    if errors and not files:
        raise errors[0]
    return FetchedRuns(tuple(files), tuple(error.message for error in errors))


def _fetched(remote: Remote, run: str, cache: Path) -> Path:
    manifest = remote.manifest(run)
    if manifest is None:
        raise StoreError(f"{remote.name}: run {run} is gone")
    remarks = sorted(remote.said(run))
    # New labels make another file: one that is being read is never changed.
    version = hashlib.sha256(" ".join((manifest.sha256, *remarks)).encode()).hexdigest()
    path = cache / FOLDER / version[:32] / f"{run}.db"
    size = sum(part.size for part in manifest.file)
    # With labels added, a file has another size than the manifest says.
    if not path.is_file() or (not remarks and path.stat().st_size != size):
        documents = _all_said(remote, run, remarks)
        _refuse_too_large(remote, run, size, cache)
        _download(remote, manifest, documents, path)
    return path


def _all_said(remote: Remote, run: str, names: Sequence[str]) -> list[Said]:
    documents: list[Said] = []
    size = 0
    for name in names:
        data = remote.read_said(run, name)
        size += len(data)
        if size > LARGEST_SAID:
            raise StoreError(
                f"{remote.name}: labels of run {run} have more than {LARGEST_SAID:,} bytes"
            )
        if said_name(data) != name:
            raise StoreError(
                f"{remote.name}: labels of run {run} are not what was pushed: their hash differs",
                hint=f"They were damaged or changed there, as {name!r:.80}.",
            )
        documents.append(read_said(data, run, remote.name))
    return documents


def _refuse_too_large(remote: Remote, run: str, size: int, cache: Path) -> None:
    """Before anything is written: a disk that is full stops others, too."""
    there = next(folder for folder in (cache, *cache.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    if size > free - _LEFT_FREE:
        raise StoreError(
            f"{remote.name}: run {run} has {size / 1e9:,.1f} GB, and the disk of {cache} has room for"
            f" {max(0, free - _LEFT_FREE) / 1e9:,.1f} GB",
            hint="Free some space, or set EVENHAND_CACHE to a folder of another disk.",
        )


def _download(remote: Remote, manifest: Manifest, remarks: Sequence[Said], path: Path) -> None:
    """Writes the file, if it is what the manifest says, with what was said of it since."""
    differs = StoreError(
        f"{remote.name}: run {manifest.id} is not what was pushed: its hash differs",
        hint=f"It was damaged or changed there: {start_again(manifest.id)}.",
    )
    try:
        make_folder(path.parent)
        with beside(path) as fetched:
            whole = hashlib.sha256()
            with fetched.open("wb") as file:
                for part, piece in zip(manifest.file, remote.read(manifest), strict=True):
                    if len(piece) != part.size:
                        has = f"{len(piece):,}" if len(piece) < part.size else "more"
                        raise StoreError(
                            f"{remote.name}: {part.name} of run {manifest.id} has {has} bytes, and its manifest"
                            f" says {part.size:,}",
                            hint="It was damaged or changed there: push the run again.",
                        )
                    # By its name, so that the first wrong piece is the last one that is written.
                    if not part.name.endswith(f"/run-{hashlib.sha256(piece).hexdigest()[:32]}.db"):
                        raise differs
                    whole.update(piece)
                    file.write(piece)
            if whole.hexdigest() != manifest.sha256:
                raise differs
            if remarks:
                add_said(fetched, remarks)
            # It is a copy: what was changed in it would never get to the remote.
            fetched.chmod(0o444)
            fetched.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
