"""HTTP/2: requests share a connection, and what happens to one of them doesn't happen to the others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest
from tests.unit.providers.http_peers import Authority, Listening, Peer

from evenhand.core.errors import ConnectionFailed, TimedOut
from evenhand.providers.http import HttpTransport


class Stream:
    """One request to a server that speaks HTTP/2."""

    def __init__(
        self, connection: h2.connection.H2Connection, writer: asyncio.StreamWriter, number: int
    ) -> None:
        self.connection = connection
        self.writer = writer
        self.number = number
        self.headers: dict[str, str] = {}
        self.body = b""

    def answer(self, body: bytes = b"{}") -> None:
        """Answers it."""
        self.connection.send_headers(self.number, [(":status", "200"), ("x-number", "7")])
        self.connection.send_data(self.number, body, end_stream=True)
        self.flush()

    def reset(self, code: h2.errors.ErrorCodes) -> None:
        """Ends it without an answer."""
        self.connection.reset_stream(self.number, code)
        self.flush()

    def leave(self, last: int) -> None:
        """Takes no more requests after this one, and closes the connection."""
        self.connection.close_connection(last_stream_id=last)
        self.flush()
        self.writer.close()

    def flush(self) -> None:
        """Sends what there is to send."""
        self.writer.write(self.connection.data_to_send())


class H2Peer(Listening):
    """A server that speaks HTTP/2 alone, and does with each request as it is told."""

    def __init__(self, tls: ssl.SSLContext, act: Callable[[Stream], None] = Stream.answer) -> None:
        super().__init__(tls)
        self.act = act
        self.streams: list[Stream] = []
        self.resets: list[int] = []

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"https://localhost:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads requests, however they are mixed."""
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        streams: dict[int, Stream] = {}
        writer.write(connection.data_to_send())
        while not writer.is_closing() and (data := await reader.read(65_536)):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    stream = streams[event.stream_id] = Stream(connection, writer, event.stream_id)
                    stream.headers = {name.decode(): v.decode() for name, v in event.headers}
                elif isinstance(event, h2.events.DataReceived):
                    streams[event.stream_id].body += event.data
                    size = event.flow_controlled_length
                    connection.acknowledge_received_data(size, event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    self.resets.append(event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.streams.append(streams[event.stream_id])
                    self.act(streams[event.stream_id])
            if not writer.is_closing():
                writer.write(connection.data_to_send())


@pytest.fixture
async def peer(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[H2Peer]:
    """A server that speaks HTTP/2, and whose certificate is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with H2Peer(authority.context("localhost", speaks=["h2"])) as one:
        yield one


async def opened(peer: H2Peer, transport: HttpTransport) -> None:
    """Has a first request answered, so that there is a connection that the next ones share."""
    assert (await transport.post(peer.url, {}, b"{}", 10)).status == 200
    peer.streams.clear()


async def test_many_requests_share_one_connection(transport: HttpTransport, peer: H2Peer):
    """Answered in another order, each gets its own answer."""
    await opened(peer, transport)

    def act(_: Stream) -> None:
        if len(peer.streams) == 60:
            for stream in reversed(peer.streams):
                stream.answer(stream.body * 100)

    peer.act = act
    bodies = [f"[{n}]".encode() for n in range(60)]
    answers = await asyncio.gather(
        *(transport.post(peer.url, {"X-Key": "k"}, body, 20) for body in bodies)
    )
    assert [one.body for one in answers] == [body * 100 for body in bodies]
    assert (answers[0].status, answers[0].headers["X-Number"]) == (200, "7")
    assert peer.connections == 1
    sent = peer.streams[0].headers
    assert (sent[":method"], sent[":path"], sent["x-key"]) == ("POST", "/v1", "k")


async def test_a_stream_that_is_reset_may_have_been_charged_for_and_the_others_are_answered(
    transport: HttpTransport, peer: H2Peer
):
    """It is not sent again here: whoever waits for it decides that."""
    await opened(peer, transport)

    def act(stream: Stream) -> None:
        if stream.body == b"[1]":
            stream.reset(h2.errors.ErrorCodes.INTERNAL_ERROR)
        else:
            stream.answer()

    peer.act = act
    outcomes = await asyncio.gather(
        *(transport.post(peer.url, {}, f"[{n}]".encode(), 10) for n in range(3)),
        return_exceptions=True,
    )
    error = outcomes.pop(1)
    assert isinstance(error, ConnectionFailed)
    assert error.billed is None
    assert [getattr(one, "status", one) for one in outcomes] == [200, 200]
    assert (len(peer.streams), peer.connections) == (3, 1)


@pytest.mark.parametrize(("method", "body"), [("POST", b"{}"), ("POST", None), ("GET", None)])
@pytest.mark.parametrize("how", ["refused", "left out", "left", "lost"])
async def test_a_request_that_is_turned_away_is_not_sent_again_by_the_client(
    transport: HttpTransport, peer: H2Peer, how: str, method: str, body: bytes | None
):
    """By itself, libcurl would send some of them a second time: nothing would say so."""
    await opened(peer, transport)

    def act(stream: Stream) -> None:
        if how == "refused":
            stream.reset(h2.errors.ErrorCodes.REFUSED_STREAM)
        elif how == "lost":
            stream.writer.transport.abort()
        else:
            stream.leave(last=stream.number if how == "left" else 1)

    peer.act = act
    with pytest.raises(ConnectionFailed) as caught:
        await transport.post(peer.url, {}, body, 10, method)
    assert caught.value.billed is None
    assert len(peer.streams) == 1
    peer.act = Stream.answer
    assert (await transport.post(peer.url, {}, body, 10, method)).status == 200


async def test_a_server_that_takes_no_more_requests_answers_those_that_it_has(
    transport: HttpTransport, peer: H2Peer
):
    """The next one goes over another connection."""
    await opened(peer, transport)

    def act(stream: Stream) -> None:
        if len(peer.streams) == 3:
            for one in peer.streams:
                one.answer()
            asyncio.get_running_loop().call_later(0.02, stream.leave, stream.number)
            peer.act = Stream.answer

    peer.act = act
    answers = await asyncio.gather(*(transport.post(peer.url, {}, b"{}", 10) for _ in range(3)))
    assert [one.status for one in answers] == [200] * 3
    await peer.until(lambda one: one.streams[-1].writer.is_closing())
    await asyncio.sleep(0.05)
    assert (await transport.post(peer.url, {}, b"{}", 10)).status == 200
    assert (len(peer.streams), peer.connections) == (4, 2)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "said only"])
@pytest.mark.parametrize("idle_s", [0.05, 1.2])
async def test_a_connection_that_the_server_left_while_it_was_idle_is_replaced_unseen(
    transport: HttpTransport, peer: H2Peer, idle_s: float, is_closed: bool
):
    """Each request is seen once, whether the server closes the connection or waits for the client to do it."""

    def act(stream: Stream) -> None:
        stream.answer()
        stream.connection.close_connection(last_stream_id=stream.number)
        stream.flush()
        if is_closed:
            stream.writer.close()

    peer.act = act
    for number in range(1, 4):
        assert (await transport.post(peer.url, {}, b"{}", 10)).status == 200
        await asyncio.sleep(idle_s if number == 1 else 0.05)
    assert (len(peer.streams), peer.connections) == (3, 3)


async def test_a_request_that_is_cancelled_resets_its_stream_and_leaves_the_others_alone(
    transport: HttpTransport, peer: H2Peer
):
    """Nothing goes on being paid for."""
    await opened(peer, transport)
    peer.act = lambda _: None
    tasks = [
        asyncio.create_task(transport.post(peer.url, {}, f"[{n}]".encode(), 20)) for n in range(3)
    ]
    await peer.until(lambda one: len(one.streams) == 3)
    tasks[1].cancel()
    given_up = next(one for one in peer.streams if one.body == b"[1]")
    await peer.until(lambda one: one.resets == [given_up.number])
    for stream in peer.streams:
        if stream is not given_up:
            stream.answer()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert [getattr(outcomes[n], "status", outcomes[n]) for n in (0, 2)] == [200, 200]
    assert peer.connections == 1


async def test_one_that_takes_too_long_ends_alone(transport: HttpTransport, peer: H2Peer):
    """It may have been charged for, and its stream is reset."""
    await opened(peer, transport)
    peer.act = lambda stream: None if stream.body == b"slow" else stream.answer()
    slow = asyncio.create_task(transport.post(peer.url, {}, b"slow", 0.3))
    await peer.until(lambda one: one.streams)
    assert (await transport.post(peer.url, {}, b"{}", 10)).status == 200
    with pytest.raises(TimedOut) as caught:
        await slow
    assert caught.value.billed is None
    await peer.until(lambda one: one.resets)
    assert (await transport.post(peer.url, {}, b"{}", 10)).status == 200
    assert peer.connections == 1


async def test_a_long_request_and_a_long_answer_pass_through_the_windows(
    transport: HttpTransport, peer: H2Peer
):
    """Longer than what may be under way without a word from the other side."""
    body = bytes(range(256)) * 1_000

    def act(stream: Stream) -> None:
        answer = len(stream.body).to_bytes(4) + b"x" * 60_000
        stream.answer(answer[: stream.connection.max_outbound_frame_size])

    peer.act = act
    answer = await transport.post(peer.url, {}, body, 20)
    assert int.from_bytes(answer.body[:4]) == len(body) == len(peer.streams[0].body)


async def test_a_server_that_knows_http_1_alone_is_spoken_to_in_it(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch
):
    """Whether it says so during the handshake or not."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    for speaks in (["http/1.1"], []):
        async with Peer(tls=authority.context("localhost", speaks=speaks)) as one:
            answers = await asyncio.gather(
                *(transport.post(one.url(), {}, b"{}", 10) for _ in range(5))
            )
            assert [answer.status for answer in answers] == [200] * 5
            assert one.requests[0].line == "POST /v1 HTTP/1.1"
