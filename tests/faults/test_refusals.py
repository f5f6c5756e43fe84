"""Blocks by filters: one outcome, whichever vendor it is, from the answer to the summary."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
BLOCK = {
    "error": {"message": "The response was filtered.", "code": "content_filter", "status": 400}
}
WRAPPED = {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(BLOCK)}}}
MINE = {"error": {"message": "max_tokens is too large", "code": "invalid_value"}}
HELD = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
WAYS: dict[str, tuple[int, Any]] = {
    "azure": (400, BLOCK),
    "gateway": (400, WRAPPED),
    "held": (200, HELD),
    "gemini": (200, {"promptFeedback": {"blockReason": "SAFETY"}}),
    "claude": (200, {"content": [], "stop_reason": "refusal"}),
    "mine": (400, MINE),
}


class Filter(BaseHTTPRequestHandler):
    """Answers as the first part of the path says."""

    asked: list[str]

    def do_POST(self) -> None:
        """Counts the request."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        way = self.path.split("/")[1]
        self.asked.append(way)
        status, body = WAYS[way]
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def vendor() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it was asked."""
    asked: list[str] = []
    handler = type("Mine", (Filter,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def providers(url: str, *ways: str) -> list[Any]:
    """A model for each way to refuse."""
    ids = {"azure": "azure:chat:d", "gemini": "google:m", "claude": "anthropic:m"}
    return [
        {
            "id": ids.get(way, "openai:chat:m"),
            "label": way,
            "config": {"apiKey": "k", "apiBaseUrl": f"{url}/{way}"},
        }
        for way in ways
    ]


def test_every_vendors_block_is_a_refusal_and_no_error(
    vendor: tuple[str, list[str]], serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Asked for once, never an error, the same verdicts everywhere, and counted; another 400 is an error."""
    url, asked = vendor
    evals = folder(serve(Script()))
    types = ("is-refusal", "guardrails", "not-guardrails", "not-is-refusal")
    tests = [{"vars": {"n": n}, "assert": [{"type": n}]} for n in types]
    tests += [{"vars": {"n": "knife"}, "assert": [{"type": "not-contains", "value": "knife"}]}]
    blocked = [way for way in WAYS if way != "mine"]
    evals.write(0, prompts=["How? {{n}}"], providers=providers(url, *blocked, "mine"), tests=tests)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 1, ended.stdout
    trials = evals.document()["trials"]
    for way in blocked:
        mine = [trial for trial in trials if trial["variant"]["model"] == way]
        outcomes = [trial["outcome"] for trial in mine]
        assert outcomes == ["pass", "fail", "pass", "fail", "pass"], (way, mine)
        assert {trial["output"] for trial in mine} == {""}
        assert asked.count(way) == 5
    errors = [trial["error"]["slug"] for trial in trials if trial["variant"]["model"] == "mine"]
    assert errors == ["bad-request"] * 5
    assert (
        "the answers of 25 of 30 trials were refused: azure 5 of 5, gateway 5 of 5" in ended.stdout
    )
    assert "the answers of 25 of 30 trials were refused" in evals.run("show", "--no-table").stdout


@pytest.mark.thorough(after=8)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "mine"])
@pytest.mark.parametrize("kind", ["llm-rubric", "factuality", "answer-relevance", "g-eval"])
def test_a_judge_that_is_blocked_gives_no_verdict(
    way: str,
    kind: str,
    vendor: tuple[str, list[str]],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """It is an error that says so, also for a negated assertion."""
    url, _ = vendor
    evals = folder(serve(Script()))
    (judge,) = providers(url, way)
    asserts = [
        {"type": f"{no}{kind}", "value": "is polite", "provider": judge} for no in ("", "not-")
    ]
    tests = [{"vars": {"n": "1", "query": "x"}, "assert": [one]} for one in asserts]
    evals.write(0, prompts=["Hello {{n}}"], tests=tests)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 3, ended.stdout
    for trial in evals.document()["trials"]:
        assert trial["outcome"] == "error"
        assert "refused" in trial["error"]["message"], trial["error"]
