"""A listener for OTLP over HTTP, as OpenTelemetry's exporters send it: `/v1/traces` and `/v1/logs`, JSON or protobuf.

What it is against: other programs and users of this machine (no token), and pages in a browser (an Origin, or a name
that somebody has made lead here). What was answered with 200 is in a file before the answer: it is not lost if this
process is killed.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import socket
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.doors.spans.span import RawSpan
from evenhand.languages.documents.foreign import Part
from evenhand.providers.addresses import is_this_machine
from evenhand.store.home import make_folder
from evenhand.wings.traces import otlp_json, otlp_protobuf
from evenhand.wings.traces.run import Traces
from evenhand.wings.traces.wire import Malformed

_CODES = {"unknown": 0, "ok": 1, "error": 2}

PORT = 4318
"""The port of OTLP over HTTP."""
LARGEST_BODY = 64 << 20
"""Bytes of a request, unpacked."""
_TOO_LARGE = f"a request may have {LARGEST_BODY >> 20} MB, unpacked: export smaller batches"
_ENCODING = "Content-Encoding"
_WINDOWS = {"": None, "identity": None, "gzip": 31, "x-gzip": 31, "deflate": 15}
"""The ways in which a body is packed, each with what zlib calls it."""
_SOON_S = 2.0
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Listener:
    """Takes spans in.

    Args:
        traces: Where they go.
        received: The file that they are kept in meanwhile.
        token: What a request must carry; a new one by default.

    Attributes:
        arrived: Set whenever something has arrived.
    """

    def __init__(self, traces: Traces, received: Path, host: str, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.arrived = asyncio.Event()
        self._unpacking = asyncio.Semaphore()
        self._traces = traces
        self._host = host
        self._port = 0
        try:
            make_folder(received.parent)
            self._file = open(  # noqa: SIM115 (for nobody else to read; open as long as it listens)
                received, "ab", opener=_private
            )
        except OSError as error:
            raise StoreError(f"{received} cannot be written: {error.strerror or error}") from error

    @property
    def address(self) -> str:
        """Where it listens."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    def environment(self) -> dict[str, str]:
        """The variables that make OpenTelemetry's exporters send their traces here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.address,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization={quote(f'Bearer {self.token}')}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }

    async def serve(self, port: int | None, started: Callable[[], object]) -> None:
        """Listens until it is cancelled.

        Args:
            port: The port; None for 4318, or one that is free.

        Raises:
            UsageError: The port cannot be listened on.
        """
        with _bound(self._host, port) as listening:
            self._port = listening.getsockname()[1]
            app = web.Application(client_max_size=LARGEST_BODY, middlewares=[self._guarded])
            app.router.add_post("/v1/traces", self._take)
            app.router.add_post("/v1/logs", self._take)
            app.router.add_post("/v1/metrics", self._pass_over)
            quiet = logging.getLogger("evenhand.listen")
            quiet.disabled = True  # what strangers send is no news
            # Nothing of a request is read, or unpacked, before it is known to be one that may be sent.
            runner = web.AppRunner(
                app,
                handle_signals=False,
                access_log=None,
                logger=quiet,
                shutdown_timeout=_SOON_S,
                lingering_time=0,
                auto_decompress=False,
            )
            await runner.setup()
            try:
                await web.SockSite(runner, listening).start()
                started()
                await asyncio.Event().wait()
            finally:
                await runner.cleanup()
                self.close()

    def close(self) -> None:
        """Closes the file of what was received."""
        self._file.close()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses a request by its head alone, on whatever route, and hangs up."""
        refused = self._refused(request)
        if refused is None:
            try:
                return await handler(request)
            except web.HTTPException as error:
                refused = _said(error.status, _TOO_LARGE if error.status == 413 else error.reason)
        refused.force_close()
        return refused

    async def _pass_over(self, request: web.Request) -> web.StreamResponse:
        """Metrics: exporters that send everything to one address send them, too."""
        await request.read()
        return _answer(request)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        try:
            data = await request.read()
        except (web.RequestPayloadError, ValueError) as error:
            return _said(400, f"the body cannot be read: {error}")
        try:
            async with (
                self._unpacking
            ):  # one at a time: each may take as much memory as a request may have
                data = await asyncio.to_thread(_unpacked, data, request.headers.get(_ENCODING, ""))
        except zlib.error as error:
            return _said(400, f"the body cannot be unpacked: {error}")
        if data is None:
            return _said(413, _TOO_LARGE)
        self.arrived.set()
        try:
            spans = list(self._spans(request, data))
        except (Malformed, ValueError) as error:
            return _said(400, f"this is not an OTLP request: {' '.join(str(error).split())[:200]}")
        try:
            self._file.writelines(map(line_of, spans))
            self._file.flush()
        except OSError as error:
            return _said(503, f"the disk cannot be written: {error.strerror}")
        for span in spans:
            self._traces.add(span)
        self.arrived.set()
        return _answer(request)

    def _spans(self, request: web.Request, data: bytes) -> Iterator[RawSpan]:
        logs = request.path == "/v1/logs"
        if request.content_type == _PROTOBUF:
            return otlp_protobuf.logged_of(data) if logs else otlp_protobuf.spans_of(data)
        if request.content_type != _JSON:
            raise ValueError(
                f"its Content-Type is {request.content_type[:80]}, not {_JSON} or {_PROTOBUF}"
            )
        value = decode(data)
        if not is_object(value):
            raise ValueError("it is not a JSON object")
        if not otlp_json.reads(value):
            raise ValueError("it has no resourceSpans and no resourceLogs")
        return otlp_json.spans_of(Part(value, "a request", self._traces.notes))

    def _refused(self, request: web.Request) -> web.Response | None:
        """Why a request is not answered, by its head alone; None for one that is."""
        host = request.headers.get("Host", "").rpartition(":")[0].strip("[]").lower()
        # DNS rebinding: a page's own name may lead to this machine, and its requests bear that name.
        if is_this_machine(self._host) and not is_this_machine(host):
            return _said(421, "this is not the host that you asked for")
        # Browsers send these; exporters don't.
        if "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "none") != "none":
            return _said(403, "pages in a browser may not send traces here")
        # Compared in the same time wherever they differ, so that nobody can guess the token by the clock.
        kind, _, words = request.headers.get("Authorization", "").partition(" ")
        theirs = words.strip().encode("utf-8", "replace")
        if kind.lower() != "bearer" or not hmac.compare_digest(theirs, self.token.encode()):
            return _said(
                401,
                "the token is missing: set OTEL_EXPORTER_OTLP_HEADERS as `evenhand runs listen` printed it",
            )
        if request.headers.get(_ENCODING, "").strip().lower() not in _WINDOWS:
            return _said(415, "a body is packed with gzip or deflate, once, or not at all")
        if (request.content_length or 0) > LARGEST_BODY:
            return _said(413, _TOO_LARGE)
        return None


