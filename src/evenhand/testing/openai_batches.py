"""OpenAI's files and batches: a file of lines goes in, a file of answers and one of errors come out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, cast
from urllib.parse import parse_qs

from evenhand.core.encoding import decode
from evenhand.testing.batch_queue import (
    DAY_S,
    BatchLine,
    BatchQueue,
    FakeBatch,
    LineResult,
    tokens_of,
)
from evenhand.testing.connection import HttpRequest

ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
MOST_REQUESTS, MOST_BYTES = 50_000, 200 * 10**6
_FILES, _BATCHES = (
    re.compile(r"/files(?:/([^/]+))?(/content)?$"),
    re.compile(r"(?<!/messages)/batches(?:/([^/]+))?(/cancel)?$"),
)
Said = tuple[int, Any]
"""A status, and what is said with it: bytes go out as they are, anything else as JSON."""


@dataclass(frozen=True, slots=True)
class _File:
    id: str
    name: str
    purpose: str
    data: bytes
    made_at: float

    def described(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.data),
            "created_at": int(self.made_at),
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


class OpenAIBatches:
    """Answers what is asked of files and batches.

    Args:
        queue: The batches themselves.
    """

    def __init__(self, queue: BatchQueue) -> None:
        self.queue = queue
        self._files: dict[str, _File] = {}
        self._results: dict[str, tuple[str | None, str | None]] = {}
        self._endpoints: dict[str, tuple[str, str]] = {}

    def handles(self, path: str) -> bool:
        """Whether this path is one of these."""
        path = path.partition("?")[0]
        return bool(_FILES.search(path) or _BATCHES.search(path))

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        path, _, query = request.path.partition("?")
        found = _FILES.search(path)
        if found is not None:
            return self._file(request, found[1] or "", content=bool(found[2]))
        found = _BATCHES.search(path)
        assert found is not None  # noqa: S101 (asked for such paths alone)
        name, cancels = found[1] or "", bool(found[2])
        if not name:
            return self._list(query) if request.method == "GET" else self._make(request)
        batch = self.queue.find(name)
        if batch is None:
            return _refused(404, f"No batch found with id '{name}'.")
        if cancels:
            self.queue.cancel(batch)
        return 200, self._described(batch)

    def _file(self, request: HttpRequest, name: str, *, content: bool) -> Said:
        if not name and request.method == "POST":
            return self._upload(request)
        if not name:
            listed = [file.described() for file in self._files.values()]
            return 200, {"object": "list", "data": listed, "has_more": False}
        file = self._files.get(name)
        if file is None or self.queue.now - file.made_at > self.queue.rules.kept_s:
            return _refused(404, f"No such File object: {name}")
        if request.method == "DELETE":
            del self._files[name]
            return 200, {"id": name, "object": "file", "deleted": True}
        return 200, file.data if content else file.described()

    def _upload(self, request: HttpRequest) -> Said:
        parts = _parts(request)
        purpose = parts.get("purpose", ("", b""))[1].decode("utf-8", "replace")
        name, data = parts.get("file", ("", b""))
        if purpose != "batch" or not data:
            return _refused(400, "a file for a batch has purpose 'batch' and content")
        if len(data) > (self.queue.rules.most_bytes or MOST_BYTES):
            return _refused(413, f"File is too large: {len(data)} bytes")
        return 200, self._keep(name, data, "batch", self.queue.now).described()

    def _keep(self, name: str, data: bytes, purpose: str, made_at: float) -> _File:
        file = _File(f"file-{len(self._files) + 1:06d}", name, purpose, data, made_at)
        self._files[file.id] = file
        return file

    def _make(self, request: HttpRequest) -> Said:
        body = _mapping(_decoded(request.body))
        file = self._files.get(str(body.get("input_file_id")))
        endpoint = str(body.get("endpoint"))
        if file is None:
            return _refused(400, "The input file does not exist.")
        if endpoint not in ENDPOINTS or body.get("completion_window") != "24h":
            return _refused(400, "the endpoint or the completion window is not supported")
        metadata = _mapping(body.get("metadata"))
        if len(metadata) > 16:
            return _refused(400, "metadata has more than 16 pairs")
        lines, failure = self._lines(file, endpoint)
        batch = self.queue.make(lines, metadata, failure=failure)
        self._endpoints[batch.id] = endpoint, file.id
        return 200, self._described(batch)

    def _lines(self, file: _File, endpoint: str) -> tuple[list[BatchLine], str]:
        lines: list[BatchLine] = []
        seen: set[str] = set()
        tokens = 0.0
        for number, text in enumerate(file.data.splitlines(), 1):
            row = _mapping(_decoded(text))
            name, body = row.get("custom_id"), _mapping(row.get("body"))
            if not isinstance(name, str) or not body or row.get("method") != "POST":
                return [], f"invalid_json_line: line {number} is not a request"
            if row.get("url") != endpoint:
                return [], f"mismatched_endpoint: line {number} is for {row.get('url')}"
            if name in seen:
                return [], f"duplicate_custom_id: line {number} has the custom_id '{name}' again"
            if lines and body.get("model") != lines[0].body.get("model"):
                return [], f"mismatched_model: line {number} is for another model"
            seen.add(name)
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
        asked = parse_qs(query)
        limit, after = int(asked.get("limit", ["20"])[0]), asked.get("after", [""])[0]
        batches = self.queue.newest_first()
        names = [batch.id for batch in batches]
        begin = names.index(after) + 1 if after in names else 0
        page = [self._described(batch) for batch in batches[begin : begin + limit]]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        more = begin + limit < len(batches)
        return 200, {"object": "list", "data": page, "has_more": more, **ends}

    def _described(self, batch: FakeBatch) -> dict[str, Any]:
        endpoint, file = self._endpoints[batch.id]
        output, errors = self._files_of(batch)
        total = len(batch.lines)
        good = batch.count("succeeded")
        bad = batch.count("errored", "invalid", "silent", "missing")
        if self.queue.rules.lying and batch.ended_at is not None:
            good, bad = total, 0
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

    def _files_of(self, batch: FakeBatch) -> tuple[str | None, str | None]:
        """The files of its answers and of its errors, which are made when it has ended; None where one is empty."""
        if batch.ended_at is None or batch.failure:
            return None, None
        if batch.id not in self._results:
            results = self.queue.handed_out(batch)
            answers = [_row(one) for one in results if one.fate in ("succeeded", "silent")]
            errors = [_row(one) for one in results if one.fate not in ("succeeded", "silent")]
            self._results[batch.id] = (
                self._written(f"{batch.id}_output.jsonl", answers, batch.ended_at),
                self._written(f"{batch.id}_error.jsonl", errors, batch.ended_at),
            )
        return self._results[batch.id]

    def _written(self, name: str, rows: list[dict[str, Any]], at: float) -> str | None:
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        return self._keep(name, data, "batch_output", at).id if rows else None


def _state(batch: FakeBatch) -> str:
    if batch.failure:
        return "failed"
    if batch.ended_at is None:
        return "cancelling" if batch.cancelled_at is not None else "in_progress"
    if batch.cancelled_at is not None and batch.ended_at <= batch.cancelled_at:
        return "cancelled"
    return "expired" if batch.ends_at > batch.ended_at else "completed"


def _row(result: LineResult) -> dict[str, Any]:
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
        said = {"error": {"message": "The server had an error.", "type": "server_error"}}
        row["response"] = {"request_id": "req_1", "status_code": 500, "body": said}
    else:
        why = "batch_expired" if result.fate == "expired" else "batch_cancelled"
        said = "This request could not be executed before the batch ended."
        row["error"] = {"code": why, "message": said}
    return row


def _parts(request: HttpRequest) -> dict[str, tuple[str, bytes]]:
    """The parts of a form, by name: each with the name of its file, and its content."""
    head = Message()
    head["content-type"] = request.headers.get("content-type", "")
    boundary = f"--{head.get_param('boundary')}".encode()
    parts: dict[str, tuple[str, bytes]] = {}
    for part in request.body.split(boundary)[1:-1]:
        lines, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        said = Message()
        for line in lines.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            said[name] = value.strip()
        name = said.get_param("name", header="content-disposition")
        parts[str(name)] = said.get_filename() or "", data.removesuffix(b"\r\n")
    return parts


def _decoded(data: bytes) -> object:
    try:
        return decode(data)
    except ValueError:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _refused(status: int, message: str) -> Said:
    kind = "invalid_request_error"
    return status, {"error": {"message": message, "type": kind, "param": None, "code": None}}
