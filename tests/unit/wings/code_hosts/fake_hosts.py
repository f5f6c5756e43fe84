"""A GitHub and a GitLab with one pull request, over real HTTP: paged, slow, limited, and sometimes broken."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Fault = tuple[int, dict[str, str], dict[str, str]]
LIMITED: Fault = (429, {"Retry-After": "1"}, {"message": "slow down"})
SECONDARY: Fault = (403, {}, {"message": "You have exceeded a secondary rate limit"})
BROKEN: Fault = (502, {}, {"message": "bad gateway"})
READ_ONLY: Fault = (403, {}, {"message": "Resource not accessible by integration"})


def exhausted() -> Fault:
    """The primary limit, until a moment that the host names by its own clock."""
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 2)}
    return 403, headers, {"message": "API rate limit exceeded"}


@dataclass
class FakeHost:
    """What it has, and what it does to requests.

    Attributes:
        gitlab: Whether it speaks GitLab's API, else GitHub's.
        comments: Those on pull request 12, as the API gives them.
        before: Says of a request (method, path) with which fault it is refused; None for none.
        after: The same, once it has been done: the answer is lost.
        user: Whom `/user` names; None refuses that, as it refuses apps.
        pulls: What the list of pull requests has.
        asked: The requests, as (method, path with query).
    """

    gitlab: bool = False
    comments: list[dict[str, Any]] = field(default_factory=list)
    before: Callable[[str, str], Fault | None] = lambda *_: None
    after: Callable[[str, str], Fault | None] = lambda *_: None
    user: str | None = None
    pulls: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    slow: Callable[[], float] = lambda: 0.0
    root: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    last: int = 1000

    def add(self, body: str, login: str, *, bot: bool = False) -> dict[str, Any]:
        """Adds a comment."""
        self.last += 1
        author = {"login": login, "id": login, "type": "Bot" if bot else "User"}
        made = {
            "id": self.last,
            "body": body,
            "user": author,
            "author": author,
            "html_url": f"https://host.invalid/12#{self.last}",
        }
        self.comments.append(made)
        return made

    def ours(self) -> list[str]:
        """The texts of those that begin with a mark and were written by the token's owner."""
        me = self.user or "github-actions[bot]"
        return [
            c["body"]
            for c in self.comments
            if c["body"].startswith("<!-- evenhand:") and c["user"]["login"] == me
        ]

    def answer(
        self, method: str, url: str, body: dict[str, Any]
    ) -> tuple[int, dict[str, str], Any]:
        """What a request comes to."""
        path, query = urlsplit(url).path, parse_qs(urlsplit(url).query)
        if path == "/user":
            return (200, {}, {"login": self.user, "id": self.user}) if self.user else READ_ONLY
        if path == "/repos/o/r/pulls":
            return 200, {}, self.pulls
        all_ = (
            "/projects/7/merge_requests/12/notes"
            if self.gitlab
            else "/repos/o/r/issues/12/comments"
        )
        one = all_ if self.gitlab else "/repos/o/r/issues/comments"
        if path == all_ and method == "POST":
            me = self.user or "github-actions[bot]"
            return 201, {}, self.add(body["body"], me, bot=self.user is None)
        if path == all_:
            page, size = int(query.get("page", ["1"])[0]), min(100, int(query["per_page"][0]))
            rows = [dict(c) for c in self.comments[(page - 1) * size : page * size]]
            more = len(self.comments) > page * size
            if self.gitlab:
                return 200, {"X-Next-Page": str(page + 1) if more else ""}, rows
            return (
                200,
                {"Link": f'<{self.root}{all_}?page={page + 1}>; rel="next"'} if more else {},
                rows,
            )
        found = re.fullmatch(re.escape(one) + r"/(\d+)", path)
        mine = [c for c in self.comments if found and c["id"] == int(found[1])]
        if not mine:
            return 404, {}, {"message": "Not Found"}
        if method == "DELETE":
            self.comments.remove(mine[0])
            return 204, {}, None
        if method == ("PUT" if self.gitlab else "PATCH"):
            mine[0]["body"] = body["body"]
        elif method != "GET":
            return 405, {}, {"message": "no"}
        return 200, {}, dict(mine[0])


@contextmanager
def serving(host: FakeHost) -> Iterator[FakeHost]:
    """Inside, it listens at `host.root`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            time.sleep(host.slow())
            path = urlsplit(self.path).path
            sent = (
                self.headers.get("PRIVATE-TOKEN") if host.gitlab else self.headers["Authorization"]
            )
            with host.lock:
                host.asked.append((self.command, self.path))
                refused = host.before(self.command, path)
                if not self.headers.get("User-Agent"):
                    made: tuple[int, dict[str, str], Any] = (403, {}, {"message": "no user agent"})
                elif sent not in ("token", "Bearer token"):
                    made = (401, {}, {"message": "Bad credentials"})
                elif refused:
                    made = refused
                else:
                    made = host.answer(self.command, self.path, body)
                    made = host.after(self.command, path) or made
            status, headers, value = made
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _do  # noqa: N815 (names of the library's)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.root = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def stormy(
    seed: int, share: float
) -> tuple[Callable[..., Fault | None], Callable[..., Fault | None]]:
    """Faults at random: so many requests are refused before, and a third as many lose their answer."""
    draw = random.Random(seed)

    def before(*_: str) -> Fault | None:
        faults = [LIMITED, SECONDARY, BROKEN, exhausted()]
        return draw.choice(faults) if draw.random() < share else None

    def after(*_: str) -> Fault | None:
        return BROKEN if draw.random() < share / 3 else None

    return before, after
