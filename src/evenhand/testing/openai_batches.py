"""The batches of OpenAI and of Mistral: a file of lines goes in, a file of answers and one of errors come out."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar
from urllib.parse import parse_qs

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_mapping
from evenhand.testing.batch_files import BatchFiles, Said, refused
from evenhand.testing.batch_queue import (
    DAY_S,
    BatchLine,
    BatchQueue,
    FakeBatch,
    Fate,
    LineResult,
    tokens_of,
)
from evenhand.testing.connection import HttpRequest

ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
MOST_REQUESTS = 50_000


class FileBatches(ABC):
    """Batches that are made of files, as OpenAI and Mistral have them.

    Args:
        files: What is uploaded for them, and what they write.
    """

    _path: ClassVar[re.Pattern[str]]
    _unknown: ClassVar[str]
    _in_no_file: ClassVar[frozenset[Fate]] = frozenset()
    """What becomes of lines that neither file tells of."""

    def __init__(self, queue: BatchQueue, files: BatchFiles) -> None:
        self.queue = queue
        self._files = files
        self._results: dict[str, tuple[str | None, str | None]] = {}

    def handles(self, request: HttpRequest) -> bool:
        """Whether this request is one of these."""
        return self._path.search(request.path.partition("?")[0]) is not None

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        path, _, query = request.path.partition("?")
        match = self._path.search(path)
        assert match is not None  # noqa: S101 (asked for such paths alone)
        name, cancels = match[1] or "", bool(match[2])
        if not name:
            return self._list(query) if request.method == "GET" else self._make(request)
        batch = self.queue.find(name)
        if batch is None:
            return refused(404, self._unknown.format(name))
        if cancels:
            self.queue.cancel(batch)
        return 200, self._described(batch)

    @abstractmethod
    def _make(self, request: HttpRequest) -> Said: ...
    @abstractmethod
    def _list(self, query: str) -> Said: ...
    @abstractmethod
    def _described(self, batch: FakeBatch) -> dict[str, Any]: ...

    def _files_of(self, batch: FakeBatch) -> tuple[str | None, str | None]:
        """The files of its answers and of its errors, which are made when it has ended; None where one is empty."""
        if batch.ended_at is None or batch.failure:
            return None, None
        if batch.id not in self._results:
            results = [x for x in self.queue.handed_out(batch) if x.fate not in self._in_no_file]
            answers = [row_of(one) for one in results if one.fate in ("succeeded", "silent")]
            errors = [row_of(one) for one in results if one.fate not in ("succeeded", "silent")]
            self._results[batch.id] = (
                self._files.keep_rows(f"{batch.id}_output.jsonl", answers, batch.ended_at),
                self._files.keep_rows(f"{batch.id}_error.jsonl", errors, batch.ended_at),
            )
        return self._results[batch.id]

    def _counted(self, batch: FakeBatch) -> tuple[int, int]:
        """How many lines the vendor says went well, and how many badly."""
        if self.queue.rules.lying and batch.ended_at is not None:
            return len(batch.lines), 0
        bad = batch.count("errored", "invalid", "silent", "missing")
        return batch.count("succeeded"), bad


class OpenAIBatches(FileBatches):
    """Answers what is asked of files and batches."""

    _path = re.compile(r"(?<!/messages)/batches(?:/([^/]+))?(/cancel)?$")
    _unknown = "No batch found with id '{}'."

    def __init__(self, queue: BatchQueue, files: BatchFiles) -> None:
        super().__init__(queue, files)
        self._endpoints: dict[str, tuple[str, str]] = {}

    def handles(self, request: HttpRequest) -> bool:
        return self._files.handles(request.path) or super().handles(request)

    def answer(self, request: HttpRequest) -> Said:
        if self._files.handles(request.path):
            return self._files.answer(request)
        return super().answer(request)

    def _make(self, request: HttpRequest) -> Said:
        body = as_mapping(decoded(request.body))
        file = self._files.get(str(body.get("input_file_id")))
        endpoint = str(body.get("endpoint"))
        if file is None:
            return refused(400, "The input file does not exist.")
        if endpoint not in ENDPOINTS or body.get("completion_window") != "24h":
            return refused(400, "the endpoint or the completion window is not supported")
        metadata = as_mapping(body.get("metadata"))
        if len(metadata) > 16:
            return refused(400, "metadata has more than 16 pairs")
        lines, failure = self._lines(file.data, endpoint)
        batch = self.queue.make(lines, metadata, failure=failure)
        self._endpoints[batch.id] = endpoint, file.id
        return 200, self._described(batch)

    def _lines(self, data: bytes, endpoint: str) -> tuple[list[BatchLine], str]:
        lines: list[BatchLine] = []
        ids: set[str] = set()
        tokens = 0.0
        for number, text in enumerate(data.splitlines(), 1):
            row = as_mapping(decoded(text))
            name, body = row.get("custom_id"), as_mapping(row.get("body"))
            if not isinstance(name, str) or not body or row.get("method") != "POST":
                return [], f"invalid_json_line: line {number} is not a request"
            if row.get("url") != endpoint:
                return [], f"mismatched_endpoint: line {number} is for {row.get('url')}"
            if name in ids:
                return [], f"duplicate_custom_id: line {number} has the custom_id '{name}' again"
            if lines and body.get("model") != lines[0].body.get("model"):
                return [], f"mismatched_model: line {number} is for another model"
            ids.add(name)
            lines.append(BatchLine(name, endpoint, body))
            tokens += tokens_of(lines[-1])
        if not lines:
            return [], "empty_file: the file has no lines"
        if len(lines) > (self.queue.rules.most_requests or MOST_REQUESTS):
            return [], f"too_many_tasks: {len(lines)} requests"
        model = str(lines[0].body.get("model"))
        if self.queue.queued_tokens(model) + tokens > self.queue.rules.most_queued_tokens:
            return [], f"token_limit_exceeded: Enqueued token limit reached for {model}."
        return lines, ""

    def _list(self, query: str) -> Said:
        parameters = parse_qs(query)
        limit, after = int(parameters.get("limit", ["20"])[0]), parameters.get("after", [""])[0]
        batches, more = self.queue.page(after, limit)
        page = [self._described(batch) for batch in batches]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return 200, {"object": "list", "data": page, "has_more": more, **ends}

    def _described(self, batch: FakeBatch) -> dict[str, Any]:
        endpoint, file = self._endpoints[batch.id]
        output, errors = self._files_of(batch)
        total, (good, bad) = len(batch.lines), self._counted(batch)
        code, _, message = batch.failure.partition(": ")
        failed = {"object": "list", "data": [{"code": code, "message": message, "line": None}]}
        state = _state(batch)
        moments = {
            "completed_at": batch.ended_at if state == "completed" else None,
            "expired_at": batch.ended_at if state == "expired" else None,
            "cancelled_at": batch.ended_at if state == "cancelled" else None,
            "cancelling_at": batch.cancelled_at,
            "failed_at": batch.ended_at if batch.failure else None,
            "in_progress_at": None if batch.failure else batch.made_at,
            "expires_at": batch.made_at + DAY_S,
        }
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": endpoint,
            "errors": failed if batch.failure else None,
            "input_file_id": file,
            "completion_window": "24h",
            "status": state,
            "output_file_id": output,
            "error_file_id": errors,
            "created_at": int(batch.made_at),
            **{name: None if at is None else int(at) for name, at in moments.items()},
            "request_counts": {"total": total, "completed": good, "failed": bad},
            "metadata": dict(batch.metadata) or None,
        }


def _state(batch: FakeBatch) -> str:
    if batch.failure:
        return "failed"
    if batch.ended_at is None:
        return "cancelling" if batch.cancelled_at is not None else "in_progress"
    if batch.cancelled_at is not None and batch.ended_at <= batch.cancelled_at:
        return "cancelled"
    return "expired" if batch.ends_at > batch.ended_at else "completed"


def row_of(result: LineResult) -> dict[str, Any]:
    """A line of results: Mistral's are the same."""
    row: dict[str, Any] = {
        "id": f"batch_req_{result.custom_id}",
        "custom_id": result.custom_id,
        "response": None,
        "error": None,
    }
    if result.fate in ("succeeded", "invalid"):
        answer = {"request_id": "req_1", "status_code": result.status, "body": result.answer}
        row["response"] = answer
    elif result.fate == "silent":
        row["response"] = {"request_id": "", "status_code": 0, "body": None}
    elif result.fate == "errored":
        error_body = {"error": {"message": "The server had an error.", "type": "server_error"}}
        row["response"] = {"request_id": "req_1", "status_code": 500, "body": error_body}
    else:
        why = "batch_expired" if result.fate == "expired" else "batch_cancelled"
        error_body = "This request could not be executed before the batch ended."
        row["error"] = {"code": why, "message": error_body}
    return row


MISTRAL_ENDPOINTS = ("/v1/chat/completions", "/v1/embeddings")
MOST_MISTRAL_REQUESTS, MOST_HOURS = 1_000_000, 168


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
        if endpoint not in MISTRAL_ENDPOINTS or not model:
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
        if len(lines) > (self.queue.rules.most_requests or MOST_MISTRAL_REQUESTS):
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
