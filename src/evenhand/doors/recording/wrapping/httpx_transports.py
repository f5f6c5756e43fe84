"""httpx and httpx2: the transports of their plain and async clients, with which most vendors' SDKs talk."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from evenhand.doors.recording.transport import PASSED, sent, sent_async
from evenhand.doors.recording.wrapping import mocked
from evenhand.doors.recording.wrapping.recorder import (
    Recorder,
    Replaced,
    is_meant,
    may_be_meant,
    recorder_here,
)


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
        return await sent_async(request, through, role=recorder.role, prices=recorder.prices)

    return handle_async_request


def _recorder_for(transport: Any, request: Any, before: object) -> Recorder | None:
    recorder = recorder_here()
    if recorder is None or PASSED in request.extensions:
        return None
    if not may_be_meant(request.method, str(request.url)):
        return None
    return recorder if recorder.strict or not mocked.answers_httpx(transport, before) else None
