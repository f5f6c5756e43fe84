"""Objects in a bucket of S3, or of whatever speaks its language."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.secrets import known
from evenhand.wings.remotes.address import Address

PATIENCE = timedelta(seconds=60)
"""So long is a request tried again."""
_ANSWER = re.compile(r"<Code>([^<]+)</Code>\s*(?:<Message>([^<]*)</Message>)?")
_ROLES = "/latest/api/token"
"""Where the vendor's machines have the keys of their roles. It is asked when there are none in the environment."""


class BucketObjects:
    """Objects of a bucket, below a folder. Implements `evenhand.wings.remotes.objects.Objects`.

    Raises:
        UsageError: obstore is not installed.
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
        with self._told():
            self._store: Any = S3Store(
                parts.netloc,
                prefix=self._root or None,
                retry_config={"max_retries": 6, "retry_timeout": PATIENCE},
            )

    def names(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        with self._told():
            batches = self._obstore.list(self._store, prefix=folder)
            return {str(one["path"]): int(one["size"]) for batch in batches for one in batch}

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
                hint="Keys, region and address come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,"
                " AWS_REGION, AWS_ENDPOINT_URL.",
            ) from error


def _reason(error: Exception) -> str:
    """What the server said, without the request around it."""
    words = " ".join(str(error).split("\n\nDebug source")[0].split())
    if _ROLES in words:
        return "there are no keys in the environment, and this machine has no role that gives them"
    if answer := _ANSWER.search(words):
        return ": ".join(filter(None, answer.groups()))
    return words.removeprefix("Generic S3 error: ")
