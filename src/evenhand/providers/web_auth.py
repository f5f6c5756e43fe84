"""Who asks a web service: a token, a name and a password, a key, or a token that is fetched with an OAuth grant."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from evenhand.core.encoding import decode
from evenhand.core.errors import AuthError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.secrets import known
from evenhand.providers import http
from evenhand.providers.faults import fault
from evenhand.providers.wanted import Fill, Wanted

KINDS = ("bearer", "basic", "api_key", "oauth")
EARLY_S = 60.0
"""A token is fetched again this long before it ends."""


@dataclass(slots=True)
class Credentials:
    """What `auth` of a config says. Nothing of it is in a request's identity, in the journal or in a message.

    Attributes:
        auth: The setting; empty for none.
        fill: Fills its templates in.
    """

    auth: Mapping[str, Any] = field(repr=False)
    fill: Fill = field(repr=False)
    _token: str = field(init=False, repr=False, default="")
    _ends_at: float = field(init=False, repr=False, default=0.0)
    _fetching: asyncio.Task[None] | None = field(init=False, repr=False, default=None)

    async def token(self, variables: Mapping[str, Any]) -> str:
        """The token of an OAuth grant, fetched anew when it is about to end; empty for other kinds.

        Raises:
            ProviderError: It cannot be had.
        """
        if self.auth.get("type") != "oauth":
            return ""
        if time.monotonic() + EARLY_S >= self._ends_at:
            if self._fetching is None or self._fetching.done():  # all who wait share one request
                self._fetching = asyncio.ensure_future(self._fetch(variables))
            await asyncio.shield(self._fetching)
        return self._token

    def headers(self, token: str, variables: Mapping[str, Any]) -> dict[str, str]:
        """The headers that say who asks."""
        kind = self.auth.get("type")
        if kind == "oauth":
            return {"authorization": f"Bearer {token}"}
        if kind == "bearer":
            return {"authorization": f"Bearer {self._setting('token', variables)}"}
        if kind == "basic":
            pair = f"{self._setting('username', variables)}:{self._setting('password', variables)}"
            return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        if kind == "api_key" and self.auth.get("placement", "header") == "header":
            return {self._setting("keyName", variables).lower(): self._setting("value", variables)}
        return {}

    def query(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """The part of the address that says who asks."""
        if self.auth.get("type") == "api_key" and self.auth.get("placement") == "query":
            return {self._setting("keyName", variables): self._setting("value", variables)}
        return {}

    async def _fetch(self, variables: Mapping[str, Any]) -> None:
        form = {"grant_type": str(self.auth.get("grantType") or "client_credentials")}
        for ours, theirs in _FIELDS.items():
            if self.auth.get(ours):
                form[theirs] = self._setting(ours, variables)
        scopes = self.auth.get("scopes")
        if scopes:
            form["scope"] = " ".join(self.fill(str(scope), variables) for scope in scopes)
        url = self._setting("tokenUrl", variables)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await http.transport().post(url, kind, urlencode(form).encode())
        host = url.partition("//")[2].partition("/")[0]
        if answer.status != 200:
            raise fault(answer, host=host, key_hint="Look at auth in the provider's config.")
        try:
            grant = as_mapping(decode(answer.body))
        except ValueError:
            grant = {}
        token, lasts = grant.get("access_token"), grant.get("expires_in")
        if not isinstance(token, str) or not token:
            raise AuthError(f"{host} gave no access_token", hint="Look at auth.tokenUrl.")
        known.learn([token])
        self._token = token
        self._ends_at = time.monotonic() + (lasts if isinstance(lasts, (int, float)) else 3600)

    def _setting(self, name: str, variables: Mapping[str, Any]) -> str:
        return self.fill(str(self.auth.get(name) or ""), variables)


_FIELDS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "username": "username",
    "password": "password",
}


def credentials(wanted: Wanted) -> Credentials:
    """What the config's `auth` says.

    Raises:
        UsageError: It is of a kind that is not known here.
    """
    auth = as_mapping(wanted.config.get("auth"))
    if auth and auth.get("type") not in KINDS:
        raise wanted.refused(
            f"wants auth of type {auth.get('type')!r}", f"Known are: {', '.join(KINDS)}."
        )
    for name in ("signatureAuth", "tls", "session", "multipart"):
        if wanted.config.get(name):
            raise wanted.refused(
                f"has '{name}', which is not supported",
                "Put a Python function in its place: python:provider.py:call_api.",
            )
    return Credentials(auth, wanted.fill)
