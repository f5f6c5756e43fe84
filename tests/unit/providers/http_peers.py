"""Servers and proxies of the tests' own, over real sockets, and an authority that signs their certificates."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Request(NamedTuple):
    """What a server was sent."""

    line: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[bool | None]]
"""Answers a request; True to say no more, and wait until the client hangs up."""
Greeting = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[str]]


class Authority:
    """One that signs certificates, whose own is in a file."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / "authority.pem"
        certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def context(
        self, *names: str, speaks: Sequence[str] = (), ip: str = "127.0.0.1"
    ) -> ssl.SSLContext:
        """What a server needs for TLS, with a certificate for these names and an address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of a test")])
        certificate = (
            _builder(subject, self._name, key)
            .add_extension(
                x509.SubjectAlternativeName(
                    [*map(x509.DNSName, names), x509.IPAddress(ipaddress.ip_address(ip))]
                ),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / f"{'-'.join(names)}-{ip}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        if speaks:
            context.set_alpn_protocols(list(speaks))
        return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


class Listening:
    """Something that waits for connections on this machine, and ends them when the test does."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.connections = 0
        self.ended = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, ssl=self._tls, backlog=2_000
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            with contextlib.suppress(
                AttributeError
            ):  # Python 3.11.2 forgets the protocol of a closed one
                writer.transport.abort()
        for _ in range(5):  # turns of the loop, until it has closed them
            await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.append(writer)
        self.connections += 1
        try:
            await self.serve(reader, writer)
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self.ended += 1
            self._tasks.discard(task)
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speaks to one that has connected."""
        raise NotImplementedError

    async def until(self, happened: Callable[[Self], object], seconds: float = 10.0) -> None:
        """Waits for something to happen here."""
        async with asyncio.timeout(seconds):
            while not happened(self):
                await asyncio.sleep(0.002)


class Scripted(Listening):
    """A server that does with each connection as it is told."""

    def __init__(
        self, script: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._script = script

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Follows the script."""
        await self._script(reader, writer)


class Peer(Listening):
    """An HTTP/1.1 server that keeps what it is sent, and answers as it is told."""

    def __init__(self, answer: Answer | bytes = OK, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self._answer = answer
        self.requests: list[Request] = []

    def url(self, path: str = "/v1", host: str = "127.0.0.1") -> str:
        """Where it is reached."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request after the other."""
        while not writer.is_closing():
            request = await read_request(reader)
            self.requests.append(request)
            if isinstance(self._answer, bytes):
                writer.write(self._answer)
            elif await self._answer(request, writer):
                await reader.read()
                return
            if not writer.is_closing():
                await writer.drain()


async def read_request(reader: asyncio.StreamReader) -> Request:
    """The next request on a connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("utf-8", "surrogateescape")
    line, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(line, headers, body)


class Relay(Listening):
    """A proxy: greets, and passes on to one port whatever it is asked for, as names here lead nowhere."""

    def __init__(self, port: int, greet: Greeting, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self._to = port
        self._greet = greet
        self.targets: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes bytes on in both directions."""
        self.targets.append(await self._greet(reader, writer))
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._to)
        back = asyncio.create_task(_pass_on(there_reader, writer))
        try:
            await _pass_on(reader, there_writer)
        finally:
            back.cancel()
            there_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()


async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """An HTTP proxy's greeting: what it is asked to connect to."""
    request = await read_request(reader)
    writer.write(b"HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n")
    return request.line.split()[1]


def socks5(name: bytes = b"", password: bytes = b"") -> Greeting:
    """The greeting of a SOCKS5 proxy, which lets in who knows the password."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        version, count = await reader.readexactly(2)
        assert version == 5
        offered = await reader.readexactly(count)
        method = 2 if name else 0
        if method not in offered:
            writer.write(b"\x05\xff")
            raise EOFError
        writer.write(bytes([5, method]))
        if name:
            _, length = await reader.readexactly(2)
            given = await reader.readexactly(length)
            secret = await reader.readexactly((await reader.readexactly(1))[0])
            is_known = (given, secret) == (name, password)
            writer.write(b"\x01\x00" if is_known else b"\x01\x01")
            if not is_known:
                raise EOFError
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2))
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        return f"{host}:{port}"

    return greet


async def socks4(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """The greeting of a SOCKS4 proxy, with names (4a)."""
    await reader.readexactly(2)
    port = int.from_bytes(await reader.readexactly(2))
    address = await reader.readexactly(4)
    await reader.readuntil(b"\x00")
    host = str(ipaddress.ip_address(address))
    if address[:3] == b"\x00\x00\x00":
        host = (await reader.readuntil(b"\x00"))[:-1].decode()
    writer.write(b"\x00\x5a\x00\x00\x00\x00\x00\x00")
    return f"{host}:{port}"
