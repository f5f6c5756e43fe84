"""aiohttp, with which LiteLLM and aiobotocore talk: each request gets a middleware, the innermost one.

A middleware sees a request as it would be sent, before there is a connection. What it answers is a response of the
session's own class, started on a connection that is none: its protocol hands over what came through the run.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from evenhand.core.errors import CodeError, ProviderError, TimedOut
from evenhand.doors.recording.exchange import Exchange, ResponseHead, hop_async, refusal
from evenhand.doors.recording.outgoing import Outgoing, exchange_for, trial_for
from evenhand.doors.recording.wrapping.own_routes import Incoming, on_loop, trusts_usual
from evenhand.doors.recording.wrapping.recorder import (
    Recorder,
    Replaced,
    is_meant,
    may_be_meant,
    recorder_here,
)
from evenhand.providers.app_call import Sender
from evenhand.providers.http_answer import HttpAnswer, Listener

_LIMIT = 2**16


def problem(library: Any) -> str:
    """Why this release can't be wrapped; empty where it can."""
    if "middlewares" in inspect.signature(library.ClientSession._request).parameters:  # noqa: SLF001 (see wrap)
        return ""
    return f"aiohttp {library.__version__} has no middlewares: 3.12 has"


def wrap(library: Any) -> list[Replaced]:
    """Wraps what all methods of a session send with."""

    def wrapped(before: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(before)
        async def _request(self: Any, method: str, url: Any, **more: Any) -> Any:
            recorder = recorder_here()
            if recorder is not None:
                those = more.get("middlewares")
                # A session without any has an empty tuple; one for this request goes in place of the session's.
                others = self._middlewares if those is None else those
                timeout = more.get("timeout")
                ours = functools.partial(
                    _recorded, recorder, timeout if timeout is not None else self.timeout
                )
                more["middlewares"] = (*others, ours)
            return await before(self, method, url, **more)

        return _request

    # There is no public method through which all requests go; the name is as old as the library.
    return [Replaced.by(library.ClientSession, "_request", wrapped)]


async def _recorded(
    recorder: Recorder, patience: Any, request: Any, handler: Callable[[Any], Awaitable[Any]]
) -> Any:
    url = str(request.url)
    if not may_be_meant(request.method, url):
        return await handler(request)
    body = await request.body.as_bytes() if request.body else b""
    if not is_meant(request.method, url, lambda: body):
        return await handler(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    about = Outgoing(request.method, url, headers)
    trial = trial_for(about)
    if isinstance(trial, CodeError):
        return await _started(request, refusal(trial))
    if trial is None or trial.home is None:
        return await handler(request)
    loop, role, prices = trial.home.loop, recorder.role, recorder.prices
    sender = _carried(request, handler) if _has_own_route(request) else None
    exchange = exchange_for(
        trial, about, body, _seconds(patience), role=role, prices=prices, sender=sender
    )
    try:
        head = await hop_async(loop, exchange.opened)
    except ProviderError as error:
        library = sys.modules["aiohttp"]
        late = isinstance(error, TimedOut)
        kind = library.ServerTimeoutError if late else library.ClientConnectionError
        raise kind(str(error)) from error
    return await _started(request, head, None if head.body is not None else (exchange, loop))


def _has_own_route(request: Any) -> bool:
    connector: Any = getattr(request.session, "connector", None)
    parts = vars(connector) if hasattr(connector, "__dict__") else {}
    if request.proxy is not None or type(connector).__name__ != "TCPConnector":  # of a socket's
        return True
    resolver = type(parts.get("_resolver")).__module__.partition(".")[0]
    if parts.get("_local_addr_infos") is not None or resolver not in ("aiohttp", "builtins"):
        return True
    own = request.ssl if request.ssl is not True else parts.get("_ssl", True)
    return request.url.scheme == "https" and not trusts_usual(own)


def _carried(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Sender:
    """What sends by a session that goes a way of its own."""

    async def send(listener: Listener | None) -> HttpAnswer:
        started = time.perf_counter()
        response = await handler(request)
        try:
            incoming = Incoming(response.status, response.headers, listener, started)
            return await incoming.read_async(response.content.iter_any())
        finally:
            response.release()

    return on_loop(send)


class _Connection:
    """What a response has in place of a connection.

    Attributes:
        protocol: Reads the head once, and says whether anything was upgraded.
        transport: None, as there is none.
    """

    def __init__(self, message: Any, content: Any, live: asyncio.Task[None] | None) -> None:
        self._read = message, content
        self._live = live
        self._then: list[Callable[[], None]] = []
        self.protocol = self
        self.transport = None
        self.upgraded = False

    async def read(self) -> Any:
        """The head, and what the body is read from."""
        return self._read

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Calls this when it is over."""
        self._then.append(callback)

    def release(self) -> None:
        """The response has been read, or is given up."""
        if self._live is not None:
            self._live.cancel()
        for then in self._then:
            then()

    close = release


async def _started(
    request: Any, head: ResponseHead, live: tuple[Exchange, asyncio.AbstractEventLoop] | None = None
) -> Any:
    """A response with this head, and a body that is there or comes in."""
    library, multidict = sys.modules["aiohttp"], sys.modules["multidict"]
    loop = asyncio.get_running_loop()
    protocol: Any = sys.modules["aiohttp.base_protocol"].BaseProtocol(loop)
    # A reader waits for more only on a protocol that has a transport.
    protocol.transport = SimpleNamespace(pause_reading=_nothing, resume_reading=_nothing)
    content = library.StreamReader(protocol, _LIMIT, loop=loop)
    kind = request.response_class
    more: dict[str, Any] = {}
    if "stream_writer" in inspect.signature(kind).parameters:
        more["stream_writer"] = SimpleNamespace(output_size=0)
    response = kind(
        request.method,
        request.original_url,
        writer=None,
        continue100=None,
        timer=None,
        request_info=request.request_info,
        traces=[],
        loop=loop,
        session=request.session,
        **more,
    )
    fed = None
    if live is None:
        content.feed_data(head.body or b"")
        content.feed_eof()
    else:
        fed = asyncio.create_task(_feed(content, *live))
    headers = multidict.CIMultiDict(head.headers)
    message = SimpleNamespace(
        version=library.HttpVersion11,
        code=head.status,
        reason="OK" if head.status < 400 else "",
        headers=multidict.CIMultiDictProxy(headers),
        raw_headers=tuple((k.encode(), v.encode()) for k, v in headers.items()),
    )
    await response.start(_Connection(message, content, fed))
    return response


_LOOK_S = 0.01


def _nothing() -> None:
    """Pieces are held by the exchange anyway."""


async def _feed(content: Any, exchange: Exchange, loop: asyncio.AbstractEventLoop) -> None:
    """Hands the pieces on as they come."""
    try:
        while piece := await hop_async(loop, exchange.next):
            content.feed_data(piece)
    except ProviderError as error:
        # From then on nothing is read from it: what came before is for the application to read first.
        while getattr(content, "_buffer", None):  # noqa: ASYNC110 (it has no event for that)
            await asyncio.sleep(_LOOK_S)
        content.set_exception(sys.modules["aiohttp"].ClientPayloadError(str(error)))
    except asyncio.CancelledError:
        if not exchange.done:
            await asyncio.shield(hop_async(loop, exchange.close))
        raise
    else:
        content.feed_eof()


def _seconds(timeout: Any) -> float | None:
    """The time for reading, of a `ClientTimeout` or a number; None where it isn't said."""
    parts = (getattr(timeout, name, None) for name in ("sock_read", "total"))
    read = next((part for part in parts if part), timeout)
    return float(read) if isinstance(read, (int, float)) else None
