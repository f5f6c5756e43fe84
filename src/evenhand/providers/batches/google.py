"""Gemini's batches: a list of requests is sent, and a list of responses is part of the batch once it has ended.

Source: https://ai.google.dev/gemini-api/docs/batch-api and https://ai.google.dev/api/batch-api, of November 2026. A
list of requests has 20 MB at most; how many they may be is not documented. Our name for a batch is its `displayName`,
so that it is found again without its id. Each request carries its id in its metadata, which its response repeats. A
batch that has not ended after 48 hours expires, and has no responses at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply, Overloaded
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.providers.batches.control import Control, line_fault
from evenhand.providers.batches.protocol import BatchLook, BatchPlace, BatchResult

PAGE = 100
_ENDED = frozenset({"SUCCEEDED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED"})
_STATUS: Mapping[int, int] = {
    3: 400,  # INVALID_ARGUMENT
    4: 504,  # DEADLINE_EXCEEDED
    5: 404,  # NOT_FOUND
    7: 403,  # PERMISSION_DENIED
    8: 429,  # RESOURCE_EXHAUSTED
    9: 400,  # FAILED_PRECONDITION
    11: 400,  # OUT_OF_RANGE
    13: 500,  # INTERNAL
    14: 503,  # UNAVAILABLE
    16: 401,  # UNAUTHENTICATED
}
"""What a line's error has as a code, a number of gRPC's → the status that a request by itself would have had."""


class GoogleBatches:
    """Implements `evenhand.providers.batches.protocol.BatchVendor`."""

    most_requests = 100_000
    most_bytes = 19_000_000

    def __init__(self, place: BatchPlace) -> None:
        self._control = Control(place)
        self._model = place.model

    def line(self, custom_id: str, body: bytes) -> bytes:
        return b'{"request":' + body + b',"metadata":' + encode({"key": custom_id}) + b"}"

    async def create(self, name: str, lines: Sequence[bytes]) -> BatchLook:
        head = b'{"batch":{"displayName":' + encode(name)
        body = head + b',"inputConfig":{"requests":{"requests":[' + b",".join(lines) + b"]}}}}"
        path = f"models/{self._model}:batchGenerateContent"
        return _look(await self._control.post_once(path, body))

    async def find(
        self, name: str, requests: int, since: float, known: frozenset[str]
    ) -> tuple[BatchLook | None, bool]:
        # The name is enough; in which order they are listed is not documented.
        del (requests, known, since)
        after = ""
        while True:
            page = await self._control.get(f"batches?pageSize={PAGE}{after}")
            for batch in map(as_mapping, as_array(page.get("operations"))):
                if as_mapping(batch.get("metadata")).get("displayName") == name:
                    return _look(batch), False
            if not page.get("nextPageToken"):
                return None, False
            after = f"&pageToken={page['nextPageToken']}"

    async def look(self, vendor_id: str) -> BatchLook:
        return _look(await self._control.get(vendor_id))

    async def collect(self, look: BatchLook) -> Sequence[BatchResult]:
        if not look.results:
            return ()
        batch = as_mapping(decode(await self._control.text(look.vendor_id)))
        results = (_result(as_mapping(row)) for row in _responses(batch))
        return [result for result in results if result is not None]

    async def cancel(self, vendor_id: str) -> None:
        await self._control.post(f"{vendor_id}:cancel", b"{}")


def _look(batch: Mapping[str, Any]) -> BatchLook:
    name = str(batch.get("name") or "")
    if not name:
        raise BadReply("the vendor described a batch without a name", billed=None)
    state = str(as_mapping(batch.get("metadata")).get("state") or "").rpartition("STATE_")[2]
    answered = bool(_responses(batch))
    if state == "FAILED" and not answered:
        error = as_mapping(batch.get("error"))
        message = str(error.get("message") or "no reason given")
        code = error.get("code")
        status = _STATUS.get(code, code) if isinstance(code, int) else 0
        faulty, crowded = status >= 500, status == 429
        words = f"failed: {message}"
        return BatchLook(
            vendor_id=name, state="refused", message=words, crowded=crowded, faulty=faulty
        )
    if state in _ENDED or state == "FAILED":
        return BatchLook(vendor_id=name, state="ended", results=(name,) if answered else ())
    return BatchLook(vendor_id=name, state="working")


def _responses(batch: Mapping[str, Any]) -> Sequence[object]:
    """The responses of a batch: the guide reads them off `response`, the SDK off `metadata.output`."""
    for output in (as_mapping(batch.get("metadata")).get("output"), batch.get("response")):
        inlined = as_mapping(output).get("inlinedResponses")
        rows = as_array(as_mapping(inlined).get("inlinedResponses")) or as_array(inlined)
        if rows:
            return rows
    return ()


def _result(row: Mapping[str, Any]) -> BatchResult | None:
    """What a response says; None where it says not to which request, which then counts as unanswered."""
    key = as_mapping(row.get("metadata")).get("key")
    if not isinstance(key, str):
        return None
    if row.get("response"):
        return BatchResult(key, encode(row["response"], ordered=False))
    error = as_mapping(row.get("error"))
    code = error.get("code")
    if not isinstance(code, int) or not code:
        return BatchResult(key, error=Overloaded("a line of the batch was not answered"))
    status = code if code >= 400 else _STATUS.get(code, 500)
    return BatchResult(key, error=line_fault(status, encode({"error": error}, ordered=False)))
