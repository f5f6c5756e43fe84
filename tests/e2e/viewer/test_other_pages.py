"""Other pages in the same browser, and other programs, learn nothing from the viewer and change nothing."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from evenhand.store.runfile import RunFile

ATTACKS = """async ([origin, run]) => {
  const api = `${origin}/api/runs/${run}`;
  const label = JSON.stringify({ index: 0, field: "note", value: "from afar", author: "x", blind: false });
  const learned = [];
  const tried = async (name, attempt) => {
    try {
      const answer = await attempt();
      if (answer !== undefined && answer !== "") learned.push(`${name}: ${String(answer).slice(0, 80)}`);
    } catch { /* refused, as it should be */ }
  };
  for (const mode of ["cors", "no-cors"]) {
    for (const credentials of ["include", "omit"]) {
      for (const path of ["/", "/app.js", "/api/runs", `/api/runs/${run}`, `/api/runs/${run}/blocks`]) {
        await tried(`get ${path}`, async () => (await fetch(origin + path, { mode, credentials })).text());
      }
      await tried("post text", async () =>
        (await fetch(`${api}/labels`, { method: "POST", mode, credentials, body: label })).text());
    }
  }
  for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
    await tried(method, async () => (await fetch(`${api}/labels`, {
      method, credentials: "include", headers: { "Content-Type": "application/json", "X-Evenhand": "1" }, body: label,
    })).text());
  }
  await tried("beacon", () => { navigator.sendBeacon(`${api}/labels`, label); });
  const loaded = (element, name) => tried(name, () => new Promise((resolve, reject) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => reject(new Error());
    setTimeout(() => resolve(""), 1500);
    document.body.append(element);
  }));
  await loaded(Object.assign(document.createElement("script"), { src: `${origin}/app.js` }), "script");
  await loaded(Object.assign(document.createElement("img"), { src: `${origin}/icon.svg` }), "image");
  const sheet = { rel: "stylesheet", href: `${origin}/app.css` };
  await loaded(Object.assign(document.createElement("link"), sheet), "style");
  await tried("events", () => new Promise((resolve) => {
    const events = new EventSource(`${api}/events`, { withCredentials: true });
    events.onmessage = (event) => resolve(event.data);
    events.onopen = () => resolve("open");
    events.onerror = () => { events.close(); resolve(""); };
  }));
  await tried("socket", () => new Promise((resolve) => {
    const socket = new WebSocket(`${origin.replace("http", "ws")}/api/runs/${run}/events`);
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("");
  }));
  const frame = Object.assign(document.createElement("iframe"), { name: "inside", src: origin });
  document.body.append(frame);
  const form = Object.assign(document.createElement("form"), {
    action: `${api}/labels`, method: "post", enctype: "text/plain", target: "inside",
  });
  form.append(Object.assign(document.createElement("input"), { name: label.slice(0, -1) + ',"a":"', value: '"}' }));
  document.body.append(form);
  form.submit();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await tried("frame", () => frame.contentWindow.document.body.innerText);
  const opened = window.open(origin);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await tried("opener", () => opened.document.body.innerText);
  opened?.close();
  return learned;
}"""


class Elsewhere(BaseHTTPRequestHandler):
    """Another page on this machine."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>elsewhere</title><body>elsewhere</body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that it has there)
        del format, args


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of another server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def ask(
    origin: str, path: str, method: str = "GET", body: str = "", **headers: str
) -> tuple[int, str]:
    """The status and text of an answer to a request that is sent as it is."""
    parts = urlsplit(origin)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() or None)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def labels(home: Path, run: str) -> list[Any]:
    """All labels in a run's file."""
    with RunFile.open(home / "runs" / f"{run}.db") as found:
        return list(found.labels())


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_another_page_in_the_same_browser_learns_and_changes_nothing(
    browser: Any, elsewhere: int, own_home: Path, runs: list[str], serve: Any, name: str
):
    """Scripts, images, frames, forms, events, sockets: all refused, from another port and from another site."""
    with serve(own_home) as viewer:
        context = browser.new_context()
        try:
            own = context.new_page()
            own.goto(viewer.link)  # the browser has the cookie now
            assert own.evaluate("async () => (await fetch('/api/runs')).status") == 200
            other = context.new_page()
            other.goto(f"http://{name}:{elsewhere}/")
            assert other.evaluate(ATTACKS, [viewer.origin, runs[0]]) == []
        finally:
            context.close()
    assert labels(own_home, runs[0]) == []


