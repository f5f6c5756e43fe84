"""The HTTP client's room: one POST in, status, headers and the whole body out.

Or a ProviderError that says which way it failed. Nothing here retries, follows redirects, or knows what is sent.

The client is imported when the first request is made, so that a run answered by the cache never pays for it.
Proxies come from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, extra certificate authorities from SSL_CERT_FILE.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.core.errors import BadReply, BadRequest, ConnectionFailed, TimedOut

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MAX_BODY = 32 * 1024 * 1024
TIMEOUT_S = 300.0
CONNECT_S = 15.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
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


@dataclass(frozen=True, slots=True)
class _Route:
    address: URL
    proxy: str | None
    ssl: ssl.SSLContext | bool


class Transport:
    """Posts, over connections that are kept and shared. One for each event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._timeouts: dict[float, aiohttp.ClientTimeout] = {}
        self._routes: dict[str, _Route] = {}

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float = TIMEOUT_S
    ) -> HttpAnswer:
        """Sends one request and reads the answer to its end.

        Args:
            timeout_s: Seconds for all of it, the answer's last byte included.

        Raises:
            ConnectionFailed: It could not be sent, or the answer was cut off.
            TimedOut: No answer in time.
            BadReply: An answer of more than 32 MB.
            BadRequest: The address or a header cannot be sent at all.
        """
        import aiohttp  # noqa: PLC0415 (0.4 s of imports, not wanted before the first request)

        session = self._session or self._open()
        timeout = self._timeouts.get(timeout_s)
        if timeout is None:
            timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_S)
            self._timeouts[timeout_s] = timeout
        started = time.perf_counter()
        sent = False
        try:
            route = self._routes.get(url) or self._route(url)
            async with session.post(
                route.address,
                data=body,
                headers=headers,
                timeout=timeout,
                proxy=route.proxy,
                ssl=route.ssl,
                allow_redirects=False,
            ) as response:
                sent = True
                if (response.content_length or 0) > MAX_BODY:
                    raise _too_long(url)
                data = await _whole(response, url)
                return HttpAnswer(
                    response.status, response.headers, data, time.perf_counter() - started
                )
        except TimeoutError as error:
            if isinstance(error, aiohttp.ConnectionTimeoutError):
                raise ConnectionFailed(
                    f"{_host(url)} could not be reached in {CONNECT_S:g} s"
                ) from None
            raise TimedOut(
                f"{_host(url)} did not answer in {timeout_s:g} s", billed=None, hint=_TIMEOUT_HINT
            ) from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise ConnectionFailed(
                f"{_host(url)}: its certificate is not trusted: {error.certificate_error}",
                hint="Behind a company proxy, name its authority with SSL_CERT_FILE.",
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise ConnectionFailed(
                f"{_host(url)} cannot be reached: {error.os_error.strerror or error.os_error}",
                hint=_REACH_HINT,
            ) from None
        except (ValueError, aiohttp.NonHttpUrlClientError) as error:
            raise BadRequest(f"nothing can be sent to {_host(url)}: {_short(error)}") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            what = "was cut off" if sent else "was lost"
            raise ConnectionFailed(
                f"the connection to {_host(url)} {what}: {_short(error)}", billed=None
            ) from None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415 (see above)

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

        from yarl import URL  # noqa: PLC0415 (see above)

        address = URL(url)
        proxies = getproxies()
        proxy = proxies.get(address.scheme) or proxies.get("all")
        found = self._routes[url] = _Route(
            address=address,
            proxy=None if proxy_bypass(address.host or "") else proxy,
            # True is the client's own context, which knows the system's authorities only.
            ssl=ssl.create_default_context()
            if address.scheme == "https" and _extra_authorities()
            else True,
        )
        return found

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


_TIMEOUT_HINT = (
    "It may have been charged for. Set timeoutMs in the provider's config to wait longer."
)
_REACH_HINT = "Look at the address and the network; HTTPS_PROXY and NO_PROXY are honoured."
_transports: dict[asyncio.AbstractEventLoop, Transport] = {}


def transport() -> Transport:
    """The running loop's transport."""
    loop = asyncio.get_running_loop()
    found = _transports.get(loop)
    if found is None:
        found = _transports[loop] = Transport()
    return found


async def close() -> None:
    """Closes the running loop's connections, and forgets those of loops that are gone."""
    found = _transports.pop(asyncio.get_running_loop(), None)
    for loop in [loop for loop in _transports if loop.is_closed()]:
        del _transports[loop]
    if found is not None:
        await found.close()


async def _whole(response: aiohttp.ClientResponse, url: str) -> bytes:
    """The body, in pieces where its length is not known: a small answer may unpack to a very large one."""
    if response.content_length is not None and "content-encoding" not in response.headers:
        return await response.read()
    pieces: list[bytes] = []
    length = 0
    async for piece in response.content.iter_any():
        length += len(piece)
        if length > MAX_BODY:
            raise _too_long(url)
        pieces.append(piece)
    return b"".join(pieces)


def _extra_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    return bool(paths.cafile) and paths.cafile != paths.openssl_cafile


def _host(url: str) -> str:
    return url.partition("//")[2].partition("/")[0].rpartition("@")[2] or url


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


def _too_long(url: str) -> BadReply:
    return BadReply(f"{_host(url)} answered with more than {MAX_BODY // 2**20} MB", billed=True)
