"""Anthropic's message batches: a list of requests is sent, and lines of results are had back once all have ended.

Source: https://platform.claude.com/docs/en/build-with-claude/batch-processing, of November 2026. A batch has 100,000
requests and 256 MB at most. It takes no name of ours, so the ids of its requests begin with one: they are seen in its
results, which are there when it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import BadReply, Overloaded
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.providers.batches.control import Control, line_fault, lines_of
from evenhand.providers.batches.openai import SLACK_S
from evenhand.providers.batches.protocol import BatchLook, BatchPlace, BatchResult

_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


_NOTHING = msgspec.Raw(b"null")


class _Said(msgspec.Struct):
    type: str = ""
    message: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


class _Row(msgspec.Struct):
    custom_id: str
    result: _Said


_decoder = msgspec.json.Decoder(_Row)


class AnthropicBatches:
    """Implements `evenhand.providers.batches.protocol.BatchVendor`."""

    most_requests = 100_000
    most_bytes = 256_000_000

    def __init__(self, place: BatchPlace) -> None:
        self._control = Control(place)

    def line(self, custom_id: str, body: bytes) -> bytes:
        return encode({"custom_id": custom_id})[:-1] + b',"params":' + body + b"}"

    async def create(self, name: str, lines: Sequence[bytes]) -> BatchLook:
        del name  # the lines say it
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        return _look(await self._control.post_once("messages/batches", body))

    async def find(
        self, name: str, requests: int, since: float, known: frozenset[str]
    ) -> tuple[BatchLook | None, bool]:
        maybe, after = False, ""
        while True:
            page = await self._control.get(f"messages/batches?limit=100{after}")
            batches = [as_mapping(one) for one in as_array(page.get("data"))]
            for batch in batches:
                if _time(batch.get("created_at")) < since - SLACK_S:
                    return None, maybe
                if batch.get("id") in known or _total(batch) != requests:
                    continue
                look = _look(batch)
                if look.state == "working":
                    maybe = True
                elif await self._is_named(look, name):
                    return look, False
            if not page.get("has_more") or not batches:
                return None, maybe
            after = f"&after_id={batches[-1].get('id')}"

    async def _is_named(self, look: BatchLook, name: str) -> bool:
        results = await self.collect(look)
        return any(result.custom_id.startswith(f"{name}-") for result in results)

    async def look(self, vendor_id: str) -> BatchLook:
        return _look(await self._control.get(f"messages/batches/{vendor_id}"))

    async def collect(self, look: BatchLook) -> Sequence[BatchResult]:
        if not look.results:
            return ()
        data = await self._control.text(f"messages/batches/{look.vendor_id}/results")
        return [result for line in lines_of(data) if (result := _result(line)) is not None]

    async def cancel(self, vendor_id: str) -> None:
        await self._control.post(f"messages/batches/{vendor_id}/cancel", b"")


def _look(batch: Mapping[str, Any]) -> BatchLook:
    name = str(batch.get("id") or "")
    if not name:
        raise BadReply("the vendor described a batch without an id", billed=None)
    if batch.get("processing_status") != "ended":
        return BatchLook(vendor_id=name, state="working")
    url = str(batch.get("results_url") or "")
    return BatchLook(vendor_id=name, state="ended", results=(url,) if url else (), gone=not url)


def _result(line: bytes) -> BatchResult | None:
    """What a line says; None where it can't be read, so that its request counts as unanswered."""
    try:
        row = _decoder.decode(line)
    except msgspec.MsgspecError:
        return None
    result = row.result
    if result.type == "succeeded" and bytes(result.message) != b"null":
        return BatchResult(row.custom_id, bytes(result.message))
    if result.type == "errored" and bytes(result.error) != b"null":
        body = bytes(result.error)
        error = as_mapping(decoded(body))
        kind = as_mapping(error.get("error")).get("type") or error.get("type")
        return BatchResult(row.custom_id, error=line_fault(_STATUS.get(str(kind), 500), body))
    what = f"a line of the batch was not answered: {result.type or 'no reason given'}"
    return BatchResult(row.custom_id, error=Overloaded(what))


def _total(batch: Mapping[str, Any]) -> int:
    counts = as_mapping(batch.get("request_counts"))
    return sum(count for count in counts.values() if isinstance(count, int))


def _time(moment: object) -> float:
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return 0.0