HOSTS = (
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1.evil.example:{port}",
    "localhost:1",
    "0.0.0.0:{port}",
    "",
)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/api/runs", "/api/runs/{run}/events", "/nothing"]
)
def test_a_name_that_leads_here_is_not_enough(served: Any, runs: list[str], host: str, path: str):
    """With the token, even, a request for another host is refused, whatever it is for."""
    named = host.format(port=urlsplit(served.origin).port)
    for method in ("GET", "POST", "OPTIONS", "DELETE"):
        status, text = ask(
            served.origin,
            path.format(run=runs[0]),
            method,
            Host=named,
            Authorization=f"Bearer {served.token}",
        )
        assert status in (400, 421), (method, text)
        assert "shop" not in text


def test_nothing_is_answered_without_the_token(served: Any, runs: list[str]):
    """Every address, with every method: 401 or worse, and no word of a run."""
    run = f"/api/runs/{runs[0]}"
    paths = [
        "/",
        "/app.js",
        "/live.js",
        "/app.css",
        "/icon.svg",
        "/favicon.ico",
        "/api/runs",
        run,
        "/api/none",
    ]
    paths += [f"{run}/{part}" for part in ("blocks", "labels", "events", "cells/0", "notes")]
    paths += [f"{run}/search", f"{run}/previews?cells=1", f"{run}/views", "/api/search"]
    paths += [f"{run}/comparison?baseline={runs[1]}"]
    nearly = ("Bearer ", "Bearer x", f"Basic {served.token}", f"Bearer {served.token[:-1]}")
    given: list[dict[str, str]] = [{}, *({"Authorization": text} for text in nearly)]
    given.append({"Cookie": f"evenhand-{urlsplit(served.origin).port}=x; evenhand={served.token}"})
    for path in paths:
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            for headers in given:
                status, text = ask(served.origin, path, method, **headers)
                assert status in (401, 403), (method, path, headers)
                assert runs[0] not in text


TRICKS = (
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/runs", "..%252f..%252fetc", "....//etc",
    "%00", "x%00.db", "{run}.db", "./{run}", "{run}%2f..", "..\\..\\x", "%5c..%5c", "file:///etc/passwd", "~root", "*",
    "%", "{home}/runs/{run}.db", "%c0%ae%c0%ae/", "\u2025/", "{run}' or '1'='1", "-1", "con",
)  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
def test_a_run_is_an_id_and_never_a_path(served: Any, runs: list[str], trick: str):
    """Whatever else stands where an id should: not found, or no request at all, and nothing of this machine's files."""
    named = (
        trick.format(run=runs[0], home=served.home).encode().decode("latin-1").replace(" ", "%20")
    )
    for path in (
        f"/api/runs/{named}",
        f"/api/runs/{named}/blocks",
        f"/{named}",
        f"/static/{named}",
    ):
        try:
            status, text = ask(served.origin, path, Authorization=f"Bearer {served.token}")
        except (http.client.InvalidURL, UnicodeEncodeError):
            continue  # no client sends it
        assert 400 <= status < 500, (path, text[:200])
        assert "root:" not in text
        assert "SQLite" not in text


def test_a_label_from_elsewhere_is_refused(served: Any, runs: list[str]):
    """With the token and all, but one thing that only the page itself has: 403, and nothing is written."""
    good = {
        "Authorization": f"Bearer {served.token}",
        "Origin": served.origin,
        "Content-Type": "application/json",
        "X-Evenhand": "1",
    }
    path = f"/api/runs/{runs[0]}/labels"
    body = json.dumps({"index": 0, "field": "note", "value": "x", "author": "", "blind": False})
    for wrong in (
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": served.origin.replace("http:", "https:")},
        {"Origin": served.origin + ".evil.example"},
        {"Content-Type": "text/plain"},
        {"X-Evenhand": "0"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        status, _ = ask(served.origin, path, "POST", body, **(good | wrong))
        assert status == 403, wrong
    for missing in ("Origin", "Content-Type", "X-Evenhand"):
        headers = {name: value for name, value in good.items() if name != missing}
        assert ask(served.origin, path, "POST", body, **headers)[0] == 403, missing
    assert labels(served.home, runs[0]) == []
