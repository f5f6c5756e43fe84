"""Opens the remote that somebody names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.wings.remotes.address import S3, Address
from evenhand.wings.remotes.bucket import BucketObjects
from evenhand.wings.remotes.database import DatabaseRemote
from evenhand.wings.remotes.folder import FolderObjects
from evenhand.wings.remotes.objects import ObjectRemote
from evenhand.wings.remotes.remote import Remote


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
