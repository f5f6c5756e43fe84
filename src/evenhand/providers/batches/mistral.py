"""Mistral's batch jobs: a file of requests is uploaded, and files of answers and errors are had back.

Source: https://docs.mistral.ai/capabilities/batch and https://docs.mistral.ai/api/endpoint/batch, of November 2026. A
job has a million requests at most, all for one model, and 24 hours unless it asks for more. Our name for it is in its
metadata, so that it is found again without its id. A line of results is as one of OpenAI's.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.providers.batches.control import Control
from evenhand.providers.batches.openai import TAG, form_of, results_in
from evenhand.providers.batches.protocol import BatchLook, BatchPlace, BatchResult

PAGE = 100
_ENDED = frozenset({"SUCCESS", "TIMEOUT_EXCEEDED", "CANCELLED", "FAILED"})


class MistralBatches:
    """Implements `evenhand.providers.batches.protocol.BatchVendor`."""

    most_requests = 1_000_000
    most_bytes = 500_000_000

    def __init__(self, place: BatchPlace) -> None:
        self._control = Control(place)
        self._endpoint = f"/v1/{place.endpoint}"
        self._model = place.model

    def line(self, custom_id: str, body: bytes) -> bytes:
        return encode({"custom_id": custom_id})[:-1] + b',"body":' + body + b"}\n"

    async def create(self, name: str, lines: Sequence[bytes]) -> BatchLook:
        boundary = secrets.token_hex(16)
        form = form_of(boundary, f"evenhand-{name}.jsonl", b"".join(lines))
        file = await self._control.post("files", form, f"multipart/form-data; boundary={boundary}")
        settings = {
            "input_files": [file.get("id")],
            "endpoint": self._endpoint,
            "model": self._model,
            "metadata": {TAG: name},
        }
        return _look(await self._control.post_once("batch/jobs", encode(settings)))

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
                    return _look(job), False
            if len(jobs) < PAGE:
                return None, False
            page += 1

    async def look(self, vendor_id: str) -> BatchLook:
        return _look(await self._control.get(f"batch/jobs/{vendor_id}"))

    async def collect(self, look: BatchLook) -> Sequence[BatchResult]:
        return await results_in(self._control, look)

    async def cancel(self, vendor_id: str) -> None:
        await self._control.post(f"batch/jobs/{vendor_id}/cancel", b"")


def _look(job: Mapping[str, Any]) -> BatchLook:
    name, status = str(job.get("id") or ""), str(job.get("status") or "")
    if not name:
        raise BadReply("the vendor described a batch without an id", billed=None)
    files = tuple(str(job[key]) for key in ("output_file", "error_file") if job.get(key))
    if status == "FAILED" and not files:
        errors = [str(as_mapping(one).get("message")) for one in as_array(job.get("errors"))]
        return BatchLook(
            vendor_id=name,
            state="refused",
            message=f"failed: {'; '.join(errors) or 'no reason given'}",
        )
    return BatchLook(
        vendor_id=name, state="ended" if status in _ENDED else "working", results=files
    )
