"""Anthropic's message batches: a list of requests goes in; once all of it has ended, lines of results come out."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.testing.batch_files import Said
from evenhand.testing.batch_queue import DAY_S, BatchLine, BatchQueue, FakeBatch, LineResult, moment
from evenhand.testing.connection import HttpRequest

MOST_REQUESTS, MOST_BYTES = 100_000, 256 * 2**20
_PATH = re.compile(r"/messages/batches(?:/([^/]+))?(/results|/cancel)?$")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class AnthropicBatches:
    """Answers what is asked of message batches."""

    def __init__(self, queue: BatchQueue) -> None:
        self.queue = queue
        self._results: dict[str, bytes] = {}

    def handles(self, request: HttpRequest) -> bool:
        """Whether this request is one of these."""
        return _PATH.search(request.path.partition("?")[0]) is not None

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        path, _, query = request.path.partition("?")
        match = _PATH.search(path)
        assert match is not None  # noqa: S101 (asked for such paths alone)
        name, what = match[1] or "", match[2] or ""
        base = f"http://{request.headers.get('host', 'localhost')}{path}"
        if not name:
            return self._list(query, base) if request.method == "GET" else self._make(request, base)
        batch = self.queue.find(name)
        if batch is None:
            return _refused(404, "not_found_error", f"{name} was not found")
        base = base.removesuffix(what).removesuffix(f"/{name}")
        if what == "/cancel":
            self.queue.cancel(batch)
        elif what == "/results":
            return self._handed_out(batch)
        elif request.method == "DELETE":
            if batch.ended_at is None:
                return _refused(400, "invalid_request_error", "the batch has not ended: cancel it")
            batch.deleted = True
            return 200, {"id": name, "type": "message_batch_deleted"}
        return 200, self._described(batch, base)

    def _make(self, request: HttpRequest, base: str) -> Said:
        body = decoded(request.body)
        rows = as_mapping(body).get("requests")
        listed = as_array(rows)
        lines: list[BatchLine] = []
        for row in map(as_mapping, listed):
            name, params = row.get("custom_id"), as_mapping(row.get("params"))
            if not isinstance(name, str) or not _NAME.fullmatch(name) or not params:
                problem = "requests: custom_id is 1 to 64 letters, digits, _ or -, with params"
                return _refused(400, "invalid_request_error", problem)
            lines.append(BatchLine(name, "/v1/messages", params))
        if not lines or len({line.custom_id for line in lines}) < len(lines):
            problem = "requests: none, or two with the same custom_id"
            return _refused(400, "invalid_request_error", problem)
        too_many = len(lines) > (self.queue.rules.most_requests or MOST_REQUESTS)
        if too_many or len(request.body) > (self.queue.rules.most_bytes or MOST_BYTES):
            return _refused(413, "request_too_large", "the batch is too large")
        return 200, self._described(self.queue.make(lines), base)

    def _list(self, query: str, base: str) -> Said:
        parameters = parse_qs(query)
        limit, after = int(parameters.get("limit", ["20"])[0]), parameters.get("after_id", [""])[0]
        batches, more = self.queue.page(after, limit)
        page = [self._described(batch, base) for batch in batches]
        return 200, {
            "data": page,
            "has_more": more,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
        }

    def _handed_out(self, batch: FakeBatch) -> Said:
        if batch.ended_at is None:
            return _refused(404, "not_found_error", "the batch has not ended")
        if self.queue.gone(batch):
            return _refused(404, "not_found_error", "the results are no longer kept")
        if batch.id not in self._results:
            rows = map(_row, self.queue.handed_out(batch))
            self._results[batch.id] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        return 200, self._results[batch.id]

    def _described(self, batch: FakeBatch, base: str) -> dict[str, Any]:
        total, ended = len(batch.lines), batch.ended_at is not None
        counts = {
            "processing": 0 if ended else total,
            "succeeded": batch.count("succeeded"),
            "errored": batch.count("errored", "invalid", "silent", "missing"),
            "canceled": batch.count("canceled"),
            "expired": batch.count("expired"),
        }
        if ended and self.queue.rules.lying:
            counts = {**dict.fromkeys(counts, 0), "succeeded": total}
        working = "in_progress" if batch.cancelled_at is None else "canceling"
        gone = self.queue.gone(batch)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else working,
            "request_counts": counts,
            "created_at": moment(batch.made_at),
            "expires_at": moment(batch.made_at + DAY_S),
            "ended_at": moment(batch.ended_at),
            "cancel_initiated_at": moment(batch.cancelled_at),
            "archived_at": moment(self.queue.now) if gone else None,
            "results_url": f"{base}/{batch.id}/results" if ended and not gone else None,
        }


def _row(result: LineResult) -> dict[str, Any]:
    outcome: dict[str, Any]
    if result.fate == "succeeded":
        outcome = {"type": "succeeded", "message": result.answer}
    elif result.fate in ("expired", "canceled"):
        outcome = {"type": result.fate}
    elif result.fate == "invalid":
        outcome = {"type": "errored", "error": result.answer}
    else:
        error = {"type": "api_error", "message": "Internal server error"}
        outcome = {"type": "errored", "error": {"type": "error", "error": error}}
    return {"custom_id": result.custom_id, "result": outcome}


def _refused(status: int, kind: str, message: str) -> Said:
    return status, {"type": "error", "error": {"type": kind, "message": message}}
