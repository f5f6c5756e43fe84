"""A client with a proxy, a socket or certificates of its own is recorded, and its requests still go its way."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import socketserver
import ssl
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from tests.unit.doors.recording.test_installing import BODY, KEY, STREAMED, settle, text_of
from tests.unit.providers.http_peers import Authority

from evenhand.core.errors import ConnectionFailed, TimedOut
from evenhand.doors.recording.wrapping.own_routes import failure, trusts_usual
from evenhand.testing import FakeProvider, Rule, Script

PATH = "/v1/chat/completions"


class _Handler(socketserver.BaseRequestHandler):
    server: Any

    def handle(self) -> None:
        """Passes a request on; as a proxy is told, its first line may have the whole address."""
        self.server.met.append(1)
        with socket.create_connection(("127.0.0.1", self.server.to)) as other:
            first = self.request.recv(65_536)
            method, _, rest = first.partition(b" ")
            if rest.startswith(b"http://"):
                first = method + b" /" + rest.partition(b"//")[2].partition(b"/")[2]
            other.sendall(first)
            back = threading.Thread(target=_pass_on, args=(self.request, other), daemon=True)
            back.start()
            _pass_on(other, self.request)


def _pass_on(source: Any, target: Any) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[Any, Any]:
        """A connection, encrypted where it has to be."""
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True)
        return connection, address


@contextmanager
def relay(server: Any, to: int) -> Iterator[Any]:
    """A server that passes all on to this port, and notes each connection."""
    server.to, server.met = to, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _proxy(fake: FakeProvider, _: Path) -> Iterator[tuple[Any, str, Any]]:
    with relay(_Tcp(("127.0.0.1", 0), _Handler), int(fake.url.rpartition(":")[2])) as server:
        yield server, fake.url, f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def _socket(fake: FakeProvider, _: Path) -> Iterator[tuple[Any, str, Any]]:
    with tempfile.TemporaryDirectory() as folder:  # the name of a socket may not be long
        path = f"{folder}/s"
        with relay(_Unix(path, _Handler), int(fake.url.rpartition(":")[2])) as server:
            yield server, "http://localhost", path


@contextmanager
def _authority(fake: FakeProvider, folder: Path) -> Iterator[tuple[Any, str, Any]]:
    authority = Authority(folder / "authority", "ours")
    server = _Tcp(("127.0.0.1", 0), _Handler)
    server.tls = authority.context("localhost")
    with relay(server, int(fake.url.rpartition(":")[2])):
        yield server, f"https://localhost:{server.server_address[1]}", str(authority.file)


def _post(client: Any, url: str, *, pieces: bool) -> str:
    if not pieces:
        return str(client.post(f"{url}{PATH}", json=BODY, headers=KEY).text)
    with client.stream("POST", f"{url}{PATH}", json=STREAMED, headers=KEY) as response:
        return text_of([line.encode() for line in response.iter_lines() if line])


def httpx_proxy(url: str, way: Any, *, pieces: bool) -> str:
    """A proxy that the client names, and not the environment."""
    with httpx.Client(proxy=way) as client:
        return _post(client, url, pieces=pieces)


def httpx_socket(url: str, way: Any, *, pieces: bool) -> str:
    """A socket, as of a server on the same machine."""
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=way)) as client:
        return _post(client, url, pieces=pieces)


def httpx_authority(url: str, way: Any, *, pieces: bool) -> str:
    """A company's own authority."""
    with httpx.Client(verify=ssl.create_default_context(cafile=way)) as client:
        return _post(client, url, pieces=pieces)


def unverified(url: str, way: Any, *, pieces: bool) -> str:
    """No authority at all."""
    del way
    with httpx.Client(verify=False) as client:
        return _post(client, url, pieces=pieces)


async def openai_proxy(url: str, way: Any, *, pieces: bool) -> str:
    """OpenAI's SDK, with a client of its own."""
    http = openai.DefaultAsyncHttpxClient(proxy=way)
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", http_client=http) as client:
        if not pieces:
            reply = await client.chat.completions.create(**BODY)
            return str(reply.choices[0].message.content)
        stream = await client.chat.completions.create(**STREAMED)
        return "".join([e.choices[0].delta.content or "" async for e in stream if e.choices])


def openai_proxy_elsewhere(url: str, way: Any, *, pieces: bool) -> str:
    """The same, on a loop of its own."""
    return asyncio.run(openai_proxy(url, way, pieces=pieces))


def requests_proxy(url: str, way: Any, *, pieces: bool) -> str:
    """`requests`, with a proxy for this request."""
    return _requested(url, pieces, proxies={"http": way})


def requests_authority(url: str, way: Any, *, pieces: bool) -> str:
    """`requests`, with an authority for this request."""
    return _requested(url, pieces, verify=way)


def _requested(url: str, pieces: bool, **more: Any) -> str:
    body = STREAMED if pieces else BODY
    response = requests.post(
        f"{url}{PATH}", json=body, headers=KEY, timeout=20, stream=pieces, **more
    )
    return text_of([x for x in response.iter_lines() if x]) if pieces else response.text


