"""The fake provider over real sockets: what it answers, how it fails, and what is on the bill."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script
from evenhand.testing.ledger import Ledger, request_key

CHAT = "/v1/chat/completions"
Ask = Callable[..., tuple[int, dict[str, str], bytes]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Asks a fake provider over one connection: status, headers and body of the answer."""
    connections: dict[str, http.client.HTTPConnection] = {}

    def post(
        fake: FakeProvider, text: str = "hi", path: str = CHAT, method: str = "POST", **more: Any
    ) -> tuple[int, dict[str, str], bytes]:
        connection = connections.get(fake.url)
        if connection is None:
            host = fake.url.removeprefix("http://")
            connection = connections[fake.url] = http.client.HTTPConnection(host, timeout=20)
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
        sent = json.dumps(body) if method == "POST" else None
        connection.request(method, path, sent, {"authorization": "Bearer k"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    yield post
    for connection in connections.values():
        connection.close()


def content(answer: tuple[int, dict[str, str], bytes]) -> str:
    """The text of an OpenAI answer."""
    assert answer[0] == 200, answer
    return json.loads(answer[2])["choices"][0]["message"]["content"]


def until(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits for the server's thread."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_the_same_question_has_the_same_answer_and_is_counted_twice(ask: Ask):
    """The bill knows completions by their whole request."""
    with FakeProvider() as fake:
        one, two, again = (content(ask(fake, t)) for t in ("a", "b", "a"))
        assert one == again != two
        ask(fake, "a", temperature=1)
        assert (fake.ledger.total, fake.ledger.repeated) == (4, 1)
        until(lambda: fake.ledger.delivered == fake.ledger.counts)
        fake.ledger.clear()
        assert (fake.ledger.total, fake.ledger.repeated) == (0, 0)


def test_what_no_rule_fits_is_refused_with_its_words(ask: Ask):
    """As the vendor words a bad request; nothing is charged."""
    with FakeProvider(Script([], None)) as fake:
        status, _, body = ask(fake, "a question\nof two lines")
        said = json.loads(body)["error"]
        assert (status, said["type"]) == (400, "invalid_request_error")
        assert said["message"] == "the script has no rule for: a question of two lines"
        assert (fake.ledger.total, fake.requests[0].status) == (0, 400)


def test_every_variable_that_an_sdk_reads_leads_here():
    """LlamaIndex reads another one than OpenAI's own SDK."""
    with FakeProvider() as fake:
        env = fake.env()
        assert env["OPENAI_BASE_URL"] == env["OPENAI_API_BASE"] == f"{fake.url}/v1"
        assert env["ANTHROPIC_BASE_URL"] == fake.url


def test_only_the_right_key_is_let_in(ask: Ask):
    """Others get the vendor's 401, for either vendor's header."""
    with FakeProvider(api_key="right") as fake:
        assert ask(fake)[0] == 401
        assert (
            json.loads(ask(fake, path="/v1/messages")[2])["error"]["type"] == "authentication_error"
        )
        assert fake.requests[0].api_key == "k"
        assert {fake.env()[f"{v}_API_KEY"] for v in ("OPENAI", "ANTHROPIC")} == {"right"}
        assert fake.ledger.total == 0


@pytest.mark.parametrize(
    ("fault", "billed"),
    [
        ("drop", 0),
        ("lose", 1),
        ("truncate", 1),
        ("reset", 1),
        ("malformed", 1),
        ("html", 1),
        ("empty", 1),
    ],
)
def test_what_was_generated_is_on_the_bill_whether_or_not_it_arrived(
    ask: Ask, fault: str, billed: int
):
    """As a vendor counts."""
    with FakeProvider(Script([Rule(fault=fault)])) as fake:
        with pytest.raises((OSError, ValueError, http.client.HTTPException)):
            json.loads(ask(fake)[2])
        assert (fake.ledger.total, fake.ledger.delivered.total()) == (billed, 0)
        assert fake.requests[0].fault == fault


def test_a_reset_is_an_error_and_a_truncated_answer_an_end(ask: Ask):
    """The two ways in which a connection is lost look different to a client."""
    for fault, error in (
        ("truncate", http.client.IncompleteRead),
        ("reset", ConnectionResetError),
    ):
        with FakeProvider(Script([Rule(fault=fault)])) as fake, pytest.raises(error):
            ask(fake)


def test_a_slow_answer_arrives_whole_and_late(ask: Ask):
    """In pieces, over a second."""
    with FakeProvider(Script([Rule(reply="word " * 50, fault="slow")])) as fake:
        started = time.monotonic()
        assert content(ask(fake)) == "word " * 50
        assert time.monotonic() - started > 0.8
        until(lambda: fake.ledger.delivered.total() == 1)


def test_an_error_has_the_scripted_headers_with_moments_written_out(ask: Ask):
    """Word for word, or so many seconds from now, against the Date that is sent along."""
    rule = Rule(
        fault="429",
        retry_after="{date+3}",
        headers={"anthropic-ratelimit-requests-reset": "{time+60}", "retry-after-ms": "250"},
    )
    with FakeProvider(Script([rule]), headers={"x-served-by": "test"}) as fake:
        status, headers, body = ask(fake, path="/v1/messages")
        assert (status, json.loads(body)["error"]["type"]) == (429, "rate_limit_error")
        now = parsedate_to_datetime(headers["date"])
        assert (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds() == 3
        reset = datetime.fromisoformat(headers["anthropic-ratelimit-requests-reset"])
        assert 59 <= (reset - now).total_seconds() <= 61
        assert (headers["retry-after-ms"], headers["x-served-by"]) == ("250", "test")
        assert headers["request-id"].startswith("req_")


def test_a_reply_that_raises_is_a_500_and_the_server_lives_on(ask: Ask):
    """A mistake in a test's own function is told to the test."""
    rules = [Rule(("bad",), reply=lambda text: 1 / 0), Rule((), "good")]
    with FakeProvider(Script(rules)) as fake:
        status, _, body = ask(fake, "bad")
        assert (status, "ZeroDivisionError" in body.decode()) == (500, True)
        assert content(ask(fake, "x")) == "good"


@pytest.mark.thorough
def test_requests_in_pieces_and_thousands_at_once_are_answered_in_turn():
    """Whatever TCP does to them, on one connection."""
    with FakeProvider(Script([Rule((), reply=lambda text: f"<{text}>")])) as fake:
        host, port = fake.url.removeprefix("http://").split(":")

        def request(text: str) -> bytes:
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
            return f"POST {CHAT} HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()

        with socket.create_connection((host, int(port)), timeout=20) as connection:
            data = b"".join(request(str(i)) for i in range(3))
            for i in range(0, len(data), 37):
                connection.sendall(data[i : i + 37])
                time.sleep(0.0005)
            connection.sendall(b"".join(request(str(i)) for i in range(3, 2000)))
            got = b""
            while b"<1999>" not in got:
                got += connection.recv(1 << 20)
    places = [got.index(b"<%d>" % i) for i in range(2000)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\ncontent-length: many\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"411"),
        (b"POST /x HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", b"413"),
        (b"x" * 70_000, b"400"),
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(sent: bytes, status: bytes):
    """Instead of waiting forever for what will not come."""
    with FakeProvider() as fake:
        host, port = fake.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            got = b""
            while piece := connection.recv(65536):
                got += piece
    assert got.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"n": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_object_is_a_bad_request(ask: Ask, body: bytes):
    """And the connection goes on."""
    with FakeProvider() as fake:
        connection = http.client.HTTPConnection(fake.url.removeprefix("http://"), timeout=20)
        try:
            for _ in range(2):
                connection.request("POST", CHAT, body)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 400
        finally:
            connection.close()


@pytest.mark.parametrize(
    "more",
    [
        {"messages": "x"},
        {"messages": [1, {"role": "user", "content": [1, {"text": "y"}]}], "stop": 3},
        {"model": 7, "system": {"a": 1}, "stop_sequences": [1], "n": "many"},
    ],
)
def test_odd_requests_are_answered_all_the_same(ask: Ask, more: dict[str, Any]):
    """It is for clients to be right; a server for tests must not fall over them."""
    with FakeProvider(Script([Rule((), "fine")])) as fake:
        for path in (CHAT, "/v1/messages"):
            assert ask(fake, path=path, **more)[0] == 200


def test_the_bill_and_the_models_can_be_looked_at_and_nothing_else(ask: Ask):
    """The models of the rules, and those that were asked for."""
    with FakeProvider(Script([Rule(model="judge", reply="x")])) as fake:
        ask(fake, model="gpt")
        bill = json.loads(ask(fake, path="/ledger", method="GET")[2])
        assert (bill["total"], bill["distinct"], bill["delivered"]) == (1, 1, 1)
        models = json.loads(ask(fake, path="/v1/models?limit=9", method="GET")[2])
        assert [model["id"] for model in models["data"]] == ["judge", "gpt"]
        assert ask(fake, path="/v1/images")[0] == 404
        assert ask(fake, path="/", method="GET")[0] == 404


def test_embeddings_are_answered_beside_the_rules_and_fail_by_their_path(ask: Ask):
    """Unit vectors of the length that was asked for; as floats or packed."""
    with FakeProvider(Script([Rule(path="embeddings", fault="503", times=1)], None)) as fake:
        path = "/v1/embeddings"
        assert ask(fake, path=path, input="a")[0] == 503
        data = json.loads(ask(fake, path=path, input=["a", "b"], dimensions=8)[2])["data"]
        assert [len(item["embedding"]) for item in data] == [8, 8]
        assert data[0]["embedding"] != data[1]["embedding"]
        packed = json.loads(
            ask(fake, path=path, input="a", dimensions=8, encoding_format="base64")[2]
        )
        raw = base64.b64decode(packed["data"][0]["embedding"])
        assert list(struct.unpack("<8f", raw)) == pytest.approx(data[0]["embedding"])
        assert fake.ledger.total == 2


def test_surrogates_in_a_reply_are_sent_as_escapes(ask: Ask):
    """Models do say them."""
    with FakeProvider(Script([Rule((), "a\ud800b")])) as fake:
        assert content(ask(fake)) == "a\ud800b"


def test_latency_is_waited_and_requests_at_once_are_counted(ask: Ask):
    """The server's own and the rule's; it may be changed while it runs."""
    with FakeProvider(Script([Rule((), "x", latency_ms=20)]), latency_ms=900_000) as fake:
        fake.latency_ms = 300
        started = time.monotonic()
        ask(fake)
        assert time.monotonic() - started >= 0.32
        assert fake.most_at_once == 1


def test_nobody_pays_for_what_nobody_waits_for_any_more():
    """A client that is gone before its answer stops the vendor from generating it."""
    with FakeProvider(latency_ms=250) as fake:
        host, port = fake.url.removeprefix("http://").split(":")
        body = b'{"model": "m", "messages": []}'
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(
                b"POST %s HTTP/1.1\r\ncontent-length: 30\r\n\r\n%s" % (CHAT.encode(), body)
            )
            until(lambda: len(fake.requests) == 1)
        time.sleep(0.35)
        assert fake.ledger.total == 0


def test_hanging_requests_are_given_up_when_the_server_stops(ask: Ask):
    """Stopping does not wait for them."""
    fake = FakeProvider(Script([Rule(fault="hang")])).start()
    host, port = fake.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"POST %s HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}" % CHAT.encode())
        until(lambda: len(fake.requests) == 1)
        started = time.monotonic()
        fake.stop()
        assert time.monotonic() - started < 60
        assert connection.recv(10) == b""


def test_a_taken_port_is_an_error_and_not_a_hang():
    """In the thread that asked."""
    with FakeProvider() as fake:
        port = int(fake.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            FakeProvider(port=port).start()


def test_one_that_was_never_started_can_be_stopped():
    """As a fixture's end does after a failed beginning."""
    FakeProvider().stop()


def test_as_a_process_its_bill_outlives_it(tmp_path: Path):
    """Its address is the first line; each completion is a line, and one that was cut off does not count."""
    bill, rules = tmp_path / "bill", tmp_path / "rules.jsonl"
    rules.write_text('{"match": "x", "reply": "said"}\n')
    command = [sys.executable, "-m", "evenhand.testing", "--ledger", str(bill), "--fault", "500=0"]
    process = subprocess.Popen(
        [*command, "--script", str(rules)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    connection = http.client.HTTPConnection(process.stdout.readline().strip()[7:], timeout=20)
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    try:
        connection.request("POST", CHAT, json.dumps(body))
        assert b"said" in connection.getresponse().read()
        until(lambda: len(bill.read_text().splitlines()) == 2)
    finally:
        connection.close()
        process.kill()
        process.wait()
        process.stdout.close()
    bill.write_text(bill.read_text() + "generated abc")
    ledger = Ledger.read(bill)
    assert ledger.counts == ledger.delivered == {request_key("chat/completions", body): 1}


def test_as_a_process_it_says_what_is_wrong_with_its_script(tmp_path: Path):
    """And does not begin to listen."""
    (tmp_path / "rules.jsonl").write_text('{"mach": "x"}')
    command = [sys.executable, "-m", "evenhand.testing", "--script", str(tmp_path / "rules.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "key 'mach' is not known" in done.stderr
    assert done.stdout == ""
