"""The HTTP client's room: one request in, status, headers and the whole body out.

Or a ProviderError that says which way it failed. Nothing here retries, follows redirects, or knows what is sent.

The client is imported when the first request is made, so that a run answered by the cache never pays for it.
Proxies come from HTTP_PROXY, HTTPS_PROXY and NO_PROXY (never for this machine itself), extra certificate authorities
from SSL_CERT_FILE.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from evenhand.core.errors import (
    BadReply,
    BadRequest,
    ConnectionFailed,
    ProviderError,
    TimedOut,
    Unreachable,
)
from evenhand.core.record import Record

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MAX_BODY = 32 * 1024 * 1024
TIMEOUT_S = 300.0
CONNECT_S = 15.0


class HttpAnswer(Record, frozen=True):
    """What came back.

    Attributes:
        status: The HTTP status.
        headers: Looked up without regard to case.
        body: All of it.
        latency_s: From sending to the last byte.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_s: float


class Listener(Protocol):
    """Somebody who is told of an answer while it comes in."""

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer is here."""
        ...

    def piece(self, data: bytes) -> None:
        """And some more of its body."""
        ...


class _Route(Record, frozen=True):
    address: URL
    proxy: str | None
    ssl: ssl.SSLContext | bool


class HttpTransport:
    """Posts, over connections that are kept and shared. One for each event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._timeouts: dict[tuple[str, float], aiohttp.ClientTimeout] = {}
        self._routes: dict[str, _Route] = {}
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
            largest: Bytes that the answer may have; 32 MB where it is not said.

        Raises:
            ConnectionFailed: It could not be sent, or the answer was cut off.
            TimedOut: No answer in time.
            BadReply: An answer that is larger.
            BadRequest: The address or a header cannot be sent at all.
            Unreachable: The proxy is of a kind that is not spoken here, or lets nobody through.
        """
        import aiohttp  # noqa: PLC0415 (0.4 s of imports, not wanted before the first request)

        session = self._session or self._open()
        if listener is None:
            timeout = self._timeouts.get((url[:6], timeout_s)) or self._timeout(url, timeout_s)
        else:
            timeout = aiohttp.ClientTimeout(connect=_connect_s(timeout_s), sock_read=timeout_s)
        started = time.perf_counter()
        sent = False
        self.in_flight += 1
        try:
            route = self._routes.get(url) or self._route(url)
            # As `async with` does it, at less than its price.
            response = await session.request(
                method,
                route.address,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=route.proxy,
                ssl=route.ssl,
                allow_redirects=False,
            )
            try:
                sent = True
                most = MAX_BODY if largest is None else largest
                if (response.content_length or 0) > most:
                    raise _too_long(url, most)
                if listener is not None:
                    listener.began(response.status, response.headers)
                data = await _whole(response, url, listener, most)
                return HttpAnswer(
                    response.status, response.headers, data, time.perf_counter() - started
                )
            finally:
                response.release()  # of what was not read to its end, the connection is closed
        except (aiohttp.ClientError, TimeoutError, ConnectionError, ValueError) as error:
            route = self._routes.get(url)
            proxy = route.proxy if route else None
            raise _failure(error, url, proxy, timeout_s, sent=sent) from None
        finally:
            self.in_flight -= 1

    def _timeout(self, url: str, timeout_s: float) -> aiohttp.ClientTimeout:
        """The time limits of a request. A limit that takes a TLS handshake in costs a timer for each request."""
        import aiohttp  # noqa: PLC0415 (imported on use)

        limit = _connect_s(timeout_s)
        if url.startswith("https:"):
            timeout = aiohttp.ClientTimeout(total=timeout_s, connect=limit)
        else:
            timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=limit)
        self._timeouts[url[:6], timeout_s] = timeout
        return timeout

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415 (imported on use)

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
            skip_auto_headers=("User-Agent",),
        )
        return self._session

    def _route(self, url: str) -> _Route:
        """How to get to an address, found out once: the client itself would for every request."""
        from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 (once for each address)

        from yarl import URL  # noqa: PLC0415 (imported on use)

        address = URL(url)
        proxies = getproxies()
        proxy = proxies.get(address.scheme) or proxies.get("all")
        if not proxy or _here(address.host) or proxy_bypass(f"{address.host}:{address.port}"):
            proxy = None
        elif "//" not in proxy:
            proxy = f"http://{proxy}"
        elif not proxy.startswith(("http://", "https://")):
            raise Unreachable(
                f"{_host(url)} cannot be reached through a proxy like {proxy.partition('://')[0]}://",
                hint="Only HTTP proxies are spoken here: name one with HTTPS_PROXY, or the address with NO_PROXY.",
            )
        route = self._routes[url] = _Route(
            address=address,
            proxy=proxy,
            # True is the client's own context, which knows the system's authorities only.
            ssl=ssl.create_default_context()
            if address.scheme == "https" and _extra_authorities()
            else True,
        )
        return route

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def prepare() -> None:
    """Imports the client in the background, for a program that is about to need it.

    Most of the time goes into reading the system's certificates, during which other threads can work.
    """
    threading.Thread(target=_import_client, name="evenhand-http-client", daemon=True).start()


def _import_client() -> None:
    with contextlib.suppress(Exception):  # whoever sends the first request is told
        import aiohttp  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport] (imported on use)


_TIMEOUT_HINT = (
    "It may have been charged for. Set timeoutMs in the provider's config to wait longer."
)
_REACH_HINT = "Look at the address and the network; HTTPS_PROXY and NO_PROXY are honoured."
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
    for loop in [loop for loop in _transports if loop.is_closed()]:
        del _transports[loop]
    running = asyncio.get_running_loop()
    existing = _transports.get(running)
    if existing is not None and not existing.in_flight:
        del _transports[running]
        await existing.close()


async def _whole(
    response: aiohttp.ClientResponse,
    url: str,
    listener: Listener | None,
    largest: int,
) -> bytes:
    """The body, in pieces where its length is not known: a small answer may unpack to a very large one."""
    known = response.content_length is not None and "content-encoding" not in response.headers
    if known and listener is None:
        return await response.read()
    pieces: list[bytes] = []
    length = 0
    async for piece in response.content.iter_any():
        length += len(piece)
        if length > largest:
            raise _too_long(url, largest)
        pieces.append(piece)
        if listener is not None:
            listener.piece(piece)
    return b"".join(pieces)


def _here(host: str | None) -> bool:
    """Whether this is this very machine, which no proxy leads to."""
    return host in ("localhost", "::1") or (host or "").startswith("127.")


def _connect_s(timeout_s: float) -> float:
    """Seconds for looking up, connecting and TLS: less than the whole, so that it is known that nothing was sent."""
    return min(CONNECT_S, timeout_s / 2)


def _failure(
    error: Exception, url: str, proxy: str | None, timeout_s: float, *, sent: bool
) -> ProviderError:
    """What an error of the client's means, and whether anything can have been charged for."""
    import aiohttp  # noqa: PLC0415 (imported on use)

    host = _host(url)
    way = f"{host} through the proxy {_host(proxy)}" if proxy else host
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectionFailed(f"{way} could not be reached in {_connect_s(timeout_s):g} s")
    if isinstance(error, TimeoutError):
        return TimedOut(
            f"{host} did not answer in {timeout_s:g} s", billed=None, hint=_TIMEOUT_HINT
        )
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return ConnectionFailed(
            f"{host}: its certificate is not trusted: {error.certificate_error}",
            hint="Behind a company proxy, name its authority with SSL_CERT_FILE.",
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        why = error.os_error.strerror or error.os_error
        return ConnectionFailed(f"{way} cannot be reached: {why}", hint=_REACH_HINT)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        if error.status == 407:
            return Unreachable(
                f"{way} cannot be reached: it wants a name and a password",
                hint="Put them into HTTPS_PROXY: http://name:password@proxy:port.",
                status=407,
            )
        return ConnectionFailed(f"{way} cannot be reached: it answered {error.status}")
    if isinstance(error, (ValueError, aiohttp.NonHttpUrlClientError)):
        return BadRequest(f"nothing can be sent to {host}: {_short(error)}")
    what = "was cut off" if sent else "was lost"
    return ConnectionFailed(f"the connection to {way} {what}: {_short(error)}", billed=None)


def _extra_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    return bool(paths.cafile) and paths.cafile != paths.openssl_cafile


def _host(url: str) -> str:
    return url.partition("//")[2].partition("/")[0].rpartition("@")[2] or url


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


def _too_long(url: str, largest: int) -> BadReply:
    return BadReply(f"{_host(url)} answered with more than {largest // 2**20} MB", billed=True)