async def aiohttp_proxy(url: str, way: Any, *, pieces: bool) -> str:
    """aiohttp, with a proxy for this request."""
    return await _by_aiohttp(url, pieces, None, proxy=way)


async def aiohttp_socket(url: str, way: Any, *, pieces: bool) -> str:
    """aiohttp, through a socket."""
    return await _by_aiohttp(url, pieces, aiohttp.UnixConnector(way))


async def aiohttp_authority(url: str, way: Any, *, pieces: bool) -> str:
    """aiohttp, with an authority for this request."""
    return await _by_aiohttp(url, pieces, None, ssl=ssl.create_default_context(cafile=way))


async def _by_aiohttp(url: str, pieces: bool, connector: Any, **more: Any) -> str:
    body = json.dumps(STREAMED if pieces else BODY)
    async with (
        aiohttp.ClientSession(headers=KEY, connector=connector) as session,
        session.post(f"{url}{PATH}", data=body, **more) as response,
    ):
        if not pieces:
            return await response.text()
        return text_of([line.strip() async for line in response.content if line.strip()])


Client = Callable[..., "str | Awaitable[str]"]
CASES: list[tuple[Client, Any]] = [
    (httpx_proxy, _proxy),
    (httpx_socket, _socket),
    (httpx_authority, _authority),
    (unverified, _authority),
    (openai_proxy, _proxy),
    (openai_proxy_elsewhere, _proxy),
    (requests_proxy, _proxy),
    (requests_authority, _authority),
    (aiohttp_proxy, _proxy),
    (aiohttp_socket, _socket),
    (aiohttp_authority, _authority),
]


@pytest.mark.thorough(after=8)
@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize(("client", "route"), CASES, ids=lambda one: one.__name__)
def test_what_is_recorded_goes_the_clients_own_way(
    client: Client, route: Any, pieces: bool, tmp_path: Path
) -> None:
    """Once; the call is counted, limited by a budget, and answered when the server is gone."""
    cassette = tmp_path / "one.cassette"
    with FakeProvider(Script([Rule(("return",), "Within 30 days.")])) as fake:
        with route(fake, tmp_path) as (server, url, way):
            ask = functools.partial(client, way=way, pieces=pieces)
            if asyncio.iscoroutinefunction(client):

                async def asking(url: str) -> str:
                    return str(await ask(url))  # type: ignore[misc]
            else:

                def asking(url: str) -> str:  # type: ignore[misc]
                    return str(ask(url))

            refused = settle(asking, url, tmp_path, max_cost_usd=1e-9)
            assert (refused.totals().passed, len(server.met)) == (0, 0)
            first = settle(asking, url, tmp_path, cassette=cassette)
            (trial,) = first.trials()
            assert first.passed, trial.reason
            assert (trial.calls, fake.ledger.total, len(server.met)) == (1, 1, 1)
            assert trial.cost_usd
        again = settle(asking, url, tmp_path, cassette=cassette, cache=False)
        assert again.passed, again.trials()[0].reason
        assert fake.ledger.total == 1


def test_a_refusal_or_a_fault_on_a_clients_own_way_is_tried_again_by_the_run(
    tmp_path: Path,
) -> None:
    """As on any other way."""
    rules = [Rule(("return",), "", fault="429", retry_after="0.01", times=1), Rule((), "30 days")]
    with FakeProvider(Script(rules)) as fake, _proxy(fake, tmp_path) as (_, url, way):
        result = settle(lambda url: httpx_proxy(url, way, pieces=False), url, tmp_path)
        assert result.passed, result.trials()[0].reason
        assert (result.trials()[0].calls, len(fake.requests), fake.ledger.total) == (1, 2, 1)


def test_ordinary_settings_for_tls_are_no_way_of_ones_own() -> None:
    """Those of each library, whose contexts differ."""
    with httpx.Client() as client:
        assert trusts_usual(client._transport._pool._ssl_context)  # type: ignore[attr-defined]
    assert trusts_usual(ssl.create_default_context())
    assert not trusts_usual(ssl._create_unverified_context())
    assert not trusts_usual(False)


def test_an_error_says_whether_anything_was_sent() -> None:
    """By its kind, in each library."""
    assert failure(httpx.ConnectError("refused")).billed is False
    assert failure(urllib3.exceptions.SSLError("CERTIFICATE_VERIFY_FAILED")).billed is None
    assert failure(urllib3.exceptions.SSLError("certificate verify failed: x")).billed is False
    assert failure(aiohttp.ClientConnectionResetError("lost")).billed is None
    assert isinstance(failure(httpx.ReadTimeout("late")), TimedOut)
    assert isinstance(failure(TimeoutError()), TimedOut)
    assert isinstance(failure(aiohttp.ServerDisconnectedError()), ConnectionFailed)
