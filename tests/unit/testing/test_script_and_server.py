"""The fake provider: rules, faults, the bill, and the shapes of vendors' answers."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evenhand.testing
from evenhand.core.errors import ConfigError
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.testing.ledger import Ledger, request_key


def ask(
    fake: FakeProvider, text: str = "hi", path: str = "/v1/chat/completions", **more: Any
) -> dict[str, Any]:
    """Asks the fake provider something."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    request = urllib.request.Request(fake.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.loads(answer.read())


def status(fake: FakeProvider, text: str) -> int:
    """The status it answers with."""
    try:
        ask(fake, text)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    return 200


def test_the_first_rule_that_fits_answers_as_often_as_it_may():
    """All its patterns must be found, in whatever message; model and times count."""
    script = Script(
        [
            Rule(("cats", "dogs"), "both"),
            Rule(("cats",), "cats", times=1),
            Rule((), {"pass": True}, model="judge"),
        ]
    )
    with FakeProvider(script) as fake:
        said = [
            ask(fake, t)["choices"][0]["message"]["content"]
            for t in ("dogs and cats", "cats", "cats again")
        ]
        judged = ask(fake, "x", model="judge")["choices"][0]["message"]["content"]
    assert said[:2] == ["both", "cats"]
    assert said[2].startswith("This is a scripted reply, ref:")
    assert json.loads(judged) == {"pass": True}


def test_different_questions_have_different_default_answers_and_the_same_the_same():
    """So that a mix-up is seen."""
    with FakeProvider() as fake:
        one, two, again = (
            ask(fake, t)["choices"][0]["message"]["content"] for t in ("a", "b", "a")
        )
        assert one == again != two
        assert (fake.ledger.total, fake.ledger.repeated, fake.ledger.delivered) == (3, 1, 3)


def test_a_script_without_a_default_refuses_what_no_rule_fits():
    """And says what it was asked."""
    with FakeProvider(Script([], None)) as fake:
        assert status(fake, "anything") == 400
        assert fake.ledger.total == 0


def test_only_the_right_key_is_let_in():
    """Others get the vendor's 401."""
    with FakeProvider(api_key="right") as fake:
        assert status(fake, "x") == 401
        assert fake.requests[0].api_key == "k"
        assert fake.env()["OPENAI_API_KEY"] == "right"


def test_faults_fall_on_the_same_requests_every_time():
    """By seed, request and attempt; about as many as asked for."""
    script = Script(faults={"500": 0.2, "drop": 0.1}, seed=3)
    drawn = [script.fault_for(f"key {i}", 1) for i in range(2000)]
    assert drawn == [
        Script(faults=script.faults, seed=3).fault_for(f"key {i}", 1) for i in range(2000)
    ]
    counts = Counter(drawn)
    assert 330 < counts["500"] < 470
    assert 150 < counts["drop"] < 250
    assert [script.fault_for("key", n) for n in range(30)] != ["" for _ in range(30)]


@pytest.mark.parametrize(
    ("fault", "billed"),
    [
        ("429", 0),
        ("drop", 0),
        ("lose", 1),
        ("truncate", 1),
        ("malformed", 1),
        ("html", 1),
        ("empty", 1),
    ],
)
def test_what_was_generated_is_on_the_bill_whether_or_not_it_arrived(fault: str, billed: int):
    """As a vendor counts."""
    with FakeProvider(Script([Rule(fault=fault, retry_after="1")])) as fake:
        with pytest.raises((OSError, ValueError, http.client.HTTPException)) as caught:
            ask(fake)
        if isinstance(caught.value, urllib.error.HTTPError):
            assert caught.value.headers["retry-after"] == "1"
            caught.value.close()
        assert (fake.ledger.total, fake.ledger.delivered) == (billed, 0)


def test_requests_in_pieces_and_several_at_once_on_one_connection_are_answered_in_turn():
    """Whatever TCP does to them."""
    import socket

    with FakeProvider() as fake:
        host, port = fake.url.removeprefix("http://").split(":")
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
        one = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (
            len(body),
            body,
        )
        with socket.create_connection((host, int(port))) as connection:
            data = one + one + one
            for i in range(0, len(data), 37):
                connection.sendall(data[i : i + 37])
            got = b""
            while got.count(b'chat.completion"') < 3:
                got += connection.recv(65536)
    assert got.count(b"HTTP/1.1 200 OK") == 3


def test_nothing_else_is_served():
    """Lists of models, the bill, and 404s."""
    with FakeProvider() as fake:
        ask(fake)
        with urllib.request.urlopen(fake.url + "/ledger", timeout=5) as answer:
            assert json.loads(answer.read())["total"] == 1
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(fake, path="/v1/images")
        assert caught.value.code == 404
        caught.value.close()


def test_the_bill_outlives_the_process(tmp_path: Path):
    """Each completion is a line, written as it is generated."""
    command = [
        sys.executable,
        "-m",
        "evenhand.testing",
        "--ledger",
        str(tmp_path / "bill"),
        "--fault",
        "500=0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    body = json.dumps({"model": "m", "messages": []}).encode()
    with urllib.request.urlopen(url + "/v1/chat/completions", body, timeout=5) as answer:
        answer.read()
    process.kill()
    process.wait()
    process.stdout.close()
    assert (tmp_path / "bill").read_text().splitlines() == [
        request_key("chat/completions", json.loads(body))
    ]


def test_a_script_on_disk_is_read_line_by_line(tmp_path: Path):
    """Comments of ours are allowed, empty lines too."""
    path = tmp_path / "offline.jsonl"
    path.write_text(
        '{"match": ["a", "b"], "reply": {"x": 1}, "comment": "why"}\n\n'
        '{"match": "c", "fault": 429, "retry_after": 2, "times": 1, "latency_ms": 5}\n'
    )
    one, two = Script.read(path).rules
    assert (one.match, one.text) == (("a", "b"), '{"x": 1}')
    assert (two.fault, two.retry_after, two.times, two.latency_ms) == ("429", "2", 1, 5.0)


def test_all_that_is_wrong_with_a_script_is_said_at_once(tmp_path: Path):
    """Each with its line."""
    path = tmp_path / "offline.jsonl"
    path.write_text(
        '{"mach": "a"}\n[]\n{"match": "("}\n{"fault": "boom"}\n{"times": "x"}\nnot json\n'
    )
    with pytest.raises(ConfigError) as caught:
        Script.read(path)
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ConfigError, match="cannot be read"):
        Script.read(tmp_path / "none.jsonl")


def test_a_taken_port_is_an_error_and_not_a_hang():
    """In the thread that asked."""
    with FakeProvider() as fake:
        port = int(fake.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            FakeProvider(port=port).start()


def test_a_ledger_counts_by_request():
    """Whatever order its keys came in."""
    ledger = Ledger()
    for body in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}):
        ledger.bill(request_key("p", body))
    assert (ledger.total, ledger.repeated) == (3, 1)


def test_the_rooms_names_are_all_there():
    """And no others."""
    for name in evenhand.testing.__all__:
        assert getattr(evenhand.testing, name)
    with pytest.raises(AttributeError):
        _ = evenhand.testing.Nothing  # type: ignore[attr-defined]
