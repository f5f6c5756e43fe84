"""Mistral's batch jobs: a file of lines goes in, a file of answers and one of errors come out."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_mapping
from evenhand.testing.batch_files import BatchFiles, Said, refused
from evenhand.testing.batch_queue import DAY_S, BatchLine, BatchQueue, FakeBatch
from evenhand.testing.connection import HttpRequest
from evenhand.testing.openai_batches import FileBatches

ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")
MOST_REQUESTS, MOST_HOURS = 1_000_000, 168


class MistralBatches(FileBatches):
    """Answers what is asked of batch jobs. What was not reached of one is in neither of its files."""

    _path = re.compile(r"/batch/jobs(?:/([^/]+))?(/cancel)?$")
    _unknown = "Batch job not found: {}"
    _in_no_file = frozenset({"expired", "canceled"})

    def __init__(self, queue: BatchQueue, files: BatchFiles) -> None:
        super().__init__(queue, files)
        self._made_of: dict[str, tuple[str, str, str]] = {}

    def _make(self, request: HttpRequest) -> Said:
        body = as_mapping(decoded(request.body))
        names = body.get("input_files")
        files = [self._files.get(str(name)) for name in names] if isinstance(names, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        endpoint, model = str(body.get("endpoint")), str(body.get("model") or "")
        hours = body.get("timeout_hours", 24)
        if not files or None in files:
            return refused(422, "input_files: there is no such file")
        if endpoint not in ENDPOINTS or not model:
            return refused(422, "the endpoint is not supported, or there is no model")
        if not isinstance(hours, int) or not 1 <= hours <= MOST_HOURS:
            return refused(422, f"timeout_hours is 1 to {MOST_HOURS}")
        data = b"\n".join(file.data for file in files if file is not None)
        lines, failure = self._lines(data, endpoint, model)
        metadata = as_mapping(body.get("metadata"))
        window_s = hours * DAY_S / 24
        job = self.queue.make(lines, metadata, failure=failure, window_s=window_s)
        self._made_of[job.id] = endpoint, model, str(body.get("input_files", [""])[0])
        return 200, self._described(job)

    def _lines(self, data: bytes, endpoint: str, model: str) -> tuple[list[BatchLine], str]:
        lines: list[BatchLine] = []
        for number, text in enumerate(filter(None, data.split(b"\n")), 1):
            row = as_mapping(decoded(text))
            name, body = row.get("custom_id"), as_mapping(row.get("body"))
            if not isinstance(name, str) or not body:
                return [], f"line {number} is not a request"
            if body.get("model", model) != model:
                return [], f"line {number} is for another model"
            lines.append(BatchLine(name, endpoint, {"model": model, **body}))
        if len({line.custom_id for line in lines}) < len(lines) or not lines:
            return [], "there are no lines, or two with the same custom_id"
        if len(lines) > (self.queue.rules.most_requests or MOST_REQUESTS):
            return [], f"{len(lines)} requests are too many"
        return lines, ""

    def _list(self, query: str) -> Said:
        parameters = parse_qs(query)
        size = int(parameters.get("page_size", ["100"])[0])
        page = int(parameters.get("page", ["0"])[0])
        jobs = self.queue.newest_first()
        page_jobs = [self._described(job) for job in jobs[page * size : (page + 1) * size]]
        return 200, {"object": "list", "data": page_jobs, "total": len(jobs)}

    def _described(self, batch: FakeBatch) -> dict[str, Any]:
        job = batch
        endpoint, model, file = self._made_of[job.id]
        output, errors = self._files_of(job)
        total, (good, bad) = len(job.lines), self._counted(job)
        return {
            "id": job.id,
            "object": "batch",
            "input_files": [file],
            "metadata": dict(job.metadata) or None,
            "endpoint": endpoint,
            "model": model,
            "output_file": output,
            "error_file": errors,
            "errors": [{"message": job.failure, "count": 1}] if job.failure else [],
            "status": _status(job),
            "created_at": int(job.made_at),
            "started_at": None if job.failure else int(job.made_at),
            "completed_at": None if job.ended_at is None else int(job.ended_at),
            "total_requests": total,
            "completed_requests": good + bad,
            "succeeded_requests": good,
            "failed_requests": bad,
        }


def _status(job: FakeBatch) -> str:
    if job.failure:
        return "FAILED"
    if job.ended_at is None:
        return "RUNNING" if job.cancelled_at is None else "CANCELLATION_REQUESTED"
    if job.cancelled_at is not None and job.ended_at <= job.cancelled_at:
        return "CANCELLED"
    return "TIMEOUT_EXCEEDED" if job.ends_at > job.ended_at else "SUCCESS"
