"""What an HTTP client sends its requests with: in a trial through the run, elsewhere as it always did.

The classes are made for `httpx2` and `httpx` alike: they take what the request's own library has. Requests that are
passed through go by a client of that library, which minds proxies and the like.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Self

from evenhand.core.errors import CodeError, ProviderError, TimedOut
from evenhand.core.message import CallRole
from evenhand.doors.recording.exchange import (
    Exchange,
    ResponseHead,
    hop,
    hop_async,
    refusal,
    refuse_to_block,
)
from evenhand.doors.recording.outgoing import Outgoing, exchange_for, running_loop, trial_for
from evenhand.engine.call_context import checked_role, pass_by
from evenhand.providers.app_call import Prices, Sender, checked_prices

ON_LOOP = "by a plain client on the event loop"
PASSED = "evenhand"
"""The extension of a request that a recording client has passed through: nobody else looks at it."""


class _Recording:
    """What plain and async transports have alike."""

    def __init__(
        self, through: Any = None, *, role: CallRole | None = None, prices: Prices | None = None
    ) -> None:
        self._through = through
        self._role: CallRole | None = checked_role(role)
        self._prices = checked_prices(prices)


class Transport(_Recording):
    """The transport of a plain client: `httpx.Client(transport=recording.Transport())`.

    Args:
        through: The client that sends what is no business of a run's; None for an ordinary one.
        role: What its calls are recorded as; None for set-up in a fixture, judge in a scorer, and subject elsewhere.
        prices: What models cost that the price list does not know: name → (US dollars per million tokens in, out).
    """

    def handle_request(self, request: Any) -> Any:
        """Sends a request of the client's."""
        return sent(request, self._pass, role=self._role, prices=self._prices)

    def _pass(self, request: Any) -> Any:
        if self._through is None:
            # Each request carries the timeouts of the client that it was made by.
            self._through = _library_of(request).Client(timeout=None)
        request.extensions[PASSED] = True
        # The client around this transport has added the authentication, and follows redirects itself.
        return self._through.send(request, stream=True, auth=None, follow_redirects=False)

    def close(self) -> None:
        """Lets go of connections."""
        if self._through is not None:
            self._through.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncTransport(_Recording):
    """The transport of an async client: `httpx.AsyncClient(transport=recording.AsyncTransport())`; see `Transport`."""

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request of the client's."""
        return await sent_async(request, self._pass, role=self._role, prices=self._prices)

    async def _pass(self, request: Any) -> Any:
        if self._through is None:
            self._through = _library_of(request).AsyncClient(timeout=None)
        request.extensions[PASSED] = True
        return await self._through.send(request, stream=True, auth=None, follow_redirects=False)

    async def aclose(self) -> None:
        """Lets go of connections."""
        if self._through is not None:
            await self._through.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def outgoing(request: Any) -> Outgoing:
    """A request of httpx's or httpx2's."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Outgoing(request.method, str(request.url), headers)


def sent(
    request: Any,
    through: Callable[[Any], Any],
    *,
    role: CallRole | None,
    prices: Prices,
    may_block: bool = False,
    carried: Callable[[bytes], Sender | None] = lambda _: None,
) -> Any:
    """The answer to a request: by the run in a trial, elsewhere by what sends it on.

    Args:
        role: See `Transport`.
        prices: See `Transport`.
        may_block: Whether a request on the run's own loop, which can't be recorded, is sent and named in the report.
            Otherwise it is refused.
        carried: Returns what sends this body where the client goes a way of its own.
    """
    library, about = _library_of(request), outgoing(request)
    trial = trial_for(about)
    if isinstance(trial, CodeError):
        return _whole(library, refusal(trial))
    if trial is None or trial.home is None:
        return through(request)
    loop = trial.home.loop
    if running_loop() is loop:
        error = pass_by(f"{about.name} ({ON_LOOP})", trial) if may_block else None
        if may_block and error is None:
            return through(request)
        return _whole(library, refuse_to_block(trial) if error is None else refusal(error))
    body, timeout_s = request.read(), _timeout_s(request)
    exchange = exchange_for(
        trial, about, body, timeout_s, role=role, prices=prices, sender=carried(body)
    )
    try:
        head = hop(loop, exchange.opened)
    except ProviderError as error:
        raise _raised(library, error, request) from error
    if head.body is not None:
        return _whole(library, head)
    stream = _streams(library)[0](exchange, loop, request)
    return library.Response(head.status, headers=dict(head.headers), stream=stream)


async def sent_async(
    request: Any,
    through: Callable[[Any], Awaitable[Any]],
    *,
    role: CallRole | None,
    prices: Prices,
    carried: Callable[[bytes], Sender | None] = lambda _: None,
) -> Any:
    """Returns the answer to a request of an async client; see `sent`."""
    library, about = _library_of(request), outgoing(request)
    trial = trial_for(about)
    if isinstance(trial, CodeError):
        return _whole(library, refusal(trial))
    if trial is None or trial.home is None:
        return await through(request)
    loop = trial.home.loop
    body, timeout_s = await request.aread(), _timeout_s(request)
    exchange = exchange_for(
        trial, about, body, timeout_s, role=role, prices=prices, sender=carried(body)
    )
    try:
        head = await hop_async(loop, exchange.opened)
    except ProviderError as error:
        raise _raised(library, error, request) from error
    if head.body is not None:
        return _whole(library, head)
    stream = _streams(library)[1](exchange, loop, request)
    return library.Response(head.status, headers=dict(head.headers), stream=stream)


def _timeout_s(request: Any) -> float | None:
    return (request.extensions.get("timeout") or {}).get("read")


def _library_of(request: Any) -> Any:
    return sys.modules[type(request).__module__.partition(".")[0]]


def _whole(library: Any, head: ResponseHead) -> Any:
    # As a stream, and not as content: a client measures `elapsed` when a stream is closed.
    stream = library.ByteStream(head.body or b"")
    return library.Response(head.status, headers=dict(head.headers), stream=stream)


def _raised(library: Any, error: ProviderError, request: Any) -> Exception:
    """An error without an answer, as the library would raise it."""
    kind = library.ReadTimeout if isinstance(error, TimedOut) else library.ConnectError
    return kind(str(error), request=request)


@functools.cache
def _streams(library: Any) -> tuple[type[Any], type[Any]]:
    """The streams of this library that hand an exchange's pieces over: the plain one, and the async one."""

    class Held:
        def __init__(
            self, exchange: Exchange, loop: asyncio.AbstractEventLoop, request: Any
        ) -> None:
            self._exchange, self._loop, self._request = exchange, loop, request

    class Pieces(Held, library.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            try:
                while piece := hop(self._loop, self._exchange.next):
                    yield piece
            except ProviderError as error:
                raise library.ReadError(str(error), request=self._request) from error

        def close(self) -> None:
            if not self._exchange.done:
                hop(self._loop, self._exchange.close)

    class AsyncPieces(Held, library.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                while piece := await hop_async(self._loop, self._exchange.next):
                    yield piece
            except ProviderError as error:
                raise library.ReadError(str(error), request=self._request) from error

        async def aclose(self) -> None:
            if not self._exchange.done:
                await hop_async(self._loop, self._exchange.close)

    return Pieces, AsyncPieces
