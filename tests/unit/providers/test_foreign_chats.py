"""Amazon's Converse API and Cohere's chat, which applications ask: whole and in pieces, words and calls of tools."""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
import requests
from botocore.config import Config

from evenhand import EvalSet, Expect, run
from evenhand.providers.app_call import read_answer
from evenhand.providers.streams import END, whole

SAID = "Four legs"
CALL = {"toolUse": {"toolUseId": "t1", "name": "count", "input": {"of": "cow"}}}
USED = {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11}
CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [{"text": SAID}, CALL]}},
    "stopReason": "tool_use",
    "usage": USED,
    "metrics": {"latencyMs": 1},
}
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Four "}}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "legs"}}),
    ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "count"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"of": '}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '"cow"}'}}}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": USED, "metrics": {"latencyMs": 1}}),
]  # fmt: skip
COHERE = {
    "id": "c",
    "finish_reason": "TOOL_CALL",
    "message": {
        "role": "assistant",
        "content": [{"type": "text", "text": SAID}],
        "tool_calls": [
            {
                "id": "t1",
                "type": "function",
                "function": {"name": "count", "arguments": '{"of": "cow"}'},
            }
        ],
    },
    "usage": {"billed_units": {}, "tokens": {"input_tokens": 9, "output_tokens": 2}},
}
COHERE_EVENTS = [
    {"type": "message-start", "delta": {"message": {"role": "assistant"}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Four "}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "legs"}}}},
    {
        "type": "tool-call-start",
        "index": 0,
        "delta": {
            "message": {"tool_calls": {"id": "t1", "function": {"name": "count", "arguments": ""}}}
        },
    },
    {
        "type": "tool-call-delta",
        "index": 0,
        "delta": {"message": {"tool_calls": {"function": {"arguments": '{"of": "cow"}'}}}},
    },
    {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": COHERE["usage"]}},
]


def frame(event: str, document: Mapping[str, Any]) -> bytes:
    """A frame of Amazon's, with its checksums."""
    headers = b""
    for name, value in (
        (":event-type", event),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ):
        headers += (
            struct.pack(">B", len(name))
            + name.encode()
            + struct.pack(">BH", 7, len(value))
            + value.encode()
        )
    payload = json.dumps(document).encode()
    prelude = struct.pack(">II", 12 + len(headers) + len(payload) + 4, len(headers))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return start + struct.pack(">I", zlib.crc32(start))


FRAMES = [frame(event, document) for event, document in EVENTS]
LINES = b"".join(
    b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in COHERE_EVENTS
)
ANSWERS = [
    ("converse", json.dumps(CONVERSED).encode()),
    ("converse", b"".join(FRAMES)),
    ("v2/chat", json.dumps(COHERE).encode()),
    ("v2/chat", LINES),
]


@pytest.mark.parametrize(("kind", "body"), ANSWERS)
def test_an_answer_is_read_whole_and_in_pieces(kind: str, body: bytes) -> None:
    """Its words, its calls, its tokens and how it ended."""
    reply = read_answer(kind, body)
    assert reply.text.startswith(SAID)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("count", {"of": "cow"})]
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (9, 2)
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(("kind", "body"), [ANSWERS[1], ANSWERS[3]])
def test_a_stream_without_its_end_is_none_and_the_end_is_seen(kind: str, body: bytes) -> None:
    """So that what breaks off is no answer, and the last piece is handed on once all is stored."""
    cut = (
        body[: -len(FRAMES[-1]) - len(FRAMES[-2])]
        if kind == "converse"
        else body[: body.index(b"event: message-end")]
    )
    assert whole(kind, cut) is None
    assert END.search(cut) is None
    assert END.search(body)


class Vendor(BaseHTTPRequestHandler):
    """Answers at both vendors' addresses."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """In the shape of the address."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append(self.path)
        kind = "application/json"
        if self.path.endswith("/converse-stream"):
            data, kind = b"".join(FRAMES), "application/vnd.amazon.eventstream"
        elif self.path.endswith("/converse"):
            data = json.dumps(CONVERSED).encode()
        elif asked.get("stream"):
            data, kind = LINES, "text/event-stream"
        else:
            data = json.dumps(COHERE).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The vendors' address."""
    Vendor.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Vendor) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def bedrock(url: str) -> Any:
    """Amazon's own client."""
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-west-1",
        aws_access_key_id="id",
        aws_secret_access_key="secret",
        config=Config(retries={"max_attempts": 0}),
    )


ASK: dict[str, Any] = {
    "modelId": "eu.amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "Legs of a cow?"}]}],
}


def by_converse(url: str) -> str:
    """Whole."""
    return bedrock(url).converse(**ASK)["output"]["message"]["content"][0]["text"]


def by_converse_stream(url: str) -> str:
    """In pieces, as botocore reads its frames."""
    events = [*bedrock(url).converse_stream(**ASK)["stream"]]
    assert events[-1]["metadata"]["usage"]["outputTokens"] == 2
    deltas = (e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e)
    return "".join(delta.get("text", "") for delta in deltas)


def by_cohere(url: str) -> str:
    """Cohere's address, as its SDK posts to it."""
    body = {"model": "command-a", "messages": [{"role": "user", "content": "Legs?"}]}
    return requests.post(f"{url}/v2/chat", json=body, timeout=20).json()["message"]["content"][0][
        "text"
    ]


@pytest.mark.parametrize("ask", [by_converse, by_converse_stream, by_cohere])
def test_a_call_of_an_application_is_recorded_and_replayed(
    ask: Callable[[str], str], url: str, tmp_path: Path
) -> None:
    """With its tokens and the tool that was asked for."""
    evals = EvalSet("foreign", data=[{"id": "a"}])

    @evals.eval
    def asks(expect: Expect) -> None:
        expect(ask(url) == SAID, "answers")

    cassette = tmp_path / "one.cassette"
    for _ in range(2):
        result = run(evals, home=tmp_path, progress=False, cassette=cassette, cache=False)
        (trial,) = result.trials()
        assert result.passed, trial.reason
        assert (trial.calls, trial.tokens_in, trial.tokens_out) == (1, 9, 2)
        assert [step.name for step in result.steps(trial) if step.kind == "tool"] == ["count"]
    assert len(Vendor.seen) == 1
