"""What a project says of a viewer for a team: the table `[tool.evenhand.viewer]` of its pyproject.toml.

    [tool.evenhand.viewer]
    roles = { read = ["*@example.com"], label = ["group:evals"] }
    oidc = { issuer = "https://login.example.com", client-id = "evenhand" }

Secrets are not among it: they come from the environment.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.providers.addresses import is_this_machine
from evenhand.wings.viewer.roles import Roles

TABLE = "[tool.evenhand.viewer]"
CLIENT_SECRET = "EVENHAND_OIDC_SECRET"  # noqa: S105 (the variable's name)
PROXY_SECRET = "EVENHAND_PROXY_SECRET"  # noqa: S105 (the variable's name)
SECRET_HEADER = "X-Evenhand-Proxy-Secret"  # noqa: S105 (the header's name)
SHORTEST_SECRET = 20
GUIDE = "docs/team-viewer.md has an example."
_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_TAKEN = ("authorization", "content-type", "cookie", "host", "origin", "x-evenhand")


class OidcSettings(Record, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """Who signs people in: an OpenID Connect provider.

    Attributes:
        issuer: Its address, as its ID tokens have it.
        client_id: What it knows this viewer as.
        name: The claim that is a person's name.
        groups: The claim that lists a person's groups.
        scopes: What is asked for beside `openid`.
    """

    issuer: str
    client_id: str
    name: str = "email"
    groups: str = "groups"
    scopes: tuple[str, ...] = ("email",)


class ProxySettings(
    Record,
    frozen=True,
    rename={"from_": "from", "sign_out": "sign-out"},
    forbid_unknown_fields=True,
):
    """A proxy that signs people in, and says in a header who they are.

    Attributes:
        header: The header with a person's name.
        groups: The header with a person's groups, separated by commas; empty for none.
        from_: The proxy's addresses or networks; empty where a secret alone tells it.
        sign_out: The address that ends a person's session at the proxy; empty for none.
    """

    header: str
    groups: str = ""
    from_: tuple[str, ...] = ()
    sign_out: str = ""


class ViewerSettings(Record, frozen=True, forbid_unknown_fields=True):
    """The table `[tool.evenhand.viewer]`: a viewer for a team."""

    roles: Roles = field(default_factory=Roles)
    oidc: OidcSettings | None = None
    proxy: ProxySettings | None = None


def check_settings(settings: ViewerSettings, environ: Mapping[str, str]) -> None:
    """Refuses what could not be served safely.

    Raises:
        UsageError: All that is wrong.
    """
    problems: list[str] = []
    if settings.oidc is None and settings.proxy is None:
        raise UsageError(
            f"--serve needs a sign-in, and {TABLE} has neither oidc nor proxy",
            hint=f"Without one, anyone who reaches this machine could read all prompts and answers. {GUIDE}",
        )
    if settings.oidc is not None and settings.proxy is not None:
        problems.append("oidc and proxy: only one of them can sign people in")
    if settings.oidc is not None:
        problems += _oidc_problems(settings.oidc)
    if settings.proxy is not None:
        problems += _proxy_problems(settings.proxy, environ.get(PROXY_SECRET, ""))
    problems += settings.roles.problems()
    if problems:
        raise UsageError(f"{TABLE}: {'; '.join(problems)}", hint=GUIDE)


def _oidc_problems(oidc: OidcSettings) -> list[str]:
    problems: list[str] = []
    if not is_secure(oidc.issuer):
        problems.append(f"oidc.issuer: {oidc.issuer!r} is not an https:// address")
    if not oidc.client_id:
        problems.append("oidc.client-id: it is empty")
    if not oidc.name:
        problems.append("oidc.name: it is empty")
    return problems


def _proxy_problems(proxy: ProxySettings, secret: str) -> list[str]:
    problems = [
        f"proxy.{key}: {name!r} cannot be the header"
        for key, name in (("header", proxy.header), ("groups", proxy.groups))
        if (name or key == "header")
        and (not _HEADER.fullmatch(name) or name.lower() in (*_TAKEN, SECRET_HEADER.lower()))
    ]
    for address in proxy.from_:
        try:
            ipaddress.ip_network(address)
        except ValueError:
            problems.append(f"proxy.from: {address!r} is not an IP address or a network")
    if not proxy.from_ and not secret:
        problems.append(
            f"proxy: name the proxy's addresses as from, or set {PROXY_SECRET}, which it has to send as {SECRET_HEADER}"
        )
    if secret and len(secret) < SHORTEST_SECRET:
        problems.append(f"{PROXY_SECRET} has less than {SHORTEST_SECRET} characters")
    there = proxy.sign_out
    if there and not (
        is_secure(there) or (there.startswith("/") and there[1:2] not in ("/", "\\"))
    ):
        problems.append(f"proxy.sign-out: {there!r} is neither a path nor an https:// address")
    return problems


def is_secure(address: str) -> bool:
    """Whether an address is one of https, or leads to this machine, and has no password in it."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    del port
    if not host or "@" in parts.netloc or not all("!" <= sign <= "~" for sign in address):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))


class PublicUrl(Record, frozen=True):
    """What browsers see: `https://evals.example.com`.

    Attributes:
        origin: Scheme, host and port, as browsers send it.
        host: The host and port, as browsers send it.
    """

    origin: str
    host: str

    @property
    def secure(self) -> bool:
        """Whether browsers speak https to it."""
        return self.origin.startswith("https:")


def public_url(address: str) -> PublicUrl:
    """The address that browsers use.

    Raises:
        UsageError: It is not https, or has more than a host and a port.
    """
    parts = urlsplit(address) if is_secure(address) else None
    if parts is None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageError(
            f"--public-url {address!r} is not an https:// address without a path",
            hint="Write what browsers see, such as https://evals.example.com. http:// is for this machine only.",
        )
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    usual = {"https": 443, "http": 80}[parts.scheme]
    if parts.port not in (None, usual):
        host = f"{host}:{parts.port}"
    return PublicUrl(f"{parts.scheme}://{host}", host)
