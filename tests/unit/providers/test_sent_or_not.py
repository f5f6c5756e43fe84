"""Of each failure it is known whether the request can have arrived: only then may it have been charged for."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest
from tests.unit.providers.http_peers import (
    OK,
    Authority,
    Peer,
    Relay,
    Request,
    Scripted,
    connect,
    socks5,
)

from evenhand.core.errors import ConnectionFailed, ProviderError, TimedOut
from evenhand.providers.http import HttpTransport

pytestmark = pytest.mark.usefixtures("plain_environment")
Writer = asyncio.StreamWriter


async def failure(transport: HttpTransport, url: str, timeout_s: float = 10.0) -> ProviderError:
    """What a request ends with."""
    with pytest.raises(ProviderError) as caught:
        await transport.post(url, {}, b"{}", timeout_s)
    return caught.value


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def test_a_host_that_is_not_known_or_refuses_was_sent_nothing(transport: HttpTransport):
    """The message says which of them it is."""
    unknown = await failure(transport, "http://nowhere.invalid/v1")
    refused = await failure(transport, f"http://127.0.0.1:{closed_port()}/v1")
    for error, words in ((unknown, "resolve host"), (refused, "Connection refused")):
        assert isinstance(error, ConnectionFailed)
        assert words in error.message
        assert (error.billed, error.retryable) == (False, True)


async def test_a_host_that_never_takes_the_connection_was_sent_nothing(transport: HttpTransport):
    """Its queue is full, say: that is no answer that came too late."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with socket.create_connection(address), socket.socket() as more:
            more.setblocking(False)
            more.connect_ex(address)
            error = await failure(transport, f"http://127.0.0.1:{address[1]}/v1", 0.4)
    assert isinstance(error, ConnectionFailed)
    assert "could not be reached in 0.2 s" in error.message
    assert error.billed is False


async def test_a_host_that_hangs_up_during_the_handshake_was_sent_nothing(
    transport: HttpTransport,
):
    """Reset, closed, or not TLS at all."""

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        first = await reader.read(100)
        if first and len(closings) < 3:
            closings.append(first)
            if len(closings) == 1:
                writer.transport.abort()
            elif len(closings) == 2:
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    closings: list[bytes] = []
    async with Scripted(serve) as server:
        for _ in range(3):
            error = await failure(transport, f"https://127.0.0.1:{server.port}/v1")
            assert isinstance(error, ConnectionFailed)
            assert error.billed is False
        assert server.connections == 3


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h", "socks4a"])
async def test_a_proxy_that_is_gone_or_hangs_up_was_given_nothing_to_pass_on(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch, scheme: str
):
    """It is named."""

    async def serve(_reader: asyncio.StreamReader, writer: Writer) -> None:
        writer.close()

    async with Scripted(serve) as server:
        for number, port in enumerate((closed_port(), server.port)):
            monkeypatch.setenv("https_proxy", f"{scheme}://127.0.0.1:{port}")
            error = await failure(transport, f"https://198.51.100.7/{number}")
            assert isinstance(error, ConnectionFailed)
            assert f"through the proxy 127.0.0.1:{port}" in error.message
            assert error.billed is False


async def test_a_proxy_that_is_not_known_or_never_greets_was_given_nothing(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch
):
    """Not even after the limit."""
    monkeypatch.setenv("all_proxy", "http://nowhere.invalid:3128")
    error = await failure(transport, "https://198.51.100.7/v1")
    assert "proxy" in error.message
    assert error.billed is False

    async def greet(reader: asyncio.StreamReader, _writer: Writer) -> str:
        await reader.read()
        raise EOFError

    async with Relay(0, greet) as proxy:
        for scheme in ("http", "socks5h"):
            monkeypatch.setenv("all_proxy", f"{scheme}://127.0.0.1:{proxy.port}")
            error = await failure(transport, f"https://{scheme}.invalid/v1", 0.4)
            assert isinstance(error, ConnectionFailed)
            assert error.billed is False


async def test_a_server_that_is_lost_behind_a_proxy_was_sent_the_request(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch
):
    """The proxy's own greeting is not the server's answer."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def answer(_request: Request, writer: Writer) -> None:
        writer.transport.abort()

    for greet, scheme in ((connect, "http"), (socks5(), "socks5h")):
        tls = authority.context("nowhere.invalid")
        async with Peer(answer, tls) as peer, Relay(peer.port, greet) as proxy:
            monkeypatch.setenv("all_proxy", f"{scheme}://127.0.0.1:{proxy.port}")
            error = await failure(transport, f"https://nowhere.invalid/{scheme}")
            assert isinstance(error, ConnectionFailed)
            assert "was lost" in error.message
            assert error.billed is None


def _close(writer: Writer) -> None:
    writer.close()


def _reset(writer: Writer) -> None:
    number = writer.get_extra_info("socket")
    number.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.mark.parametrize("end", [_close, _reset], ids=["closed", "reset"])
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", "was lost"),
        (b"HTTP/1.1 200 OK\r\ncontent-le", "was"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", "was cut off"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", "was cut off"),
    ],
    ids=["before the head", "in the head", "in the body", "between chunks"],
)
async def test_an_answer_that_is_lost_may_have_been_charged_for_and_the_server_saw_it_once(
    transport: HttpTransport,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    said: bytes,
    words: str,
    is_encrypted: bool,
    end: Callable[[Writer], None],
):
    """Over a new connection, and over one that was used before."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def answer(request: Request, writer: Writer) -> None:
        if request.line.startswith("GET"):
            writer.write(OK)
            return
        writer.write(said)
        await writer.drain()
        await asyncio.sleep(0.01 if said else 0)
        end(writer)

    tls = authority.context("localhost") if is_encrypted else None
    for is_kept in (False, True):
        async with Peer(answer, tls) as peer:
            if is_kept:
                await transport.post(peer.url(), {}, None, 10, "GET")
            error = await failure(transport, peer.url())
            assert isinstance(error, ConnectionFailed)
            assert words in error.message
            assert error.billed is None
            assert [one.line[:4] for one in peer.requests] == ["GET "] * is_kept + ["POST"]
            assert peer.connections == 1


