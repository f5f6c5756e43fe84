"""A provider that answers from a script, over real HTTP, in a thread of its own.

It speaks OpenAI's chat completions and embeddings and Anthropic's messages well enough for the vendors' own SDKs, fails
as it is told to, and keeps the bill.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evenhand.testing import shapes
from evenhand.testing.ledger import Ledger, request_key
from evenhand.testing.script import Rule, Script

LOGGED = 50_000
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came in.

    Attributes:
        at: Monotonic seconds when it was read.
        path: Its path.
        model: The model asked for.
        key: The name of the request, as in the ledger.
        api_key: The key that it was sent with.
        status: The status it was answered with; 0 for a fault without one.
        fault: What went wrong on purpose.
    """

    at: float
    path: str
    model: str
    key: str
    api_key: str
    status: int
    fault: str


class FakeProvider:
    """A server to point `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` at.

    Args:
        script: What it answers.
        api_key: The only key that is let in; empty lets everybody in.
        latency_ms: Before each answer, beside what a rule says.
        ledger: A file to append each completion to.
        headers: Sent with every answer.
        port: Where to listen on 127.0.0.1; 0 for any free port.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        api_key: str = "",
        latency_ms: float = 0.0,
        ledger: Path | None = None,
        headers: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        self.script = script or Script()
        self.ledger = Ledger(ledger)
        self.requests: list[Seen] = []
        self.most_at_once = 0
        self.url = ""
        self._api_key = api_key
        self._latency_s = latency_ms / 1000
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self._port = port
        self._open = 0
        self._attempts: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="fake-provider", daemon=True)
        self._ready = threading.Event()
        self._connections: set[asyncio.Transport] = set()
        self._trouble: BaseException | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Begins to listen.

        Raises:
            OSError: The port is taken.
        """
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            self._thread.join()
            raise self._trouble
        return self

    def stop(self) -> None:
        """Stops listening and closes all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self.ledger.close()

    def env(self) -> dict[str, str]:
        """The environment that leads the vendors' SDKs, and ours, here."""
        key = self._api_key or "scripted"
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": key,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(
                self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
            )
        except OSError as error:
            self._trouble = error
            self._loop.close()
            self._ready.set()
            return
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            for connection in list(self._connections):
                connection.abort()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0.01))
            self._loop.close()

    # One request. Runs in the server's thread.

    def handle(self, connection: _Connection, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Answers a request, now or after its latency."""
        if method == "GET":
            said = self.ledger.as_json() if path == "/ledger" else json.dumps({"object": "list", "data": []})
            connection.answer(_response(200, said.encode(), self._headers))
            return
        kind = shapes.kind_of(path)
        api_key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        try:
            value: object = json.loads(body)
            if not kind or not isinstance(value, dict):
                raise ValueError  # noqa: TRY301 (refused like any other request that makes no sense)
        except ValueError:
            connection.answer(self._error(kind, 404 if not kind else 400, f"there is nothing at {path}", ""))
            return
        request: dict[str, Any] = value
        model = str(request.get("model", ""))
        key = request_key(kind, request)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        if self._api_key and api_key != self._api_key:
            self._log(path, model, key, api_key, 401, "")
            connection.answer(self._error(kind, 401, "invalid api key", ""))
            return
        rule = Rule() if kind == shapes.EMBEDDINGS else self.script.rule_for(model, shapes.conversation(request))
        if rule is None:
            self._log(path, model, key, api_key, 400, "")
            said = " ".join(shapes.conversation(request).split())[:200]
            connection.answer(self._error(kind, 400, f"the script has no rule for: {said}", ""))
            return
        fault = rule.fault or self.script.fault_for(key, attempt)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        status = int(fault) if fault.isdigit() else 0 if fault in ("drop", "lose", "hang") else 200
        self._log(path, model, key, api_key, status, fault)
        delay = self._latency_s + rule.latency_ms / 1000
        finish = lambda: self._finish(connection, kind, request, rule, fault, key)  # noqa: E731 (called now or later)
        if delay:
            self._loop.call_later(delay, finish)
        else:
            finish()

    def _finish(
        self, connection: _Connection, kind: str, request: Mapping[str, Any], rule: Rule, fault: str, key: str
    ) -> None:
        self._open -= 1
        if fault.isdigit():
            connection.answer(self._error(kind, int(fault), f"scripted fault {fault}", rule.retry_after))
            return
        if fault == "hang":
            return
        if fault == "drop":
            connection.abort()
            return
        if connection.gone:  # nobody waits for it any more: the vendor stops generating
            return
        self.ledger.bill(key)
        number = self.ledger.total
        answer = {
            shapes.CHAT: lambda: shapes.chat(request, rule.text, rule.finish_reason, number),
            shapes.MESSAGES: lambda: shapes.message(request, rule.text, rule.finish_reason, number),
            shapes.EMBEDDINGS: lambda: shapes.embeddings(request),
        }[kind]()
        content = "application/json"
        if request.get("stream"):
            body, content = shapes.events(kind, answer), "text/event-stream"
        else:
            body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        if fault == "lose":
            connection.abort()
        elif fault == "truncate":
            connection.answer(_response(200, body, self._headers)[: -len(body) // 2], close=True)
        elif fault in ("malformed", "html", "empty"):
            said = {"malformed": body[: len(body) // 2], "html": b"<html><body>Bad gateway</body></html>", "empty": b""}
            connection.answer(_response(200, said[fault], self._headers))
        else:
            self.ledger.delivered += 1
            connection.answer(_response(200, body, self._headers, content))

    def _error(self, kind: str, status: int, said: str, retry_after: str) -> bytes:
        headers = self._headers + (f"retry-after: {retry_after}\r\n" if retry_after else "")
        return _response(status, json.dumps(shapes.error(kind, status, said)).encode(), headers)

    def _log(self, path: str, model: str, key: str, api_key: str, status: int, fault: str) -> None:
        if len(self.requests) < LOGGED:
            self.requests.append(Seen(time.monotonic(), path, model, key, api_key, status, fault))

    def opened(self, transport: asyncio.Transport) -> None:
        """Remembers a connection, to close it at the end."""
        self._connections.add(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        """Forgets a connection."""
        self._connections.discard(transport)


class _Connection(asyncio.Protocol):
    """One connection: reads requests one after the other, whatever pieces they come in."""

    def __init__(self, server: FakeProvider) -> None:
        self._server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (a TCP server has no other)
        self._transport = transport
        self._server.opened(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        if self._transport is not None:
            self._server.closed(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def answer(self, data: bytes, *, close: bool = False) -> None:
        """Sends an answer, and goes on to the next request."""
        if self.gone or self._transport is None:
            return
        self._transport.write(data)
        self._busy = False
        if close:
            self._transport.close()
        elif self._buffer:
            self._next()

    def abort(self) -> None:
        """Closes the connection without a word."""
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> None:
        if self._busy:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length") or 0)
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        method, path, *_ = head[0].split(" ")
        self._busy = True
        self._server.handle(self, method, path, headers, body)


def _response(status: int, body: bytes, headers: str, content: str = "application/json") -> bytes:
    reason = _REASONS.get(status, "Error")
    head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {content}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    return head.encode("latin-1") + body
