"""A bucket of S3 over real HTTP: puts, gets, lists, and refuses with `If-None-Match: *` what already exists."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class Bucket:
    """What is in it, and what was asked of it.

    Attributes:
        objects: By name.
        put: The names of all that was put, in their order; of refused ones, too.
        stuck_at: The next object with this in its name is put, and never answered; empty for none.
        stuck: Set once that is so.
        refusal: What every request is refused with: a code of S3's; empty for none.
    """

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    put: list[str] = field(default_factory=list[str])
    stuck_at: str = ""
    stuck: threading.Event = field(default_factory=threading.Event)
    refusal: str = ""

    def env(self) -> dict[str, str]:
        """The environment that leads here."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "scripted",
            "AWS_SECRET_ACCESS_KEY": "scripted-secret-key",
        }


@contextmanager
def bucket() -> Iterator[Bucket]:
    """A bucket that listens until the end; whatever the bucket is called in the address."""
    held, over = Bucket(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def _name(self) -> str:
            return unquote(urlsplit(self.path).path).strip("/").partition("/")[2]

        def _answer(self, status: int, body: bytes = b"", etag: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{etag or "none"}"')
            self.send_header("Last-Modified", "Mon, 23 Nov 2026 22:00:00 GMT")
            self.end_headers()
            self.wfile.write(body)

        def _refused(self) -> bool:
            if held.refusal:
                text = f"<Error><Code>{held.refusal}</Code><Message>It says {held.refusal}</Message></Error>"
                self._answer(404 if held.refusal.startswith("NoSuch") else 403, text.encode())
            return bool(held.refusal)

        def do_PUT(self) -> None:
            name, data = self._name(), self.rfile.read(int(self.headers["Content-Length"]))
            if self._refused():
                return
            held.put.append(name)
            if self.headers.get("If-None-Match") == "*" and name in held.objects:
                self._answer(412)
                return
            held.objects[name] = data
            if held.stuck_at and held.stuck_at in name:
                held.stuck_at = ""
                held.stuck.set()
                over.wait()
                return
            self._answer(200, etag=hashlib.md5(data).hexdigest())

        def do_GET(self) -> None:
            name, query = self._name(), parse_qs(urlsplit(self.path).query)
            if self._refused():
                return
            if "list-type" in query:
                prefix = query.get("prefix", [""])[0]
                rows = "".join(
                    f"<Contents><Key>{escape(n)}</Key><Size>{len(held.objects[n])}</Size>"
                    "<LastModified>2026-11-23T22:00:00Z</LastModified><ETag>e</ETag></Contents>"
                    for n in sorted(held.objects)
                    if n.startswith(prefix)
                )
                text = (
                    f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
                )
                self._answer(200, text.encode())
            elif name in held.objects:
                self._answer(200, held.objects[name], hashlib.md5(held.objects[name]).hexdigest())
            else:
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    held.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield held
    finally:
        over.set()
        server.shutdown()
        server.server_close()