@pytest.mark.parametrize(
    ("method", "body"),
    [("POST", None), ("POST", b""), ("GET", None), ("DELETE", None), ("HEAD", None), ("PUT", b"x")],
)
async def test_no_request_is_sent_twice_over_connections_that_the_server_closes_on_receipt(
    transport: HttpTransport, method: str, body: bytes | None
):
    """Not even one without a body, which libcurl would send again by itself."""
    is_closing = False

    async def answer(_request: Request, writer: Writer) -> None:
        if is_closing:
            writer.close()
        else:
            writer.write(b"HTTP/1.1 204 No content\r\n\r\n")

    async with Peer(answer) as peer:
        assert (await transport.post(peer.url(), {}, body, 10, method)).status == 204
        is_closing = True
        for count in (2, 3):  # over the connection that was kept, and over a new one
            with pytest.raises(ConnectionFailed) as caught:
                await transport.post(peer.url(), {}, body, 10, method)
            assert caught.value.billed is None
            assert len(peer.requests) == count


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"])
async def test_an_answer_that_does_not_come_in_time_may_have_been_charged_for(
    transport: HttpTransport, said: bytes
):
    """Whatever of it had come."""

    async def answer(_request: Request, writer: Writer) -> bool:
        writer.write(said)
        return True

    async with Peer(answer) as peer:
        error = await failure(transport, peer.url(), 0.25)
        assert isinstance(error, TimedOut)
        assert error.message == f"127.0.0.1:{peer.port} did not answer in 0.25 s"
        assert error.billed is None
        await peer.until(lambda one: one.ended)


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("idle_s", [0.0, 0.005, 0.05, 0.3, 1.2])
@pytest.mark.parametrize("end", [_close, _reset], ids=["closed", "reset"])
async def test_a_connection_that_the_server_closed_while_it_was_idle_is_replaced_unseen(
    transport: HttpTransport,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    is_encrypted: bool,
    idle_s: float,
    end: Callable[[Writer], None],
):
    """However long ago: the server sees each request once."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def answer(_request: Request, writer: Writer) -> None:
        writer.write(OK)
        await writer.drain()
        await asyncio.wait_for(is_answered.wait(), 20)
        end(writer)

    tls = authority.context("localhost") if is_encrypted else None
    async with Peer(answer, tls) as peer:
        for count in range(1, 4):
            is_answered = asyncio.Event()
            assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200
            is_answered.set()
            await peer.until(lambda one, count=count: one.ended == count)
            await asyncio.sleep(idle_s if count == 1 else 0.005)
        assert (len(peer.requests), peer.connections) == (3, 3)


async def test_of_many_connections_those_that_are_open_are_used_and_the_others_replaced(
    transport: HttpTransport,
):
    """Half of them are closed by the server in between."""
    count, writers = 40, list[Writer]()
    are_all_there = asyncio.Event()

    async def answer(_request: Request, writer: Writer) -> None:
        if writer not in writers:
            writers.append(writer)
        if len(writers) >= count:
            are_all_there.set()
        await asyncio.wait_for(are_all_there.wait(), 20)
        writer.write(OK)

    async def ask() -> int:
        return (await transport.post(peer.url(), {}, b"{}", 20)).status

    async with Peer(answer) as peer:
        assert await asyncio.gather(*(ask() for _ in range(count))) == [200] * count
        for writer in writers[::2]:
            writer.close()
        await asyncio.sleep(0.05)
        assert await asyncio.gather(*(ask() for _ in range(count))) == [200] * count
        assert len(peer.requests) == 2 * count
        assert peer.connections == count + count // 2


async def test_two_servers_are_told_apart_though_the_ports_here_are_the_same():
    """One port of this machine may lead to several servers: each is another connection."""
    from evenhand.providers.curl_loop import KeptConnections

    kept = KeptConnections()
    servers = [socket.create_server((f"127.0.0.{n}", 0)) for n in (1, 2)]
    clients: list[socket.socket] = []
    for server in servers:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(("127.0.0.1", clients[0].getsockname()[1] if clients else 0))
        client.connect(server.getsockname())
        kept.opened(client.fileno(), 0)
        clients.append(client)
    names = [(*one.getsockname(), *one.getpeername()) for one in clients]
    for name in names:
        kept.joined(name)
        kept.left(name)
    there, _ = servers[0].accept()
    there.close()
    assert [kept.is_closed(name) for name in names] == [True, False]
    for one in (*servers, *clients):
        one.close()