def _unpacked(data: bytes, encoding: str) -> bytes | None:
    """A body without its packing; None where it is too large."""
    window = _WINDOWS[encoding.strip().lower()]
    if window is None:
        return data
    unpacking = zlib.decompressobj(window)
    # One byte more than is taken, so that a small body that unpacks to gigabytes is told, and not held.
    whole = unpacking.decompress(data, LARGEST_BODY + 1)
    if len(whole) > LARGEST_BODY:
        return None
    if not unpacking.eof:
        raise zlib.error("it is cut off")
    return whole


def _answer(request: web.Request) -> web.Response:
    """That all was taken: an empty response, in the form of the request."""
    if request.content_type == _JSON:
        return web.Response(body=b"{}", content_type=_JSON)
    return web.Response(body=b"", content_type=_PROTOBUF)


def _said(status: int, text: str) -> web.Response:
    return web.Response(
        status=status, text=text + "\n", headers={"X-Content-Type-Options": "nosniff"}
    )


def _bound(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            listening.bind((host, PORT if port is None else port))
        except OSError:
            if port is not None:
                raise
            listening.bind((host, 0))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host}, port {PORT if port is None else port}, cannot be listened on: {os.strerror(error.errno or 0)}",
            hint="Name another --port, or none for any that is free.",
        ) from error
    return listening


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def line_of(span: RawSpan) -> bytes:
    """A request with this span, or with what was logged for one, as a line."""
    about = (
        [{"key": "service.name", "value": {"stringValue": span.service}}] if span.service else []
    )
    name, _, version = span.scope.rpartition(" ")
    scope = {"name": name, "version": version} if name else {"name": version}
    within = {"logRecords": _records(span)} if span.logged else {"spans": [_span(span)]}
    key, inner = ("resourceLogs", "scopeLogs") if span.logged else ("resourceSpans", "scopeSpans")
    request = {key: [{"resource": {"attributes": about}, inner: [{"scope": scope, **within}]}]}
    return encode(request, ordered=False) + b"\n"


def _span(span: RawSpan) -> dict[str, Any]:
    row = {
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent,
        "name": span.name,
        "startTimeUnixNano": None if span.start is None else str(span.start),
        "endTimeUnixNano": None if span.end is None else str(span.end),
        "attributes": _attributes(span.attributes),
        "events": [
            {"name": one.name, "attributes": _attributes(one.attributes)} for one in span.events
        ],
        "status": {"code": _CODES[span.status], "message": span.error},
        "droppedAttributesCount": span.dropped,
    }
    return {key: value for key, value in row.items() if value not in (None, "", [], 0)}


def _records(span: RawSpan) -> list[dict[str, Any]]:
    return [
        {
            "traceId": span.trace,
            "spanId": span.id,
            "eventName": event.name,
            "timeUnixNano": str(span.start or 0),
            "attributes": _attributes(event.attributes),
        }
        for event in span.events
    ]


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any(value)} for key, value in attributes.items()]


def _any(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if is_object(value):
        return {"kvlistValue": {"values": _attributes(value)}}
    if is_array(value):
        return {"arrayValue": {"values": [_any(one) for one in value]}}
    return {}
