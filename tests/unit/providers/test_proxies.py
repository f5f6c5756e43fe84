"""Proxies from the environment, and connections that never come about: nothing was sent, nothing was charged for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evenhand.core.errors import ConnectionFailed, Unreachable
from evenhand.providers.http import HttpTransport


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@asynccontextmanager
async def server(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """One that says the same to everybody; its port, and the first lines that it was sent."""
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        lines.append(head.partition(b"\r\n")[0])
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], lines
    finally:
        listening.close()


async def posted(url: str, timeout_s: float = 5.0):
    """What comes of one request, in a transport of its own."""
    transport = HttpTransport()
    try:
        return await transport.post(url, {}, b"{}", timeout_s)
    finally:
        await transport.close()


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def test_a_proxy_without_a_scheme_is_an_http_proxy(monkeypatch):
    """As curl takes it; it is asked for the whole address."""
    async with server(OK) as (port, lines):
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{port}")
        assert (await posted("http://nowhere.invalid/v1")).status == 200
        assert lines == [b"POST http://nowhere.invalid/v1 HTTP/1.1"]


async def test_this_machine_is_never_asked_for_through_a_proxy(monkeypatch):
    """A local model is reached where a company's proxy is set and NO_PROXY was forgotten."""
    async with server(OK) as (port, lines):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert (await posted(f"http://localhost:{port}/v1")).status == 200
        assert lines == [b"POST /v1 HTTP/1.1"]


async def test_no_proxy_may_name_a_port(monkeypatch):
    """Then it holds for that port alone."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "other.invalid:81")
    with pytest.raises(ConnectionFailed, match=r"^other.invalid:81 cannot be reached"):
        await posted("http://other.invalid:81/v1")
    with pytest.raises(ConnectionFailed, match=r"^other.invalid through the proxy 127.0.0.1:1 "):
        await posted("http://other.invalid/v1")


async def test_a_proxy_that_is_not_spoken_to_ends_the_run_with_what_to_do(monkeypatch):
    """Nothing else would come of ten thousand calls."""
    monkeypatch.setenv("all_proxy", "gopher://127.0.0.1:9")
    with pytest.raises(Unreachable, match="like gopher://") as caught:
        await posted("https://nowhere.invalid/v1")
    assert "HTTPS_PROXY" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "kind"),
    [(b"407 Who are you", Unreachable), (b"502 Nobody there", ConnectionFailed)],
)
async def test_a_proxy_that_lets_nobody_through_is_named(monkeypatch, status, kind):
    """Without a password the run ends; a proxy in trouble is tried again. Nothing was charged for."""
    async with server(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n\r\n") as (port, lines):
        monkeypatch.setenv("https_proxy", f"http://name:secret@127.0.0.1:{port}")
        with pytest.raises(kind, match=f"through the proxy 127.0.0.1:{port}") as caught:
            await posted("https://nowhere.invalid/v1")
        assert caught.value.billed is False
        assert "secret" not in str(caught.value)
        assert lines[0].startswith(b"CONNECT nowhere.invalid:443")


async def test_a_handshake_that_is_never_answered_is_no_call_that_was_sent():
    """It is told from an answer that does not come: only that may have been charged for."""
    silent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    with pytest.raises(ConnectionFailed, match=r"could not be reached in 0\.1 s") as caught:
        await posted(f"https://127.0.0.1:{port}/v1", 0.2)
    assert caught.value.billed is False
    silent.set()
    listening.close()
