"""What goes out and comes back, how long it takes, and what happens to the connections."""

from __future__ import annotations

import asyncio
import gc
import gzip
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from tests.unit.providers.http_peers import OK, Peer, Request

from evenhand.core.errors import BadReply, BadRequest, ConnectionFailed, TimedOut
from evenhand.core.provider import Host
from evenhand.providers import curl_loop
from evenhand.providers.app_call import AppCall
from evenhand.providers.curl_loop import Selected
from evenhand.providers.http import HttpTransport

pytestmark = pytest.mark.usefixtures("plain_environment")
Writer = asyncio.StreamWriter


class Ear:
    """Listens, and raises what it is told to."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.status = 0
        self.heads = 0
        self.pieces: list[bytes] = []

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        del headers
        self.status = status
        self.heads += 1

    def piece(self, data: bytes) -> None:
        self.pieces.append(data)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("POST", b"{}", "2"),
        ("POST", None, "0"),
        ("POST", b"", "0"),
        ("PUT", b"x", "1"),
        ("PATCH", None, "0"),
        ("GET", None, None),
        ("HEAD", None, None),
        ("DELETE", None, None),
        ("DELETE", b"y", "1"),
        ("GET", b"z", "1"),
    ],
)
async def test_each_method_is_sent_with_its_body_and_the_same_handle_sends_the_next(
    transport: HttpTransport, method: str, body: bytes | None, length: str | None
):
    """Who asks for something to be made says how long nothing is."""
    async with Peer(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as peer:
        for _ in range(2):
            assert (await transport.post(peer.url(), {}, body, 10, method)).status == 200
            await transport.post(peer.url(), {}, b"abc", 10)
    for request in peer.requests[::2]:
        assert request.line == f"{method} /v1 HTTP/1.1"
        assert (request.body, request.headers.get("content-length")) == (body or b"", length)
    assert [one.line[:4] for one in peer.requests[1::2]] == ["POST", "POST"]


async def test_nothing_is_sent_that_nobody_asked_for(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    """No name of a client, no cookie, no password from a file of this machine's user; only what can be unpacked."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login name password secret\n")
    (tmp_path / ".curlrc").write_text('header = "x-from-a-file: yes"\n')
    for name in ("HOME", "CURL_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    answer = b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n"
    async with Peer(answer) as peer:
        for _ in range(2):
            await transport.post(peer.url(), {"X-Empty": "", "x-word": "grün"}, b"{}", 10)
    for request in peer.requests:
        accepted = request.headers.pop("accept-encoding").split(", ")
        assert set(accepted) <= {"deflate", "gzip"}
        assert request.headers == {
            "host": f"127.0.0.1:{peer.port}",
            "accept": "*/*",
            "x-empty": "",
            "x-word": "grün",
            "content-length": "2",
        }


async def test_an_address_is_sent_with_percent_signs_and_without_its_fragment(
    transport: HttpTransport,
):
    """What cannot be sent at all is said to be no address."""
    async with Peer() as peer:
        await transport.post(peer.url("/a b/ü?q=ä%20#f"), {}, b"{}", 10)
        assert peer.requests[0].line == "POST /a%20b/%C3%BC?q=%C3%A4%20 HTTP/1.1"
    with pytest.raises(ConnectionFailed, match="xn--bcher-kva"):
        await transport.post("http://bücher.invalid/", {}, b"{}", 10)
    with pytest.raises(BadRequest, match="nothing can be sent"):
        await transport.post("http://x\ud800y.invalid/", {}, b"{}", 10)


async def test_headers_are_looked_up_without_regard_to_case_and_the_first_of_two_counts(
    transport: HttpTransport,
):
    """What came before the answer is none of it, nor is what comes after its chunks a second answer."""
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\n"
        b"HTTP/1.1 201 Created\r\nX-A: one\r\nx-a: two\r\nX-B:\r\nX-C: gr\xc3\xbcn\r\n"
        b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Trailer: t\r\n\r\n"
    )
    async with Peer(answer) as peer:
        for _ in range(2):
            one = await transport.post(peer.url(), {}, b"{}", 10)
            headers = one.headers
            assert (one.status, one.body) == (201, b"{}")
            assert (headers["x-A"], headers["x-b"], headers["X-C"]) == ("one", "", "grün")
        assert peer.connections == 1


