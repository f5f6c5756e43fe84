"""The HTTP/1.1 that a fake provider needs: requests in whatever pieces they come, and answers that can go wrong."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Protocol

from evenhand.core.record import Record

LONGEST_HEAD = 64 * 1024
LONGEST_BODY = 64 * 1024 * 1024
SLOW_PIECES = 20

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    411: "Length Required",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    529: "Overloaded",
}


class HttpRequest(Record, frozen=True):
    """A request, read to its end. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Server(Protocol):
    """What a connection tells whom it belongs to."""

    def opened(self, connection: Connection) -> None:
        """A connection was made."""
        ...

    def closed(self, connection: Connection) -> None:
        """A connection is gone."""
        ...

    def handle(self, connection: Connection, request: HttpRequest) -> None:
        """A request came in. To be answered with one call of a method of the connection, now or later."""
        ...


class Connection(asyncio.Protocol):
    """One connection. Reads requests one after the other; the next is looked at once the last has its answer."""

    def __init__(self, server: Server) -> None:
        self.gone = False
        self._server = server
        self._buffer = bytearray()
        self._needed = 0
        self._busy = False
        self._reading = False
        self._last = False
        self._transport: asyncio.Transport | None = None
        self._delivered: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (a TCP server has no other)
        transport.set_write_buffer_limits(0)  # so that `resume_writing` means: all is handed over
        self._transport = transport
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # why it is gone makes no difference
        self.gone = True
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._read()

    def resume_writing(self) -> None:
        delivered, self._delivered = self._delivered, None
        if delivered is not None:
            delivered()

    # Answers

    def answer(
        self, data: bytes, *, delivered: Callable[[], None] | None = None, close: bool = False
    ) -> None:
        """Sends an answer, and goes on to the next request.

        Args:
            delivered: Called when the last byte has been handed to the network.
            close: Closes the connection instead of going on.
        """
        transport = self._transport
        if self.gone or transport is None:
            return
        self._delivered = delivered
        transport.write(data)
        if not transport.get_write_buffer_size():
            self.resume_writing()
        if close or self._last:
            transport.close()
            return
        self._busy = False
        self._read()

    def trickle(self, data: bytes, seconds: float, delivered: Callable[[], None]) -> None:
        """Sends an answer in pieces, spread over some time."""
        if self.gone or self._transport is None:
            return
        size = len(data) // SLOW_PIECES + 1
        if len(data) <= size:
            self.answer(data, delivered=delivered)
            return
        self._transport.write(data[:size])
        loop = asyncio.get_running_loop()
        pause = seconds * size / len(data)
        loop.call_later(pause, self.trickle, data[size:], seconds - pause, delivered)

    def abort(self) -> None:
        """Closes the connection without a word."""
        if self._transport is not None:
            self._transport.abort()

    def reset(self, data: bytes) -> None:
        """Sends this much, then resets the connection: the other side gets an error instead of an end."""
        if self.gone or self._transport is None:
            return
        self._transport.write(data)
        asyncio.get_running_loop().call_later(0.01, self._reset)  # once the bytes have arrived

    def _reset(self) -> None:
        if self._transport is None or self.gone:
            return
        link: socket.socket | None = self._transport.get_extra_info("socket")
        if link is not None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    # Requests

    def _read(self) -> None:
        """Hands on what has come in whole. A loop, as an answer that is given at once leads back here."""
        if self._reading:
            return
        self._reading = True
        try:
            while not (self._busy or self.gone or self._last):
                request = self._next()
                if request is None:
                    return
                self._busy = True
                self._server.handle(self, request)
        finally:
            self._reading = False

    def _next(self) -> HttpRequest | None:
        if len(self._buffer) < self._needed:
            return None
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > LONGEST_HEAD:
                self._refuse(400)
            return None
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        words = first.split(" ")
        length = headers.get("content-length", "0")
        if len(words) != 3 or not length.isdecimal():
            self._refuse(400)
        elif "transfer-encoding" in headers:
            self._refuse(411)
        elif int(length) > LONGEST_BODY:
            self._refuse(413)
        if self._last:
            return None
        self._needed = end + 4 + int(length)
        if len(self._buffer) < self._needed:
            return None
        body = bytes(self._buffer[end + 4 : self._needed])
        del self._buffer[: self._needed]
        self._needed = 0
        self._last = headers.get("connection", "").lower() == "close"
        return HttpRequest(words[0], words[1], headers, body)

    def _refuse(self, status: int) -> None:
        """Answers what is not a request that can be read; what follows it cannot be told apart."""
        self._last = True
        self.answer(response(status, b"", ""))


def response(status: int, body: bytes, headers: str, content: str = "application/json") -> bytes:
    """An answer's bytes. `headers` are lines, each with its end."""
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\n"
        f"content-type: {content}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode("latin-1") + body
