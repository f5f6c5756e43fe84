"""Who may ask the viewer of a team: nothing of a run is answered to anybody who hasn't signed in, or has no role.

Where a proxy signs people in, the header that says who somebody is counts only from that very proxy.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping

from aiohttp import web

from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.wings.viewer.access import Refused, check_host, check_page
from evenhand.wings.viewer.oidc_sign_in import BACK, THERE, OidcSignIn
from evenhand.wings.viewer.page import index, static
from evenhand.wings.viewer.roles import (
    NOBODY,
    PLACE,
    ROLES,
    Identity,
    Person,
    Role,
    Roles,
    SignIn,
    identity,
    needs,
    page_of,
    person_of,
)
from evenhand.wings.viewer.team_settings import (
    CLIENT_SECRET,
    PROXY_SECRET,
    SECRET_HEADER,
    ProxySettings,
    PublicUrl,
    ViewerSettings,
    check_settings,
    public_url,
)

NOT_SIGNED_IN = "you are not signed in, or your session has ended"
PLACE_PATH = "/place.js"
STYLE_PATH = "/sign-in.css"
AGAIN = "Reload the page to sign in: it opens at the same place."


class TeamAccess:
    """Lets in who is signed in and has a role. Implements `Access`.

    Args:
        public: What browsers see.
        roles: Who has which role.
        sign_in: How people sign in.
    """

    def __init__(self, public: PublicUrl, roles: Roles, sign_in: SignIn) -> None:
        self.address = public.origin
        self.link = f"{public.origin}/"
        self._hosts = {public.host, f"{public.host}:{443 if public.secure else 80}"}
        self._roles = roles
        self._sign_in = sign_in
        self._most: Role = "run"
        own = [PLACE_PATH, STYLE_PATH, *(route.path for route in sign_in.routes())]
        self._open = frozenset(own)
        """What is answered to anybody: nothing in it is of a run."""

    def only_read(self) -> None:
        """Lets nobody write: the runs are copies, and what was written to them would get nowhere."""
        self._most = "read"

    @property
    def anyone_runs(self) -> bool:
        """Whether anybody may ask models again."""
        return bool(self._roles.run)

    async def ready(self) -> None:
        """Gets what signing in needs.

        Raises:
            UsageError: It can't be had.
        """
        await self._sign_in.ready()

    def check(self, request: web.Request) -> Person:
        """Who asks.

        Raises:
            Refused: It is for another host, from another page, or from somebody who isn't let in.
        """
        check_host(request, self._hosts)
        # A link that somebody was sent leads to the front page, and the provider leads back.
        entering = request.method == "GET" and request.path in ("/", BACK)
        check_page(request, self.address, entering=entering)
        identity = self._sign_in.who(request)
        if request.path in self._open:
            return NOBODY if identity is None else self._person(identity)
        if identity is None:
            # The page itself is no error: it is where people sign in.
            status = 200 if request.path == "/" and request.method == "GET" else 401
            raise Refused(status, NOT_SIGNED_IN, AGAIN, self._sign_in.page)
        person = self._person(identity)
        if not person.role:
            text = f"{person.name} may not see runs here. Ask those who run this viewer for a role."
            signs_in_here = THERE in self._open
            other = (f"{THERE}?other=1", "Use another account") if signs_in_here else ("", "")
            raise Refused(403, text, "", page_of("No role", text, *other))
        return person

    def _person(self, identity: Identity) -> Person:
        role = self._roles.of(identity.name, identity.groups)
        greater = ROLES.index(role) > ROLES.index(self._most)
        return Person(identity.name, self._most if greater else role)

    def front(self, request: web.Request) -> web.Response:
        """The page, which is told who opened it."""
        person = person_of(request)
        attributes = {"person": person.name, "role": person.role}
        if self._sign_in.signs_out:
            attributes["out"] = "1"
        return web.Response(text=index(attributes, PLACE_PATH), content_type="text/html")

    def routes(self) -> Iterable[web.RouteDef]:
        """Where people sign in and out, and what their pages need."""
        return (*self._sign_in.routes(), web.get(PLACE_PATH, _place), web.get(STYLE_PATH, _style))


@needs("")
async def _place(request: web.Request) -> web.Response:
    del request
    return web.Response(text=PLACE, content_type="text/javascript")


@needs("")
async def _style(request: web.Request) -> web.Response:
    del request
    return web.Response(body=static("app.css"), content_type="text/css", charset="utf-8")


def team_access(
    settings: ViewerSettings, address: str | None, environ: Mapping[str, str]
) -> TeamAccess:
    """Who may ask, as a project's settings have it.

    Args:
        address: What browsers see.
        environ: The environment, which has the secrets.

    Raises:
        UsageError: They don't say who signs people in, or not safely.
    """
    check_settings(settings, environ)
    if address is None:
        raise UsageError(
            "--serve needs --public-url, the address that browsers see",
            hint="Such as --public-url https://evals.example.com.",
        )
    public = public_url(address)
    if settings.oidc is not None:
        sign_in = OidcSignIn(settings.oidc, public, environ.get(CLIENT_SECRET, ""))
        return TeamAccess(public, settings.roles, sign_in)
    assert settings.proxy is not None  # noqa: S101 (checked above)
    sign_in = ProxySignIn(settings.proxy, environ.get(PROXY_SECRET, ""))
    return TeamAccess(public, settings.roles, sign_in)


SIGN_OUT = "/api/sign-out"


class ProxySignIn:
    """Believes a proxy. Implements `SignIn`.

    Args:
        settings: Which header, and from where.
        secret: What the proxy sends with it; empty where its address is enough.
    """

    page = page_of(
        "You are not signed in", "The proxy before this viewer did not say who you are.", "", ""
    )

    def __init__(self, settings: ProxySettings, secret: str) -> None:
        self._settings = settings
        self._secret = secret.encode()
        self._from = [ipaddress.ip_network(address) for address in settings.from_]
        self.signs_out = bool(settings.sign_out)

    async def ready(self) -> None:
        """Nothing is needed."""

    def who(self, request: web.Request) -> Identity | None:
        """The person that the proxy names.

        Raises:
            Refused: Somebody else than the proxy names one, or it is no name.
        """
        settings = self._settings
        names = request.headers.getall(settings.header, [])
        groups = request.headers.getall(settings.groups, []) if settings.groups else []
        if not names and not groups:
            return None
        if not self._is_proxy(request):
            raise Refused(403, f"{settings.header} counts only from the proxy", "")
        if len(names) != 1 or len(groups) > 1:
            raise Refused(403, "the proxy has to name one person, once", "")
        listed = [group.strip() for group in groups[0].split(",")] if groups else []
        person = identity(_text(names[0]), [_text(group) for group in listed if group])
        if person is None:
            raise Refused(403, f"what the proxy sends as {settings.header} is not a name", "")
        return person

    def _is_proxy(self, request: web.Request) -> bool:
        """By its address, and by its secret: by both where both are set."""
        if self._from and not self._is_near(request):
            return False
        sent = request.headers.getall(SECRET_HEADER, [])
        return not self._secret or (
            len(sent) == 1 and hmac.compare_digest(sent[0].encode("utf-8", "replace"), self._secret)
        )

    def _is_near(self, request: web.Request) -> bool:
        # Of the connection, and never of a header: anyone can send X-Forwarded-For.
        peer = request.transport.get_extra_info("peername") if request.transport else None
        try:
            address = ipaddress.ip_address(str(peer[0]).partition("%")[0]) if peer else None
        except (ValueError, IndexError):
            return False
        if address is None:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._from)

    @needs("")
    async def _sign_out(self, request: web.Request) -> web.Response:
        del request
        return web.Response(
            body=encode({"to": self._settings.sign_out or "/"}), content_type="application/json"
        )

    def routes(self) -> Iterable[web.RouteDef]:
        """Where to sign out."""
        return (web.post(SIGN_OUT, self._sign_out),)


def _text(value: str) -> str:
    """What a proxy wrote in UTF-8: aiohttp reads other bytes as lone surrogates."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
