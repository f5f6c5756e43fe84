"""The HTTP client's room: one request in, status, headers and the whole body out.

Or a ProviderError that says which way it failed. Nothing here retries, follows redirects, or knows what is sent.

The client is libcurl, imported when the first request is made. Proxies come from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and
NO_PROXY (never for this machine itself), certificate authorities from the system, SSL_CERT_FILE, REQUESTS_CA_BUNDLE and
NODE_EXTRA_CA_CERTS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenhand.core.errors import ConnectionFailed
from evenhand.providers.http_answer import HttpAnswer, Listener
from evenhand.providers.http_routes import Route, route_to

if TYPE_CHECKING:
    from evenhand.providers.curl_loop import CurlLoop
    from evenhand.providers.exchange import Exchange

__all__ = ["MAX_BODY", "TIMEOUT_S", "HttpAnswer", "HttpTransport", "Listener", "close", "transport"]

MAX_BODY = 32 * 1024 * 1024
TIMEOUT_S = 300.0
_ROUTES = 1_000  # addresses whose route is remembered


class HttpTransport:
    """Posts, over connections that are kept and shared. One for each event loop."""

    def __init__(self) -> None:
        self._curls: CurlLoop | None = None
        self._routes: dict[str, Route] = {}
        self._idle: list[Exchange] = []
        self.in_flight = 0

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float = TIMEOUT_S,
        method: str = "POST",
        listener: Listener | None = None,
        largest: int | None = None,
    ) -> HttpAnswer:
        """Sends one request and reads the answer to its end.

        Args:
            timeout_s: Seconds for all of it, the answer's last byte included; with a listener, for each piece of it.
            method: Another one, for what is not an API that takes questions.
            listener: Told of the answer while it comes in.
            largest: Bytes that the answer may have, unpacked; 32 MB where it is not said.

        Raises:
            ConnectionFailed: It could not be sent, or the answer was cut off.
            TimedOut: No answer in time.
            BadReply: An answer that is larger.
            BadRequest: The address or a header cannot be sent at all.
            Unreachable: The proxy is of a kind that is not spoken here, or lets nobody through; or an authority's
                certificate cannot be read.
        """
        curls = self._curls
        if curls is None or curls.is_broken:
            curls = self._open()
        route = self._routes.get(url) or self._route(url)
        exchange = self._idle.pop() if self._idle else _exchange(curls)
        exchange.prepare(url, route, headers, body, timeout_s, method)
        exchange.most = MAX_BODY if largest is None else largest
        lapse = None if listener is None else exchange.tell(listener, timeout_s, curls)
        self.in_flight += 1
        try:
            ending = await curls.perform(exchange.curl)
            if exchange.is_stale:
                exchange.renew()
                ending = await curls.perform(exchange.curl)
            if ending.number or lapse is not None:
                exchange.end(listener, ending, route, timeout_s)
            answer = exchange.answer(ending.at)
        except BaseException:
            exchange.curl.close()
            raise
        finally:
            self.in_flight -= 1
            exchange.leave()
            if lapse is not None:
                lapse.cancel()
        if listener is None:
            self._idle.append(exchange)
        else:
            exchange.curl.close()
        return answer

    def _open(self) -> CurlLoop:
        from evenhand.providers.curl_loop import CurlLoop  # noqa: PLC0415 (imported on use)

        try:
            self._curls = CurlLoop()
        except OSError as error:
            raise ConnectionFailed(f"no connection can be opened: {error.strerror}") from error
        return self._curls

    def _route(self, url: str) -> Route:
        """How to get to an address, found out once."""
        if len(self._routes) >= _ROUTES:
            self._routes.clear()
        route = self._routes[url] = route_to(url)
        return route

    async def close(self) -> None:
        """Closes the connections."""
        for exchange in self._idle:
            exchange.curl.close()
        self._idle.clear()
        if self._curls is not None:
            self._curls.close()
            self._curls = None


def _exchange(curls: CurlLoop) -> Exchange:
    from evenhand.providers.exchange import Exchange  # noqa: PLC0415 (imported on use)

    return Exchange(curls.kept)


_transports: dict[asyncio.AbstractEventLoop, HttpTransport] = {}


def transport() -> HttpTransport:
    """The running loop's transport."""
    loop = asyncio.get_running_loop()
    existing = _transports.get(loop)
    if existing is None:
        existing = _transports[loop] = HttpTransport()
    return existing


async def close() -> None:
    """Closes the running loop's connections, and forgets those of loops that are gone.

    Where another run on this loop waits for an answer they stay: it would be lost, and paid for again. That run
    closes them when it ends.
    """
    for loop in [loop for loop in list(_transports) if loop.is_closed()]:
        await _transports.pop(loop).close()
    running = asyncio.get_running_loop()
    existing = _transports.get(running)
    if existing is not None and not existing.in_flight:
        del _transports[running]
        await existing.close()
