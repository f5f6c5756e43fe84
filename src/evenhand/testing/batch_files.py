"""The files that batches are made of, and those that they write: OpenAI and Mistral have them at the same place."""

from __future__ import annotations

import json
import re
from email.message import Message
from typing import Any

from evenhand.core.record import Record
from evenhand.testing.batch_queue import BatchQueue
from evenhand.testing.connection import HttpRequest

MOST_BYTES = 200 * 10**6
_FILES = re.compile(r"/files(?:/([^/]+))?(/content)?$")
Said = tuple[int, Any]
"""A status, and what is said with it: bytes go out as they are, anything else as JSON."""


class BatchFile(Record, frozen=True):
    """A file, of which nobody but its writer knows what it holds."""

    id: str
    name: str
    purpose: str
    data: bytes
    made_at: float

    def described(self) -> dict[str, Any]:
        """The file as both vendors describe it."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.data),
            "created_at": int(self.made_at),
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
            "sample_type": "batch_request" if self.purpose == "batch" else "batch_result",
            "source": "upload" if self.purpose == "batch" else "mistral",
        }


class BatchFiles:
    """Answers what is asked of files.

    Args:
        queue: Whose clock and whose limits they go by.
    """

    def __init__(self, queue: BatchQueue) -> None:
        self._queue = queue
        self._files: dict[str, BatchFile] = {}

    def handles(self, path: str) -> bool:
        """Whether this path is one of these."""
        return _FILES.search(path.partition("?")[0]) is not None

    def get(self, name: str) -> BatchFile | None:
        """A file; None where there is none."""
        return self._files.get(name)

    def keep(self, name: str, data: bytes, purpose: str, made_at: float) -> BatchFile:
        """Makes a file."""
        file = BatchFile(f"file-{len(self._files) + 1:06d}", name, purpose, data, made_at)
        self._files[file.id] = file
        return file

    def keep_rows(self, name: str, rows: list[dict[str, Any]], made_at: float) -> str | None:
        """Makes a file of results, a JSON document a line, and returns its id; None for no results."""
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        return self.keep(name, data, "batch_output", made_at).id if rows else None

    def answer(self, request: HttpRequest) -> Said:
        """The answer to a request."""
        match = _FILES.search(request.path.partition("?")[0])
        assert match is not None  # noqa: S101 (asked for such paths alone)
        name, content = match[1] or "", bool(match[2])
        if not name and request.method == "POST":
            return self._upload(request)
        if not name:
            listed = [file.described() for file in self._files.values()]
            return 200, {"object": "list", "data": listed, "has_more": False, "total": len(listed)}
        file = self._files.get(name)
        if file is None or self._queue.now - file.made_at > self._queue.rules.kept_s:
            return refused(404, f"No such File object: {name}")
        if request.method == "DELETE":
            del self._files[name]
            return 200, {"id": name, "object": "file", "deleted": True}
        return 200, file.data if content else file.described()

    def _upload(self, request: HttpRequest) -> Said:
        parts = _parts(request)
        purpose = parts.get("purpose", ("", b""))[1].decode("utf-8", "replace")
        name, data = parts.get("file", ("", b""))
        if purpose != "batch" or not data:
            return refused(400, "a file for a batch has purpose 'batch' and content")
        if len(data) > (self._queue.rules.most_bytes or MOST_BYTES):
            return refused(413, f"File is too large: {len(data)} bytes")
        return 200, self.keep(name, data, "batch", self._queue.now).described()


def refused(status: int, message: str) -> Said:
    """An error as both vendors word it."""
    kind = "invalid_request_error"
    return status, {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _parts(request: HttpRequest) -> dict[str, tuple[str, bytes]]:
    """The parts of a form, by name: each with the name of its file, and its content."""
    head = Message()
    head["content-type"] = request.headers.get("content-type", "")
    boundary = f"--{head.get_param('boundary')}".encode()
    parts: dict[str, tuple[str, bytes]] = {}
    for part in request.body.split(boundary)[1:-1]:
        lines, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        header = Message()
        for line in lines.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            header[name] = value.strip()
        name = header.get_param("name", header="content-disposition")
        parts[str(name)] = header.get_filename() or "", data.removesuffix(b"\r\n")
    return parts
