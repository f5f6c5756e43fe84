"""Clients that go a way of their own: by a proxy, a socket, or with certificates that they were given.

A run sends what it records with its own HTTP client, which knows the proxies and authorities that the environment
names. It can't go the way of a client that was given others. Such a client sends its requests itself, whenever the run
asks, and tells the run what comes back.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from weakref import WeakKeyDictionary

from evenhand.core.errors import BadReply, ConnectionFailed, ProviderError, TimedOut
from evenhand.core.own_requests import by_the_run
from evenhand.providers.app_call import Sender
from evenhand.providers.http import MAX_BODY
from evenhand.providers.http_answer import HttpAnswer, Listener
from evenhand.providers.http_routes import authorities

Send = Callable[[Listener | None], HttpAnswer]
SendAsync = Callable[[Listener | None], Awaitable[HttpAnswer]]

_UNSENT = re.compile(
    r"(?:Client)?(?:Connector|Connect(?:ion)?Timeout|ConnectError|NewConnection|NameResolution|Proxy|PoolTimeout)"
)
"""How the names of errors begin before which nothing can have been sent."""

_usual: WeakKeyDictionary[ssl.SSLContext, bool] = WeakKeyDictionary()


def trusts_usual(context: object) -> bool:
    """Whether a client's settings for TLS trust nobody else than the run's own client does, and check all servers."""
    if type(context) is not ssl.SSLContext:
        return context is None or context is True
    known = _usual.get(context)
    if known is None:
        checks = context.verify_mode == ssl.CERT_REQUIRED and context.check_hostname
        known = checks and {*context.get_ca_certs(binary_form=True)} <= _authorities()
        _usual[context] = known
    return known


def is_usual_bundle(path: object) -> bool:
    """Whether this file of authorities is one that comes with a library, or that the environment names."""
    named = {os.environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
    return path is None or path in named or str(path) in _bundles()


@functools.cache
def _bundles() -> frozenset[str]:
    try:
        import certifi  # noqa: PLC0415 (imported on use)
    except ImportError:
        return frozenset()
    return frozenset({certifi.where()})


@functools.cache
def _authorities() -> frozenset[bytes]:
    context = ssl.create_default_context()
    for path in (*_bundles(), authorities()):
        context.load_verify_locations(path)
    return frozenset(context.get_ca_certs(binary_form=True))


class _OnLoop:
    """Tells a listener on the run's loop of an answer that comes in elsewhere."""

    def __init__(self, listener: Listener, loop: asyncio.AbstractEventLoop) -> None:
        self._listener = listener
        self._loop = loop

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        self._loop.call_soon_threadsafe(self._listener.began, status, headers)

    def piece(self, data: bytes) -> None:
        self._loop.call_soon_threadsafe(self._listener.piece, data)


def in_thread(send: Send) -> Sender:
    """Has a plain client send, in a thread: its own waits for the run."""

    async def sender(listener: Listener | None) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        relay = None if listener is None else _OnLoop(listener, loop)
        future: asyncio.Future[HttpAnswer] = loop.create_future()

        def settle(answer: HttpAnswer | None, error: BaseException | None) -> None:
            if future.done():
                return
            if answer is not None:
                future.set_result(answer)
            elif error is not None:
                future.set_exception(error)

        def work() -> None:
            answer, problem = None, None
            try:
                with by_the_run():
                    answer = send(relay)
            except Exception as error:  # noqa: BLE001 (each library has its own)
                problem = failure(error)
            loop.call_soon_threadsafe(settle, answer, problem)

        threading.Thread(target=work, name="evenhand-sending", daemon=True).start()
        return await future

    return sender


def on_loop(send: SendAsync) -> Sender:
    """Has an async client send, on the loop that it is used on, which is the one that runs now."""
    home = asyncio.get_running_loop()

    async def work(listener: Listener | None) -> HttpAnswer:
        try:
            with by_the_run():
                return await send(listener)
        except Exception as error:
            raise failure(error) from error

    async def sender(listener: Listener | None) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        if loop is home:
            return await work(listener)
        relay = None if listener is None else _OnLoop(listener, loop)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(relay), home))

    return sender


class Incoming:
    """An answer while it comes in.

    Args:
        status: Its HTTP status.
        listener: Who is told of it; None for nobody.
        started: When the request went out, by `time.perf_counter`.
    """

    def __init__(
        self, status: int, headers: Mapping[str, str], listener: Listener | None, started: float
    ) -> None:
        self._status = status
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._listener = listener
        self._started = started
        self._first_s: float | None = None
        self._pieces: list[bytes] = []
        self._length = 0

    def read(self, pieces: Iterable[bytes]) -> HttpAnswer:
        """Reads it to its end."""
        for piece in pieces:
            self._add(piece)
        return self._whole()

    async def read_async(self, pieces: AsyncIterator[bytes]) -> HttpAnswer:
        """Reads it to its end."""
        async for piece in pieces:
            self._add(piece)
        return self._whole()

    def _add(self, piece: bytes) -> None:
        if not piece:
            return
        self._length += len(piece)
        if self._length > MAX_BODY:
            raise BadReply(f"the answer has more than {MAX_BODY // 2**20} MB", billed=True)
        self._pieces.append(piece)
        if self._listener is not None:
            if self._first_s is None:
                self._first_s = time.perf_counter() - self._started
                self._listener.began(self._status, self._headers)
            self._listener.piece(piece)

    def _whole(self) -> HttpAnswer:
        latency_s = time.perf_counter() - self._started
        body = b"".join(self._pieces)
        return HttpAnswer(self._status, self._headers, body, latency_s, self._first_s)


def failure(error: Exception) -> ProviderError:
    """What an error of a library's means, and whether anything can have been charged for."""
    if isinstance(error, ProviderError):
        return error
    reason = getattr(error, "reason", None)  # urllib3's error of having tried in vain
    if isinstance(reason, Exception):
        error = reason
    name = type(error).__name__
    message = f"{name}: {error}"
    if _UNSENT.match(name) or "certificate verify failed" in message.lower():
        return ConnectionFailed(message)
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return TimedOut(message, billed=None)
    return ConnectionFailed(message, billed=None)
