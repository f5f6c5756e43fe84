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
from evenhand.testing.openai_batches import row_of

ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")
MOST_REQUESTS, MOST_HOURS = 1_000_000, 168
_JOBS = re.compile(r"/batch/jobs(?:/([^/]+))?(/cancel)?$")


class MistralBatches:
    """Answers what is asked of batch jobs.

    Args:
        queue: The jobs themselves.
        files: What is uploaded for them, and what they write.
    """

    def __init__(self, queue: BatchQueue, files: BatchFiles) -> None:
        self.queue = queue
        self._files = files
        self._made_of: dict[str, tuple[str, str, str]] = {}
        self._results: dict[str, tuple[str | None, str | None]] = {}

    def handles(self, request: HttpRequest) -> bool:
        """Whether this request is one of these."""
        return _JOBS.search(request.path.partition("?")[0]) is not None

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        path, _, query = request.path.partition("?")
        match = _JOBS.search(path)
        assert match is not None  # noqa: S101 (asked for such paths alone)
        name, cancels = match[1] or "", bool(match[2])
        if not name:
            return self._list(query) if request.method == "GET" else self._make(request)
        job = self.queue.find(name)
        if job is None:
            return refused(404, f"Batch job not found: {name}")
        if cancels:
            self.queue.cancel(job)
        return 200, self._described(job)

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
        size, page = (
            int(parameters.get("page_size", ["100"])[0]),
            int(parameters.get("page", ["0"])[0]),
        )
        jobs = self.queue.newest_first()
        page_jobs = [self._described(job) for job in jobs[page * size : (page + 1) * size]]
        return 200, {"object": "list", "data": page_jobs, "total": len(jobs)}

    def _described(self, job: FakeBatch) -> dict[str, Any]:
        endpoint, model, file = self._made_of[job.id]
        output, errors = self._files_of(job)
        total, good = len(job.lines), job.count("succeeded")
        bad = job.count("errored", "invalid", "silent", "missing")
        if self.queue.rules.lying and job.ended_at is not None:
            good, bad = total, 0
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

    def _files_of(self, job: FakeBatch) -> tuple[str | None, str | None]:
        """The files of its answers and of its errors, which are made when it has ended; None where one is empty."""
        if job.ended_at is None or job.failure:
            return None, None
        if job.id not in self._results:
            good: list[dict[str, Any]] = []
            bad: list[dict[str, Any]] = []
            for one in self.queue.handed_out(job):
                if one.fate in ("succeeded", "silent"):
                    good.append(row_of(one))
                elif one.fate not in ("expired", "canceled"):  # what was not reached is in no file
                    bad.append(row_of(one))
            self._results[job.id] = (
                self._files.keep_rows(f"{job.id}_output.jsonl", good, job.ended_at),
                self._files.keep_rows(f"{job.id}_error.jsonl", bad, job.ended_at),
            )
        return self._results[job.id]


def _status(job: FakeBatch) -> str:
    if job.failure:
        return "FAILED"
    if job.ended_at is None:
        return "RUNNING" if job.cancelled_at is None else "CANCELLATION_REQUESTED"
    if job.cancelled_at is not None and job.ended_at <= job.cancelled_at:
        return "CANCELLED"
    return "TIMEOUT_EXCEEDED" if job.ends_at > job.ended_at else "SUCCESS"
