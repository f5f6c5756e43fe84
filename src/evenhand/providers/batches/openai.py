"""Batches of OpenAI and of Mistral: a file of requests is uploaded, and files of answers and errors are had back.

Source: https://platform.openai.com/docs/api-reference/batch, of November 2026. A file has 50,000 requests and 200 MB at
most, all for one model. Our name for a batch is in its metadata, so that it is found again without its id.

Mistral's batch jobs are much the same. Source: https://docs.mistral.ai/capabilities/batch and
https://docs.mistral.ai/api/endpoint/batch, of November 2026. A job has a million requests at most, and 24 hours unless
it asks for more.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evenhand.core.encoding import encode
from evenhand.core.errors import BadReply, Overloaded, ProviderError, UnknownModel
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.providers.batches.control import Control, line_fault, lines_of
from evenhand.providers.batches.protocol import BatchLook, BatchPlace, BatchResult

TAG = "evenhand_batch"
SLACK_S = 26 * 3600.0
"""The vendor's clock and ours may differ by so much: 26 hours lie between the first time zone and the last."""
_ENDED = frozenset({"completed", "expired", "cancelled"})


class _Response(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Row(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Row)


class OpenAIBatches:
    """Implements `evenhand.providers.batches.protocol.BatchVendor`."""

    most_requests = 50_000
    most_bytes = 200_000_000

    _jobs = "batches"
    """Where batches are, below the vendor's address."""

    def __init__(self, place: BatchPlace) -> None:
        self._control = Control(place)
        self._endpoint = f"/v1/{place.endpoint}"
        self._model = place.model

    def line(self, custom_id: str, body: bytes) -> bytes:
        head = encode(
            {"custom_id": custom_id, "method": "POST", "url": self._endpoint}, ordered=False
        )
        return head[:-1] + b',"body":' + body + b"}\n"

    async def create(self, name: str, lines: Sequence[bytes]) -> BatchLook:
        boundary = secrets.token_hex(16)
        form = form_of(boundary, f"evenhand-{name}.jsonl", b"".join(lines))
        file = await self._control.post("files", form, f"multipart/form-data; boundary={boundary}")
        settings = {
            **self._settings(file.get("id")),
            "endpoint": self._endpoint,
            "metadata": {TAG: name},
        }
        return self._look(await self._control.post_once(self._jobs, encode(settings)))

    def _settings(self, file: object) -> dict[str, object]:
        return {"input_file_id": file, "completion_window": "24h"}

    async def find(
        self, name: str, requests: int, since: float, known: frozenset[str]
    ) -> tuple[BatchLook | None, bool]:
        del requests, known  # the name is enough
        after = ""
        while True:
            page = await self._control.get(f"batches?limit=100{after}")
            batches = [as_mapping(one) for one in as_array(page.get("data"))]
            for batch in batches:
                if as_mapping(batch.get("metadata")).get(TAG) == name:
                    return self._look(batch), False
            last = batches[-1] if batches else {}
            if not page.get("has_more") or float(last.get("created_at") or 0) < since - SLACK_S:
                return None, False
            after = f"&after={last.get('id')}"

    async def look(self, vendor_id: str) -> BatchLook:
        return self._look(await self._control.get(f"{self._jobs}/{vendor_id}"))

    async def collect(self, look: BatchLook) -> Sequence[BatchResult]:
        """The results that the lines of its files say, of those that can be read."""
        results: list[BatchResult] = []
        for file in look.results:
            data = await self._control.text(f"files/{file}/content")
            results += [one for line in lines_of(data) if (one := result_of(line)) is not None]
        return results

    async def cancel(self, vendor_id: str) -> None:
        await self._control.post(f"{self._jobs}/{vendor_id}/cancel", b"")

    def _look(self, batch: Mapping[str, Any]) -> BatchLook:
        name, status = str(batch.get("id") or ""), str(batch.get("status") or "")
        if not name:
            raise BadReply("the vendor described a batch without an id", billed=None)
        if status == "failed":
            errors = [
                as_mapping(one) for one in as_array(as_mapping(batch.get("errors")).get("data"))
            ]
            first = errors[0] if errors else {}
            crowded = any("limit" in str(one.get("code")) for one in errors)
            message = (
                f"{first.get('code') or 'failed'}: {first.get('message') or 'no reason given'}"
            )
            return BatchLook(vendor_id=name, state="refused", message=message, crowded=crowded)
        files = tuple(
            str(batch[key]) for key in ("output_file_id", "error_file_id") if batch.get(key)
        )
        return BatchLook(
            vendor_id=name, state="ended" if status in _ENDED else "working", results=files
        )


def result_of(line: bytes) -> BatchResult | None:
    """What a line says; None where it can't be read, so that its request counts as unanswered."""
    try:
        row = _decoder.decode(line)
    except msgspec.MsgspecError:
        return None
    if row.response is None:
        code = row.error.code if row.error else ""
        message = row.error.message if row.error else ""
        problem = (
            f"a line of the batch was not answered: {code or 'no reason given'} {message or ''}"
        )
        return BatchResult(row.custom_id, error=Overloaded(problem.strip()))
    status, body = row.response.status_code, bytes(row.response.body)
    if status in (200, 201) and body != b"null":
        return BatchResult(row.custom_id, body)
    if status < 400:
        return BatchResult(
            row.custom_id, error=Overloaded(f"a line of the batch has status {status}")
        )
    error: ProviderError = line_fault(status, body)
    if isinstance(error, UnknownModel):
        error.hint = "Look at the model's name; some models are not offered in batches."
    return BatchResult(row.custom_id, error=error)


def form_of(boundary: str, name: str, data: bytes) -> bytes:
    """A form with a file in it."""
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return head.encode() + data + f"\r\n--{boundary}--\r\n".encode()


PAGE = 100
_ENDED_AT_MISTRAL = frozenset({"SUCCESS", "TIMEOUT_EXCEEDED", "CANCELLED", "FAILED"})


class MistralBatches(OpenAIBatches):
    """Implements `evenhand.providers.batches.protocol.BatchVendor`."""

    most_requests = 1_000_000
    most_bytes = 500_000_000
    _jobs = "batch/jobs"

    def line(self, custom_id: str, body: bytes) -> bytes:
        return encode({"custom_id": custom_id})[:-1] + b',"body":' + body + b"}\n"

    def _settings(self, file: object) -> dict[str, object]:
        return {"input_files": [file], "model": self._model}

    async def find(
        self, name: str, requests: int, since: float, known: frozenset[str]
    ) -> tuple[BatchLook | None, bool]:
        # The name is enough; in which order they are listed is not documented.
        del (requests, known, since)
        page = 0
        while True:
            answer = await self._control.get(f"batch/jobs?page={page}&page_size={PAGE}")
            jobs = [as_mapping(one) for one in as_array(answer.get("data"))]
            for job in jobs:
                if as_mapping(job.get("metadata")).get(TAG) == name:
                    return self._look(job), False
            if len(jobs) < PAGE:
                return None, False
            page += 1

    def _look(self, batch: Mapping[str, Any]) -> BatchLook:
        name, status = str(batch.get("id") or ""), str(batch.get("status") or "")
        if not name:
            raise BadReply("the vendor described a batch without an id", billed=None)
        files = tuple(str(batch[key]) for key in ("output_file", "error_file") if batch.get(key))
        if status == "FAILED" and not files:
            errors = [str(as_mapping(one).get("message")) for one in as_array(batch.get("errors"))]
            message = f"failed: {'; '.join(errors) or 'no reason given'}"
            return BatchLook(vendor_id=name, state="refused", message=message)
        state = "ended" if status in _ENDED_AT_MISTRAL else "working"
        return BatchLook(vendor_id=name, state=state, results=files)
