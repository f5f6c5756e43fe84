"""Gemini's batches: a list of requests goes in; once it has ended, a list of responses is part of it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.testing.batch_files import Said
from evenhand.testing.batch_queue import DAY_S, BatchLine, BatchQueue, FakeBatch, LineResult, moment
from evenhand.testing.connection import HttpRequest

MOST_BYTES = 20 * 10**6
_MAKE = re.compile(r"/(v1(?:alpha|beta)?)/models/([^/:]+):batchGenerateContent$")
_BATCHES = re.compile(r"/(v1(?:alpha|beta)?)/batches(?:/([^/:]+))?(:cancel)?$")
_TYPES = "type.googleapis.com/google.ai.generativelanguage.v1main"
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 503: 14, 504: 4}


class GoogleBatches:
    """Answers what is asked of batches of generateContent; requests are inline.

    Args:
        queue: The batches themselves. An expired one has no responses.
    """

    def __init__(self, queue: BatchQueue) -> None:
        self.queue = queue
        self._models: dict[str, str] = {}
        self._results: dict[str, list[dict[str, Any]]] = {}

    def handles(self, request: HttpRequest) -> bool:
        """Whether this request is one of these."""
        path = request.path.partition("?")[0]
        match = _MAKE.search(path) or _BATCHES.search(path)
        return match is not None and (match[1] != "v1" or "x-goog-api-key" in request.headers)

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        path, _, query = request.path.partition("?")
        creation = _MAKE.search(path)
        if creation is not None:
            return self._make(request, creation[2])
        match = _BATCHES.search(path)
        assert match is not None  # noqa: S101 (asked for such paths alone)
        if not match[2]:
            return self._list(query)
        batch = self.queue.find(match[2])
        if batch is None:
            return _refused(404, f"batches/{match[2]} is not found")
        if match[3]:
            self.queue.cancel(batch)
            return 200, {}
        if request.method == "DELETE":
            batch.deleted = True
            return 200, {}
        if self.queue.gone(batch):
            return _refused(404, f"batches/{match[2]} is not found")
        return 200, self._described(batch)

    def _make(self, request: HttpRequest, model: str) -> Said:
        batch = as_mapping(as_mapping(decoded(request.body)).get("batch"))
        requests = as_mapping(as_mapping(batch.get("inputConfig")).get("requests")).get("requests")
        rows = as_array(requests)
        if not batch.get("displayName"):
            return _refused(400, "batch.displayName: is required")
        if not rows:
            return _refused(400, "batch.inputConfig: has no requests")
        if len(request.body) > (self.queue.rules.most_bytes or MOST_BYTES):
            return _refused(400, "Request payload size exceeds the limit: 20971520 bytes.")
        if len(rows) > (self.queue.rules.most_requests or len(rows)):
            return _refused(429, "Resource has been exhausted (e.g. check quota).")
        path = f"/v1beta/models/{model}:generateContent"
        lines: list[BatchLine] = []
        for row in map(as_mapping, rows):
            body = as_mapping(row.get("request"))
            if not body.get("contents"):
                return _refused(400, "contents is not specified")
            key = as_mapping(row.get("metadata")).get("key")
            lines.append(BatchLine(str(key or ""), path, body))
        batch_ = self.queue.make(lines, {"displayName": batch["displayName"]}, window_s=2 * DAY_S)
        self._models[batch_.id] = model
        return 200, self._described(batch_)

    def _list(self, query: str) -> Said:
        parameters = parse_qs(query)
        size = int(parameters.get("pageSize", ["50"])[0])
        begin = int(parameters.get("pageToken", ["0"])[0])
        batches = [one for one in self.queue.newest_first() if not self.queue.gone(one)]
        page = [self._described(batch) for batch in batches[begin : begin + size]]
        more = begin + size < len(batches)
        return 200, {"operations": page, **({"nextPageToken": str(begin + size)} if more else {})}

    def _described(self, batch: FakeBatch) -> dict[str, Any]:
        total, good = len(batch.lines), batch.count("succeeded")
        state = _state(batch)
        ended = batch.ended_at is not None
        if self.queue.rules.lying and ended:
            good = total
        pending = 0 if ended else total
        counts = {"requestCount": total, "successfulRequestCount": good}
        counts |= {"failedRequestCount": total - good - pending, "pendingRequestCount": pending}
        metadata = {
            "@type": f"{_TYPES}.GenerateContentBatch",
            "model": f"models/{self._models[batch.id]}",
            "displayName": batch.metadata["displayName"],
            "createTime": moment(batch.made_at),
            "updateTime": moment(self.queue.now),
            "endTime": moment(batch.ended_at),
            "batchStats": {name: str(count) for name, count in counts.items() if count},
            "state": f"BATCH_STATE_{state}",
            "name": f"batches/{batch.id}",
        }
        name = f"batches/{batch.id}"
        described: dict[str, Any] = {"name": name, "metadata": metadata}
        if not ended:
            return described
        if state == "EXPIRED":
            error = {"code": 4, "message": "The batch expired before it was done."}
            return {**described, "done": True, "error": error}
        if batch.id not in self._results:
            self._results[batch.id] = [_row(one) for one in self.queue.handed_out(batch)]
        output = {"inlinedResponses": {"inlinedResponses": self._results[batch.id]}}
        metadata["output"] = output
        response = {"@type": f"{_TYPES}.GenerateContentBatchOutput", **output}
        return {**described, "done": True, "response": response}


def _state(batch: FakeBatch) -> str:
    if batch.ended_at is None:
        return "RUNNING"  # also of one that is being cancelled
    if batch.cancelled_at is not None and batch.ended_at <= batch.cancelled_at:
        return "CANCELLED"
    return "EXPIRED" if batch.ends_at > batch.ended_at else "SUCCEEDED"


def _row(result: LineResult) -> dict[str, Any]:
    row: dict[str, Any] = {"metadata": {"key": result.custom_id}}
    if result.fate == "succeeded":
        return {**row, "response": result.answer}
    if result.fate == "invalid":
        message = as_mapping(as_mapping(result.answer).get("error")).get("message")
        return {**row, "error": {"code": _CODES.get(result.status, 3), "message": str(message)}}
    if result.fate in ("expired", "canceled"):
        return {**row, "error": {"code": 1, "message": "The operation was cancelled."}}
    return {**row, "error": {"code": 13, "message": "Internal error encountered."}}


def _refused(status: int, message: str) -> Said:
    return status, {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
