"""Signing in at an OpenID Connect provider: there, back with a code, and then a session in a cookie.

Sessions live in this process alone, and end with it.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from aiohttp import web

from evenhand.cli.streams import tell
from evenhand.core.encoding import encode
from evenhand.core.record import Record
from evenhand.wings.viewer.access import Refused
from evenhand.wings.viewer.oidc import OidcProvider, SignInFailed
from evenhand.wings.viewer.roles import Identity, identity, needs, page_of
from evenhand.wings.viewer.team_settings import OidcSettings, PublicUrl

THERE = "/sign-in"
BACK = "/sign-in/back"
SIGN_OUT = "/api/sign-out"
AT_ONCE = 8
"""Codes that are exchanged at a time: nobody can have us flood the provider."""
LONGEST_ADDRESS = 64
NAME_LENGTH = 43
"""Characters of 32 random bytes."""
LATE = "The sign-in took too long, or was begun in another browser."


class _Begun(Record, frozen=True):
    """A sign-in under way: whose browser it is, and what the token has to fit."""

    browser: str
    nonce: str
    verifier: str


class OidcSignIn:
    """Signs people in. Implements `SignIn`.

    Args:
        public: What browsers see.
        secret: The client's secret; empty for a client without one.
    """

    page = page_of("Evenhand", "Sign in to see the runs of your team.", THERE, "Sign in")
    signs_out = True

    def __init__(self, settings: OidcSettings, public: PublicUrl, secret: str) -> None:
        self._issuer = settings.issuer
        self._provider = OidcProvider(settings, public.origin + BACK, secret)
        self._sessions = Expiring[Identity](SESSION_S)
        self._begun = Expiring[_Begun](SIGN_IN_S)
        self._failures = Failures()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._secure = public.secure
        # A browser takes a cookie of such a name only from this very host, and over https. For http, which is for one
        # machine, the port is in the name: browsers send cookies to all ports of a host.
        port = public.host.rpartition(":")[2].strip("]")
        prefix = "__Host-evenhand" if public.secure else f"evenhand-{port}"
        self._session_cookie, self._browser_cookie = f"{prefix}-session", f"{prefix}-sign-in"

    async def ready(self) -> None:
        """Reads what the provider says of itself.

        Raises:
            UsageError: It can't be read.
        """
        await self._provider.discover()

    def who(self, request: web.Request) -> Identity | None:
        """The person whose session the cookie names."""
        return self._sessions.get(request.cookies.get(self._session_cookie, ""))

    def routes(self) -> Iterable[web.RouteDef]:
        """There, back, and out."""
        return (
            web.get(THERE, self._there, allow_head=False),
            web.get(BACK, self._back, allow_head=False),
            web.post(SIGN_OUT, self._out),
        )

    @needs("")
    async def _there(self, request: web.Request) -> web.Response:
        """Sends somebody to the provider."""
        browser = request.cookies.get(self._browser_cookie, "")
        if len(browser) != NAME_LENGTH:  # none, or what somebody made up to fill the memory
            browser = secrets.token_urlsafe(32)
        begun = _Begun(browser, secrets.token_urlsafe(32), secrets.token_urlsafe(48))
        state = self._begun.keep(begun)
        anew = "other" in request.query
        there = self._provider.start(state, begun.nonce, begun.verifier, anew=anew)
        answer = web.Response(status=303, headers={"Location": there})
        self._set(answer, self._browser_cookie, browser, SIGN_IN_S)
        return answer

    @needs("")
    async def _back(self, request: web.Request) -> web.Response:
        """Signs in somebody who comes back."""
        # The last one is what the proxy wrote; where there is none, anyone can write it, and only fools this count.
        forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        address = f"{request.remote} {forwarded[:LONGEST_ADDRESS]}"
        if self._failures.too_many(address):
            text = "Too many sign-ins failed from here. Try again in five minutes."
            raise Refused(429, text, page=page_of("Not now", text, "", ""))
        try:
            person = await self._person(request)
        except SignInFailed as failed:
            self._failures.add(address)
            tell(f"a sign-in failed: {failed.reason}")
            page = page_of("You are not signed in", failed.message, "/", "Try again")
            raise Refused(403, failed.message, page=page) from None
        self._sessions.take(request.cookies.get(self._session_cookie, ""))
        answer = web.Response(status=303, headers={"Location": "/"})
        self._set(answer, self._session_cookie, self._sessions.keep(person), SESSION_S)
        return answer  # the browser keeps its name: another tab may be on its way back

    async def _person(self, request: web.Request) -> Identity:
        query = request.query
        begun = self._begun.take(query.get("state", ""))
        browser = request.cookies.get(self._browser_cookie, "")
        if begun is None or not hmac.compare_digest(
            begun.browser.encode("utf-8", "replace"), browser.encode("utf-8", "replace")
        ):
            raise SignInFailed("nobody began it in this browser, or it took too long", LATE)
        if query.get("iss", self._issuer) != self._issuer:
            raise SignInFailed("another provider answered")
        if "code" not in query:
            raise SignInFailed(f"the provider answered {query.get('error', 'nothing')!r:.100}")
        async with self._turns:
            name, groups = await self._provider.person(query["code"], begun.verifier, begun.nonce)
        person = identity(name, groups)
        if person is None:
            raise SignInFailed(f"the claim is not a name: {name!r:.100}")
        return person

    @needs("")
    async def _out(self, request: web.Request) -> web.Response:
        """Ends the session."""
        self._sessions.take(request.cookies.get(self._session_cookie, ""))
        answer = web.Response(body=encode({"to": "/"}), content_type="application/json")
        self._set(answer, self._session_cookie, "", 0)
        return answer

    def _set(self, answer: web.Response, name: str, value: str, seconds: float) -> None:
        # Lax, so that the way back from the provider has it: a request that another page makes has it not.
        answer.set_cookie(
            name,
            value,
            max_age=int(seconds),
            httponly=True,
            secure=self._secure,
            samesite="Lax",
            path="/",
        )


SESSION_S = 12 * 3600.0
SIGN_IN_S = 600.0
MOST = 10_000
"""Sessions, and sign-ins under way: the oldest makes room, so that nobody can fill the memory."""
FAILURES = 20
FAILURES_S = 300.0
T = TypeVar("T")


class Expiring(Generic[T]):
    """Values under names that nobody can guess, for a while.

    Args:
        seconds: How long each is kept.
        clock: The time in seconds; for tests.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._values: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, value: T) -> str:
        """Keeps a value; its name."""
        now = self._clock()
        while self._values and (len(self._values) >= MOST or self._first_until() <= now):
            self._values.popitem(last=False)
        name = secrets.token_urlsafe(32)
        self._values[name] = (now + self._seconds, value)
        return name

    def get(self, name: str) -> T | None:
        """The value of this name; None where there is none any more."""
        until, value = self._values.get(name, (0.0, None))
        return value if self._clock() < until else None

    def take(self, name: str) -> T | None:
        """The value of this name, which is none afterwards."""
        value = self.get(name)
        self._values.pop(name, None)
        return value

    def _first_until(self) -> float:
        return next(iter(self._values.values()))[0]


class Failures:
    """Counts failed sign-ins, each address for itself.

    Args:
        clock: The time in seconds; for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def too_many(self, address: str) -> bool:
        """Whether so many failed from here that no other is tried for now."""
        since, count = self._counts.get(address, (0.0, 0))
        return count >= FAILURES and self._clock() < since + FAILURES_S

    def add(self, address: str) -> None:
        """Counts one."""
        now = self._clock()
        since, count = self._counts.pop(address, (now, 0))
        if now >= since + FAILURES_S:
            since, count = now, 0
        self._counts[address] = (since, count + 1)
        if len(self._counts) > MOST:
            self._counts.popitem(last=False)