def bare(data: bytes) -> bytes:
    """Deflate without the header of zlib, as some servers send it."""
    return zlib.compress(data)[2:-4]


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", bare),
        ("x-gzip, identity", gzip.compress),
        ("none", bytes),
        ("Identity", bytes),
        ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
        ("gzip\r\ncontent-encoding: gzip", lambda data: gzip.compress(gzip.compress(data))),
    ],
)
async def test_answers_are_unpacked_up_to_the_limit(
    transport: HttpTransport, coding: str, pack: Callable[[bytes], bytes]
):
    """As often as they were packed. One that unpacks to too much is refused."""
    plain = b"0" * 60_000
    data = pack(plain)
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {len(data)}\r\n\r\n"
    async with Peer(head.encode() + data) as peer:
        assert (await transport.post(peer.url(), {}, b"{}", 10)).body == plain
        with pytest.raises(BadReply, match="more than"):
            await transport.post(peer.url(), {}, b"{}", 10, largest=30_000)
        with pytest.raises(BadReply, match="more than"):
            await transport.post(peer.url(), {}, b"{}", 10, largest=20)


async def test_answers_that_are_too_large_leave_nothing_in_memory(transport: HttpTransport):
    """Each of them had stayed, with its error, until Python looked for circles."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n" + b"0" * 3_000_000
    errors: list[BadReply] = []
    gc.disable()
    tracemalloc.start()
    try:
        async with Peer(answer) as peer:
            for _ in range(8):
                with pytest.raises(BadReply, match="more than") as caught:
                    await transport.post(peer.url(), {}, b"{}", 10, largest=2_000_000)
                errors.append(caught.value)
            in_use = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert in_use < 6_000_000


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br", ", ".join(["gzip"] * 6)])
async def test_an_answer_in_an_encoding_that_was_not_asked_for_is_an_error_and_not_asked_for_again(
    transport: HttpTransport, coding: str
):
    """It was paid for. Of an error, the status counts."""
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: 3\r\n\r\n"
    async with Peer(head.encode() + b"(\xb5/") as peer:
        with pytest.raises(BadRequest, match="encoding") as caught:
            await transport.post(peer.url(), {"Accept-Encoding": coding}, b"{}", 10)
        assert (caught.value.billed, caught.value.retryable) == (True, False)
        assert peer.requests[0].headers["accept-encoding"] == "gzip, deflate"
    async with Peer(head.replace("200 OK", "429 Slow").encode() + b"(\xb5/") as peer:
        answer = await transport.post(peer.url(), {}, b"{}", 10)
        assert (answer.status, answer.body) == (429, b"")


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize(
    ("coding", "change"),
    [
        ("gzip", lambda data: data[:-1]),
        ("gzip", lambda data: data[: len(data) // 2]),
        ("gzip", lambda data: data[:3]),
        ("gzip", lambda data: data + data),
        ("gzip", lambda data: data[:-5] + b"12345"),
        ("deflate", lambda data: data[:-1]),
        ("deflate", lambda data: data[: len(data) // 2]),
        ("bare deflate", lambda data: data[: len(data) // 2]),
        ("deflate", lambda data: b"plain " + data),
    ],
)
async def test_a_packed_answer_that_is_cut_off_or_damaged_is_no_answer(
    transport: HttpTransport, coding: str, change: Callable[[bytes], bytes], listens: bool
):
    """Also where the server ends the body properly: what was there would be taken for all of it."""
    plain = b"".join(b"line %d of a text\n" % number for number in range(1_000))
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "bare deflate": bare}[coding]
    sent_as = coding.removeprefix("bare ")
    for data, is_whole in ((pack(plain), True), (change(pack(plain)), False)):
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {sent_as}\r\ncontent-length: {len(data)}"
        async with Peer(f"{head}\r\n\r\n".encode() + data) as peer:
            listener = Ear() if listens else None
            if is_whole:
                answer = await transport.post(peer.url(), {}, b"{}", 10, listener=listener)
                assert answer.body == plain
                assert listener is None or (listener.heads, b"".join(listener.pieces)) == (1, plain)
                continue
            with pytest.raises(ConnectionFailed, match="cut off") as caught:
                await transport.post(peer.url(), {}, b"{}", 10, listener=listener)
            assert caught.value.billed is None


@pytest.mark.parametrize(
    ("authorization", "asked_for"),
    [("Bearer k", {"deflate", "gzip"}), ("AWS4-HMAC-SHA256 k", {"identity"})],
)
async def test_an_application_gets_no_answer_in_an_encoding_that_only_it_can_unpack(
    authorization: str, asked_for: set[str]
):
    """What is accepted is decided here, unless the header is signed."""
    sent = {"authorization": authorization, "accept-encoding": "identity"}
    async with Peer() as peer:
        call = AppCall.of(peer.url("/v1/chat/completions"), sent, b'{"model": "m"}', 10, {})
        await call.send(call.own_request, cast("Host", None))
        await call.close()
        accepted = peer.requests[0].headers["accept-encoding"].split(", ")
    assert set(accepted) <= asked_for


async def test_a_long_request_is_sent_whole_and_in_time(transport: HttpTransport):
    """Pictures, say."""
    body = bytes(range(256)) * 12_000
    async with Peer() as peer:
        for _ in range(2):
            assert (await transport.post(peer.url(), {}, body, 20)).status == 200
        assert [one.body == body for one in peer.requests] == [True, True]


async def test_who_is_cancelled_has_the_connection_closed_and_the_others_go_on(
    transport: HttpTransport,
):
    """At once."""

    async def answer(request: Request, writer: Writer) -> bool:
        if request.body == b"slow":
            return True
        writer.write(OK)
        return False

    async with Peer(answer) as peer:
        task = asyncio.create_task(transport.post(peer.url(), {}, b"slow", 30))
        await peer.until(lambda one: one.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await peer.until(lambda one: one.ended == 1)
        assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200


async def test_a_stream_may_last_longer_than_the_limit_if_it_never_pauses_that_long(
    transport: HttpTransport,
):
    """One that does pause is ended."""

    async def answer(request: Request, writer: Writer) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(8):
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.15)
        if request.body == b"pauses":
            return True
        writer.write(b"0\r\n\r\n")
        return False

    async with Peer(answer) as peer:
        ear = Ear()
        whole = transport.post(peer.url(), {}, b"{}", 0.9, listener=ear)
        paused = transport.post(peer.url(), {}, b"pauses", 0.9, listener=Ear())
        one, error = await asyncio.gather(whole, paused, return_exceptions=True)
        assert getattr(one, "body", one) == b"x" * 8
        assert (ear.status, b"".join(ear.pieces)) == (200, b"x" * 8)
        assert isinstance(error, TimedOut)
        assert error.billed is None


async def test_what_a_listener_raises_is_raised_to_whoever_asked(transport: HttpTransport):
    """And the connection is closed."""
    async with Peer() as peer:
        with pytest.raises(ZeroDivisionError):
            await transport.post(peer.url(), {}, b"{}", 10, listener=Ear(ZeroDivisionError()))
        await peer.until(lambda one: one.ended)
        assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200


async def test_a_thousand_may_be_in_flight_at_once(transport: HttpTransport):
    """Each on a connection of its own."""
    count = 1_000
    are_all_there = asyncio.Event()

    async def answer(_request: Request, writer: Writer) -> None:
        if len(peer.requests) == count:
            are_all_there.set()
        await are_all_there.wait()
        writer.write(OK)

    async with Peer(answer) as peer:
        answers = await asyncio.gather(
            *(transport.post(peer.url(), {}, b"{}", 60) for _ in range(count))
        )
    assert {one.status for one in answers} == {200}


class Threaded:
    """A server in a thread of its own, whose answers do not wait for the test's loop."""

    def __init__(self, delay_s: float) -> None:
        self.port = 0
        self._delay_s = delay_s
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> str:
        self._thread.start()
        assert self._is_up.wait(20)
        return f"http://127.0.0.1:{self.port}/v1"

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    async def _run(self) -> None:
        async def answer(_request: Request, writer: Writer) -> None:
            await asyncio.sleep(self._delay_s)
            writer.write(OK)

        self._loop = asyncio.get_running_loop()
        self._is_over = asyncio.Event()
        async with Peer(answer) as peer:
            self.port = peer.port
            self._is_up.set()
            await self._is_over.wait()


