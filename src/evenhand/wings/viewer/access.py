"""Who may ask the server: a check before everything, which lets nothing through that it does not know.

What it is against: other pages in the same browser (a wrong Origin, or a name that somebody has made lead to this
machine: a wrong Host), and other users and programs of this machine (no token). It is the outermost middleware, so a
route that is added later, or does not exist, stands behind it like all others.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from aiohttp import web

from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.wings.viewer.roles import SOMEBODY_HERE, Person

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "evenhand",
}
ASK = "Open the link that `evenhand view` printed."
NOT_ENTERED = "this browser has not opened the link that `evenhand view` printed"
ENTER = (
    "Addresses of this page work only in a browser that has, and while `evenhand view` runs. Open its link, then this "
    "address again. To show a run to somebody else: `evenhand export RUN --to report.html`."
)


class Refused(Exception):
    """A request that is not answered. `status` 401: without the token; 403: by another page; 421: for another host.

    `page` is what a person gets to see of it in place of the message, as HTML.
    """

    def __init__(self, status: int, message: str, hint: str = ASK, page: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.page = page


class Access(Protocol):
    """Lets requests through, and says who sent them."""

    @property
    def link(self) -> str:
        """The address to open."""
        ...

    @property
    def address(self) -> str:
        """Where the page is served, without a path."""
        ...

    async def ready(self) -> None:
        """Fetches what is needed before anybody can be let in.

        Raises:
            UsageError: It can't be had.
        """
        ...

    def check(self, request: web.Request) -> Person:
        """Who sent a request.

        Raises:
            Refused: It isn't to be answered.
        """
        ...

    def front(self, request: web.Request) -> web.StreamResponse | None:
        """What is answered to whoever opens the page; None for the page as it is for everybody."""
        ...

    def routes(self) -> Iterable[web.RouteDef]:
        """Routes of its own, such as those of a sign-in."""
        ...


def check_host(request: web.Request, hosts: Collection[str]) -> str:
    """The host that a request names, in small letters.

    Raises:
        Refused: It is another one.
    """
    host = request.headers.getall("Host", [])
    # DNS rebinding: a page's own name may lead to this machine, and its requests bear that name.
    if len(host) != 1 or host[0].lower() not in hosts:
        raise Refused(421, "this is not the host that you asked for")
    return host[0].lower()


def check_page(request: web.Request, origin: str, *, entering: bool) -> None:
    """That no other page asks.

    Args:
        entering: Whether a link from elsewhere may lead here.

    Raises:
        Refused: Another page asks.
    """
    origins = request.headers.getall("Origin", [])
    writing = request.method not in ("GET", "HEAD")
    if any(each.lower() != origin for each in origins) or len(origins) > 1:
        raise Refused(403, "another page asks", "")
    site = request.headers.get("Sec-Fetch-Site", "none")
    followed = entering and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in ("same-origin", "none") and not followed:
        raise Refused(403, "another page asks", "")
    # Another page can't send these without asking first, and it is never told that it may.
    if writing and (
        not origins
        or request.headers.get("X-Evenhand") != "1"
        or request.content_type != "application/json"
    ):
        raise Refused(403, "only the page itself may write", "")


def loopback(host: str) -> str:
    """The host, where nobody but this machine can reach it.

    Raises:
        UsageError: It is any other address.
    """
    if host == "localhost":
        return host
    try:
        if ipaddress.ip_address(host.strip("[]")).is_loopback:
            return host.strip("[]")
    except ValueError:
        pass
    raise UsageError(
        f"--host {host!r} is not a loopback address",
        hint="The viewer shows prompts and answers to anyone who can reach it: 127.0.0.1, ::1 or localhost. "
        "For runs on another machine: ssh -L 15500:127.0.0.1:15500 THERE, or `evenhand export --to report.html`.",
    )


class LinkAccess:
    """Lets the requests through that carry the token and come from our own page.

    Args:
        host: The address that is listened on.
        token: What lets in; a new one by default.
    """

    def __init__(self, host: str, port: int, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(32)
        # Browsers send cookies to all ports of a host: each viewer needs a name of its own.
        self.cookie = f"evenhand-{port}"
        address = f"[{host}]" if ":" in host else host
        self.address = f"http://{address}:{port}"
        names = {address, "127.0.0.1", "localhost", "[::1]"}
        self._hosts = {f"{name}:{port}" for name in names} | (names if port == 80 else set())

    @property
    def link(self) -> str:
        """The link that lets in."""
        return f"{self.address}/?token={self.token}"

    async def ready(self) -> None:
        """Nothing is needed."""

    def check(self, request: web.Request) -> Person:
        """Who asks: anyone with the token.

        Raises:
            Refused: It is for another host, from another page, or without the token.
        """
        host = check_host(request, self._hosts)
        entering = request.method == "GET" and request.path == "/" and "token" in request.query
        # Following the link from elsewhere is entering, and takes the token.
        check_page(request, f"http://{host}", entering=entering)
        if not (self._is_token(request.query["token"]) if entering else self._has_token(request)):
            raise Refused(401, NOT_ENTERED, ENTER)
        return SOMEBODY_HERE

    def front(self, request: web.Request) -> web.Response | None:
        """For whoever came by the link: a cookie, and the page without the token in its address."""
        return self.enter() if "token" in request.query else None

    def routes(self) -> Iterable[web.RouteDef]:
        """None."""
        return ()

    def _has_token(self, request: web.Request) -> bool:
        kind, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._is_token(credentials.strip())
        return self._is_token(request.cookies.get(self.cookie, ""))

    def _is_token(self, candidate: str) -> bool:
        return hmac.compare_digest(candidate.encode("utf-8", "replace"), self.token.encode())

    def enter(self) -> web.Response:
        """The answer to whoever came by the link: a cookie, and the page without the token in its address."""
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="Strict", path="/")
        return answer


UNREAD = "the request cannot be read"
UNREAD_HINT = "Its address or one of its headers is too long, or it is not HTTP."


def error_answer(status: int, slug: str, message: str, hint: str) -> web.Response:
    """An error in the one form that the page reads."""
    error = {"error": {"slug": slug, "message": message, "hint": hint}}
    return web.Response(
        status=status,
        body=encode(error, ordered=False),
        headers={"Content-Type": "application/json"},
    )


class PageRunner(web.AppRunner):
    """Runs the application. What is not even a request gets an error like all others, and nothing of it is repeated.

    Args:
        shutdown_s: Seconds that requests under way have when it ends.
    """

    def __init__(self, app: web.Application, *, shutdown_s: float) -> None:
        super().__init__(app, handle_signals=False, shutdown_timeout=shutdown_s)

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        return _Server(server.request_handler, request_factory=server.request_factory)


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, loop=asyncio.get_running_loop())


class _Protocol(web.RequestHandler):
    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status < 500 and not request.writer.output_size:
            # aiohttp's own answer quotes the request, and logs a traceback
            answer: web.StreamResponse = error_answer(status, "usage", UNREAD, UNREAD_HINT)
        else:
            answer = super().handle_error(request, status, exc, message)
        answer.headers.update(HEADERS)
        answer.force_close()
        return answer
