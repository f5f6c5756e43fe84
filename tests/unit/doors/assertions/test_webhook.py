"""Assertions that a web service decides, over real HTTP on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@pytest.fixture
def service() -> Any:
    """Answers what its path says, and keeps what it was sent."""
    sent: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            status, body = ANSWERS[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", sent
    server.shutdown()
    server.server_close()


ANSWERS = {
    "/yes": (200, b'{"pass": true}'),
    "/no": (200, b'{"pass": false, "score": 0.25, "reason": "too long"}'),
    "/odd": (200, b'{"pass": "yes"}'),
    "/text": (200, b"fine"),
    "/score": (200, b'{"pass": true, "score": "high"}'),
    "/down": (500, b"out of order"),
}


async def test_a_service_is_told_the_output_and_what_led_to_it(settled: Any, service: Any):
    """And answers with a verdict, a score and a reason."""
    address, sent = service
    variables = {"path": "no"}
    found = await settled(
        "webhook", f"{address}/{{{{path}}}}", output={"a": 1}, variables=variables
    )
    assert (found.outcome, found.score, found.reason) == ("fail", 0.25, "too long")
    assert sent == [{"output": {"a": 1}, "context": {"prompt": "the prompt", "vars": variables}}]
    turned = await settled("not-webhook", f"{address}/no")
    assert (turned.outcome, turned.score) == ("pass", 0.75)
    assert (await settled("webhook", f"{address}/yes")).score == 1.0


@pytest.mark.parametrize("path", ["odd", "text", "score", "down"])
@pytest.mark.parametrize("type_", ["webhook", "not-webhook"])
async def test_an_answer_without_a_verdict_is_an_error(
    settled: Any, service: Any, type_: str, path: str
):
    """Never a pass that `not-` made of a failure."""
    found = await settled(type_, f"{service[0]}/{path}")
    assert (found.outcome, found.score) == ("error", None)


@pytest.mark.parametrize("address", ["nowhere", "file:///etc/passwd", "http://", "http://[x"])
async def test_what_is_no_address_is_never_posted_to(settled: Any, address: str):
    """It is said instead."""
    found = await settled("webhook", address)
    assert (found.outcome, found.error) == ("error", "code")
