"""httpx and httpx2: the transports of their plain and async clients, with which most vendors' SDKs talk."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from evenhand.doors.recording.transport import PASSED, sent, sent_async
from evenhand.doors.recording.wrapping.own_routes import Incoming, in_thread, on_loop, trusts_usual
from evenhand.doors.recording.wrapping.recorder import (
    Recorder,
    Replaced,
    answers_httpx,
    is_meant,
    may_be_meant,
    recorder_here,
)
from evenhand.providers.http_answer import HttpAnswer, Listener


def wrap(library: Any) -> list[Replaced]:
    """Wraps the transports of this module, which is httpx or httpx2."""
    return [
        Replaced.by(library.HTTPTransport, "handle_request", _plain),
        Replaced.by(library.AsyncHTTPTransport, "handle_async_request", _async),
    ]


def _plain(before: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(before)
    def handle_request(self: Any, request: Any) -> Any:
        recorder = _recorder_for(self, request, before)
        if recorder is None or not is_meant(request.method, str(request.url), request.read):
            return before(self, request)
        request.extensions[PASSED] = True
        through = functools.partial(before, self)
        return sent(
            request,
            through,
            role=recorder.role,
            prices=recorder.prices,
            may_block=not recorder.strict,
            carried=functools.partial(_carried, self, request, before),
        )

    return handle_request


def _async(before: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
    @functools.wraps(before)
    async def handle_async_request(self: Any, request: Any) -> Any:
        recorder = _recorder_for(self, request, before)
        if recorder is None:
            return await before(self, request)
        body = await request.aread()
        if not is_meant(request.method, str(request.url), lambda: body):
            return await before(self, request)
        request.extensions[PASSED] = True
        through = functools.partial(before, self)
        carried = functools.partial(_carried_async, self, request, before)
        return await sent_async(
            request, through, role=recorder.role, prices=recorder.prices, carried=carried
        )

    return handle_async_request


def _has_own_route(transport: Any, request: Any) -> bool:
    pool: Any = getattr(transport, "_pool", None)
    name, parts = type(pool).__name__, vars(pool) if hasattr(pool, "__dict__") else {}
    if name not in ("ConnectionPool", "AsyncConnectionPool"):  # of a proxy, for one
        return True
    if any(parts.get(part) is not None for part in ("_proxy", "_uds", "_local_address")):
        return True
    return request.url.scheme == "https" and not trusts_usual(parts.get("_ssl_context"))


def _carried(transport: Any, request: Any, before: Callable[..., Any], body: bytes) -> Any:
    """What sends this body by the transport; None where it goes no way of its own."""
    if not _has_own_route(transport, request):
        return None

    def send(listener: Listener | None) -> HttpAnswer:
        started = time.perf_counter()
        response = before(transport, _again(request, body))
        try:
            incoming = Incoming(response.status_code, response.headers, listener, started)
            return incoming.read(response.iter_bytes())
        finally:
            response.close()

    return in_thread(send)


def _carried_async(
    transport: Any, request: Any, before: Callable[..., Awaitable[Any]], body: bytes
) -> Any:
    """What sends this body by an async transport; see `_carried`."""
    if not _has_own_route(transport, request):
        return None

    async def send(listener: Listener | None) -> HttpAnswer:
        started = time.perf_counter()
        response = await before(transport, _again(request, body))
        try:
            incoming = Incoming(response.status_code, response.headers, listener, started)
            return await incoming.read_async(response.aiter_bytes())
        finally:
            await response.aclose()

    return on_loop(send)


def _again(request: Any, body: bytes) -> Any:
    """The request once more, as a run may send it several times."""
    more = {"headers": request.headers, "extensions": dict(request.extensions)}
    return type(request)(request.method, request.url, content=body, **more)


def _recorder_for(transport: Any, request: Any, before: object) -> Recorder | None:
    recorder = recorder_here()
    if recorder is None or PASSED in request.extensions:
        return None
    if not may_be_meant(request.method, str(request.url)):
        return None
    return None if answers_httpx(transport, before) else recorder
