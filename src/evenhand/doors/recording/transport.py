"""What an HTTP client sends its requests with: in a trial through the run, elsewhere as it always did.

The classes are made for `httpx2` and `httpx` alike: they take what the request's own library has. Requests that are
passed through go by a client of that library, which minds proxies and the like.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

from evenhand.core.errors import CodeError, ProviderError, TimedOut
from evenhand.core.message import CallRole
from evenhand.core.scripted import scripted_url
from evenhand.doors.recording import background
from evenhand.doors.recording.exchange import (
    Exchange,
    ResponseHead,
    hop,
    hop_async,
    refusal,
    refuse_to_block,
)
from evenhand.engine.call_context import meet, phase
from evenhand.engine.strays import is_elsewhere, trial_here
from evenhand.engine.trial import LiveTrial
from evenhand.providers.app_call import AppCall, Prices, checked
from evenhand.providers.http import TIMEOUT_S


class Transport:
    """The transport of a plain client: `httpx.Client(transport=recording.Transport())`.

    Args:
        through: The client that sends what is no business of a run's; None for an ordinary one.
        role: What its calls are recorded as; None for set-up in a fixture, judge in a scorer, and subject elsewhere.
        prices: What models cost that the price list does not know: name → (US dollars per million tokens in, out).
    """

    def __init__(
        self, through: Any = None, *, role: CallRole | None = None, prices: Prices | None = None
    ) -> None:
        self._through = through
        self._role: CallRole | None = role
        self._prices = checked(prices)

    def handle_request(self, request: Any) -> Any:
        """Sends a request of the client's."""
        library = _library_of(request)
        trial = _trial_for(request)
        if isinstance(trial, CodeError):
            return _whole(library, refusal(trial))
        if trial is None or trial.home is None:
            if self._through is None:
                # Each request carries the timeouts of the client that it was made by.
                self._through = library.Client(timeout=None)
            # The client around this transport has added the authentication, and follows redirects itself.
            return self._through.send(request, stream=True, auth=None, follow_redirects=False)
        loop = trial.home.loop
        if _running() is loop:
            return _whole(library, refuse_to_block(trial))
        call = _call(request, request.read(), self._prices)
        exchange = Exchange(trial, call, self._role or role_of(call), _retried(request))
        try:
            head = hop(loop, exchange.opened)
        except ProviderError as error:
            raise _raised(library, error, request) from error
        if head.body is not None:
            return _whole(library, head)
        stream = _streams(library)[0](exchange, loop, request)
        return library.Response(head.status, headers=dict(head.headers), stream=stream)

    def close(self) -> None:
        """Lets go of connections."""
        if self._through is not None:
            self._through.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncTransport:
    """The transport of an async client: `httpx.AsyncClient(transport=recording.AsyncTransport())`; see `Transport`."""

    def __init__(
        self, through: Any = None, *, role: CallRole | None = None, prices: Prices | None = None
    ) -> None:
        self._through = through
        self._role: CallRole | None = role
        self._prices = checked(prices)

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request of the client's."""
        library = _library_of(request)
        trial = _trial_for(request)
        if isinstance(trial, CodeError):
            return _whole(library, refusal(trial))
        if trial is None or trial.home is None:
            if self._through is None:
                self._through = library.AsyncClient(timeout=None)
            return await self._through.send(request, stream=True, auth=None, follow_redirects=False)
        loop = trial.home.loop
        call = _call(request, await request.aread(), self._prices)
        exchange = Exchange(trial, call, self._role or role_of(call), _retried(request))
        try:
            head = await hop_async(loop, exchange.opened)
        except ProviderError as error:
            raise _raised(library, error, request) from error
        if head.body is not None:
            return _whole(library, head)
        stream = _streams(library)[1](exchange, loop, request)
        return library.Response(head.status, headers=dict(head.headers), stream=stream)

    async def aclose(self) -> None:
        """Lets go of connections."""
        if self._through is not None:
            await self._through.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _trial_for(request: Any) -> LiveTrial | CodeError | None:
    """The trial that a request belongs to; None for what is no run's business; why it must not be sent."""
    waiting = background.trial_of(request)
    if waiting is not None:
        return waiting
    if request.method != "POST":
        return None
    trial = trial_here()
    ours = trial is not None and trial.home is not None and not trial.home.over
    if trial is not None and ours and not is_elsewhere(trial):
        return trial
    return meet(f"POST {request.url.netloc.decode().rpartition('@')[2]}{request.url.path}")


def role_of(call: AppCall) -> CallRole:
    """What a call counts as where nobody says: as what its trial does just now; but what asks no model, as set-up."""
    return phase.get() if call.asks_a_model else "setup"


def _call(request: Any, body: bytes, prices: Prices) -> AppCall:
    call = background.call_of(request)
    if call is not None:
        return call
    headers: Mapping[str, str] = {name.lower(): value for name, value in request.headers.items()}
    limits = request.extensions.get("timeout") or {}
    url, timeout_s = str(request.url), limits.get("read") or TIMEOUT_S
    call = AppCall.of(url, headers, body, timeout_s, prices)
    # Only models are scripted: an application's other services are asked where they are.
    if call.place is None or scripted_url(url) == url:
        return call
    return AppCall.of(scripted_url(url), headers, body, timeout_s, prices)


def _retried(request: Any) -> bool:
    """Whether the SDK sends this request again: its run has done so, as often as makes sense."""
    return request.headers.get("x-stainless-retry-count", "0") != "0"


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _library_of(request: Any) -> Any:
    return sys.modules[type(request).__module__.partition(".")[0]]


def _whole(library: Any, head: ResponseHead) -> Any:
    return library.Response(head.status, headers=dict(head.headers), content=head.body)


def _raised(library: Any, error: ProviderError, request: Any) -> Exception:
    """An error without an answer, as the library would raise it."""
    kind = library.ReadTimeout if isinstance(error, TimedOut) else library.ConnectError
    return kind(str(error), request=request)


@functools.cache
def _streams(library: Any) -> tuple[type[Any], type[Any]]:
    """The streams of this library that hand an exchange's pieces over: the plain one, and the async one."""

    class Pieces(library.SyncByteStream):
        def __init__(
            self, exchange: Exchange, loop: asyncio.AbstractEventLoop, request: Any
        ) -> None:
            self._exchange, self._loop, self._request = exchange, loop, request

        def __iter__(self) -> Iterator[bytes]:
            try:
                while piece := hop(self._loop, self._exchange.next):
                    yield piece
            except ProviderError as error:
                raise library.ReadError(str(error), request=self._request) from error

        def close(self) -> None:
            if not self._exchange.done:
                hop(self._loop, self._exchange.close)

    class AsyncPieces(library.AsyncByteStream):
        def __init__(
            self, exchange: Exchange, loop: asyncio.AbstractEventLoop, request: Any
        ) -> None:
            self._exchange, self._loop, self._request = exchange, loop, request

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