async def test_latency_is_the_servers_though_we_are_busy_with_the_answers_before(
    transport: HttpTransport,
):
    """A hundred come at once, and each then keeps us busy: what they wait for us is told apart."""
    with Threaded(0.05) as url:

        async def ask() -> tuple[float, float]:
            answer = await transport.post(url, {}, b"{}", 60)
            time.sleep(0.005)  # noqa: ASYNC251 (work of ours, which holds the loop)
            return answer.latency_s, answer.queued_s

        await asyncio.gather(*(transport.post(url, {}, b"{}", 60) for _ in range(100)))
        times = await asyncio.gather(*(ask() for _ in range(100)))
    latencies, waits = sorted(one for one, _ in times), sorted(wait for _, wait in times)
    assert latencies[0] >= 0.03  # libcurl's clock may be behind on a busy machine
    assert waits[-1] > 0.25
    assert latencies[90] < waits[-1] / 2


def test_two_loops_in_two_threads_ask_at_once():
    """Each has connections of its own."""
    statuses: list[int] = []

    async def ask(url: str) -> None:
        transport = HttpTransport()
        answers = await asyncio.gather(*(transport.post(url, {}, b"{}", 30) for _ in range(50)))
        statuses.extend(one.status for one in answers)
        await transport.close()

    with Threaded(0.01) as url:
        threads = [threading.Thread(target=lambda: asyncio.run(ask(url))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 100


PROGRAM = """
import asyncio, os, sys
from evenhand.providers import http
url = sys.argv[1]
async def ask():
    return (await http.transport().post(url, {}, b"{}", 20)).status
async def ask_and_leave():
    waiting = asyncio.create_task(http.transport().post(url, {}, b"{}", 20))
    await asyncio.sleep(0.01)
    return await ask()
print(asyncio.run(ask()), flush=True)
child = os.fork()
if not child:
    async def again():
        status = await ask()
        await http.close()
        return status
    print(asyncio.run(again()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(asyncio.run(ask_and_leave()))
async def last():
    await http.close()
    return await ask()
print(asyncio.run(last()))
"""


def test_loops_that_are_left_and_processes_that_are_forked_do_no_harm():
    """The transport is still open each time, with a request in flight once: nothing is said at the end."""
    with Threaded(0.05) as url:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM, url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["200"] * 4, "")


class Full(Selected):
    """It can watch no more sockets, as one at the limit of its process. It is that of systems without epoll."""

    is_full = False

    def register(self, socket: int, mask: int) -> None:
        """Watches a socket, while there is room."""
        if Full.is_full:
            raise OSError(28, "no room")
        super().register(socket, mask)


def test_where_sockets_cannot_be_watched_the_call_fails_and_later_ones_go_through(
    capfd: Any, monkeypatch: pytest.MonkeyPatch
):
    """It is neither waited for until its time is up, nor is the client lost for good."""
    monkeypatch.setattr(curl_loop, "sockets", Full)

    async def asked(url: str) -> list[int]:
        transport = HttpTransport()
        statuses: list[int] = []
        try:
            for path in ("", "/other"):
                monkeypatch.setattr(Full, "is_full", True)
                with pytest.raises(ConnectionFailed):
                    await asyncio.wait_for(transport.post(url + path, {"x": path}, b"{}", 60), 20)
                monkeypatch.setattr(Full, "is_full", False)
                statuses.append((await transport.post(url, {}, b"{}", 60)).status)
        finally:
            await transport.close()
        return statuses

    with Threaded(0.0) as url, asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        assert runner.run(asked(url)) == [200, 200]
    capfd.readouterr()  # pycurl prints what its callback raised
