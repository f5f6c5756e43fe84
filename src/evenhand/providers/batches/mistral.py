"""Mistral's batch jobs: a file of requests is uploaded, and files of answers and errors are had back.

Source: https://docs.mistral.ai/capabilities/batch and https://docs.mistral.ai/api/endpoint/batch, of November 2026. A
job has a million requests at most, all for one model, and 24 hours unless it asks for more. Our name for it is in its
metadata, so that it is found again without its id. A line of results is as one of OpenAI's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.providers.batches.openai import TAG, OpenAIBatches
from evenhand.providers.batches.protocol import BatchLook

PAGE = 100
_ENDED = frozenset({"SUCCESS", "TIMEOUT_EXCEEDED", "CANCELLED", "FAILED"})


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
        state = "ended" if status in _ENDED else "working"
        return BatchLook(vendor_id=name, state=state, results=files)
