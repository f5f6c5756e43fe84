"""Requests that steer batches: uploads, questions and results. What fails on the way is tried again."""

from __future__ import annotations

from asyncio import sleep
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from evenhand.core.encoding import decoded
from evenhand.core.errors import BadReply, ProviderError
from evenhand.core.json_shapes import is_object
from evenhand.core.secrets import known
from evenhand.providers import http
from evenhand.providers.batches.protocol import BatchPlace
from evenhand.providers.faults import fault

LARGEST_RESULTS = 1 << 30
ATTEMPTS = 5
PAUSE_S = 0.5
TIMEOUT_S = 600.0


class Control:
    """The vendor's door.

    Args:
        place: Where it is, and who asks.
    """

    def __init__(self, place: BatchPlace) -> None:
        self._place = place
        self._host = urlsplit(place.address).netloc.rpartition("@")[2]

    async def get(self, path: str) -> dict[str, Any]:
        """A JSON object.

        Raises:
            ProviderError: There is none, however often it was asked.
        """
        return self._object(await self._patiently("GET", path, None, "application/json"))

    async def text(self, path: str) -> bytes:
        """A file, without the secrets that it may repeat.

        Raises:
            ProviderError: It cannot be had.
        """
        return known.without(await self._patiently("GET", path, None, "application/json"))

    async def post(
        self, path: str, body: bytes, content: str = "application/json"
    ) -> dict[str, Any]:
        """What is answered to something that may be sent twice.

        Raises:
            ProviderError: Nothing, however often it was sent.
        """
        return self._object(await self._patiently("POST", path, body, content))

    async def post_once(self, path: str, body: bytes) -> dict[str, Any]:
        """What is answered to something that is sent again only where it is certain that it did not arrive.

        Raises:
            ProviderError: It did not arrive; or, where `billed` is None, nobody knows.
        """
        return self._object(
            await self._patiently("POST", path, body, "application/json", once=True)
        )

    async def _patiently(
        self, method: str, path: str, body: bytes | None, content: str, *, once: bool = False
    ) -> bytes:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._send(method, path, body, content)
            except ProviderError as error:
                if once and error.status is not None and error.status >= 500:
                    error.billed = None  # it may have arrived all the same
                if not error.retryable or attempt == ATTEMPTS or (once and error.billed is None):
                    raise
                wait_s = error.retry_after_s or PAUSE_S * 2 ** (attempt - 1)
            await sleep(min(wait_s, 60.0))
        raise AssertionError  # the last attempt returns or raises

    async def _send(self, method: str, path: str, body: bytes | None, content: str) -> bytes:
        url = path if "://" in path else f"{self._place.address}/{path}"
        headers = {**self._place.headers}
        if body is not None:
            headers["content-type"] = content
        answer = await http.transport().post(
            url, headers, body, TIMEOUT_S, method=method, largest=LARGEST_RESULTS
        )
        if answer.status != 200:
            raise fault(answer, host=self._host, key_hint="Look at the key.")
        return answer.body

    def _object(self, data: bytes) -> dict[str, Any]:
        value = decoded(data)
        if not is_object(value):
            raise BadReply(f"{self._host} did not answer with a JSON object", billed=None)
        return value


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a file that are not empty, without a byte order mark."""
    return (line for line in data.removeprefix(BOM_UTF8).split(b"\n") if line.strip())


def line_fault(status: int, body: bytes) -> ProviderError:
    """What an error in a line of results means: the same as in an answer of its own."""
    answer = http.HttpAnswer(status, {}, body, 0.0)
    return fault(answer, host="a line of the batch", key_hint="Look at the key.")
