"""Signing in at a proxy, which says in a header who somebody is. The header counts only from that very proxy."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable

from aiohttp import web

from evenhand.core.encoding import encode
from evenhand.wings.viewer.access import Refused
from evenhand.wings.viewer.identity import Identity, identity
from evenhand.wings.viewer.roles import needs
from evenhand.wings.viewer.sign_in_pages import page_of
from evenhand.wings.viewer.team_settings import SECRET_HEADER, ProxySettings

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
