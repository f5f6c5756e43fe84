"""A viewer for a team behind a proxy that names people, and the settings that say who may do what."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientResponse, ClientSession, web

from evenhand.core.errors import ConfigError, UsageError
from evenhand.languages.documents.project import settings_of
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import PageRunner
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.roles import NOBODY, Person, Roles, admit, needs
from evenhand.wings.viewer.server import PageServer
from evenhand.wings.viewer.team_access import TeamAccess, team_access
from evenhand.wings.viewer.team_settings import (
    PROXY_SECRET,
    SECRET_HEADER,
    OidcSettings,
    ProxySettings,
    ViewerSettings,
    public_url,
)

PUBLIC = "https://evals.example.com"
USER, GROUPS = "X-Forwarded-Email", "X-Forwarded-Groups"
SECRET = "what only the proxy knows 4711"
ROLES = Roles(read=("*@example.com",), label=("ann@example.com", "group:evals"))
Ask = Callable[..., Awaitable[ClientResponse]]


@asynccontextmanager
async def behind(
    run: RunFile, proxy: ProxySettings, secret: str = "", host: str = "127.0.0.1"
) -> AsyncIterator[Ask]:
    """Asks a viewer behind this proxy."""
    access = team_access(ViewerSettings(ROLES, proxy=proxy), PUBLIC, {PROXY_SECRET: secret})
    app = PageServer(Runs(run.path.parent.parent), access).app()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.bind((host, 0))
        runner = PageRunner(app, shutdown_s=0.1)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        port = listening.getsockname()[1]
        async with ClientSession() as session:

            async def ask(path: str, method: str = "GET", **headers: str) -> ClientResponse:
                sent = {"Host": "evals.example.com"}
                if method == "POST":
                    sent |= {
                        "Origin": PUBLIC,
                        "X-Evenhand": "1",
                        "Content-Type": "application/json",
                    }
                sent |= {name.replace("_", "-"): value for name, value in headers.items()}
                body = sent.pop("body", None)
                url = f"http://127.0.0.1:{port}{path}"
                answer = await session.request(method, url, headers=sent, data=body)
                await answer.read()
                return answer

            yield ask
        await runner.cleanup()


@pytest.fixture
def home(summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch) -> RunFile:
    """The run, in the home that is looked at."""
    monkeypatch.setenv("EVENHAND_HOME", str(summaries_run.path.parent.parent))
    return summaries_run


NEAR = ProxySettings(USER, GROUPS, ("127.0.0.1",), "/oauth2/sign_out")


async def test_the_proxy_says_who_it_is(home: RunFile) -> None:
    """And with that, what they may do; labels are signed with the name."""
    run = home.path.stem
    async with behind(home, NEAR) as ask:
        page = await (await ask("/", X_Forwarded_Email="bob@example.com")).text()
        assert 'data-person="bob@example.com" data-role="read" data-out="1"' in page
        body = json.dumps({"index": 0, "field": "star", "value": True, "author": "ann@example.com"})
        path = f"/api/runs/{run}/labels"
        assert (
            await ask(path, "POST", X_Forwarded_Email="bob@example.com", body=body)
        ).status == 403
        who = {"X_Forwarded_Email": "cyd@other.example", "X_Forwarded_Groups": "ops, evals"}
        made = await ask(path, "POST", **who, body=body)
        assert (await made.json())["author"] == "cyd@other.example"
        out = await ask("/api/sign-out", "POST", **who)
        assert await out.json() == {"to": "/oauth2/sign_out"}


async def test_nobody_is_nobody(home: RunFile) -> None:
    """Without the header, whatever else is sent."""
    async with behind(home, NEAR) as ask:
        for path in ("/api/runs", "/app.js", "/nothing"):
            answer = await ask(path, Authorization="Bearer x", Cookie="evenhand-session=x")
            assert answer.status == 401
        page = await ask("/")
        assert "The proxy before this viewer did not say who you are" in await page.text()
        assert "data-person" not in await page.text()


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize(
    ("proxy", "secret", "headers", "status"),
    [
        (("10.1.2.3",), "", {}, 403),
        (("10.0.0.0/8", "::1"), "", {"X_Forwarded_For": "10.1.2.3", "X_Real_IP": "10.1.2.3"}, 403),
        (("10.0.0.0/8",), "", {"Forwarded": "for=10.1.2.3"}, 403),
        (("127.0.0.0/8",), "", {}, 200),
        ((), SECRET, {}, 403),
        ((), SECRET, {SECRET_HEADER: ""}, 403),
        ((), SECRET, {SECRET_HEADER: SECRET[:-1]}, 403),
        ((), SECRET, {SECRET_HEADER: SECRET}, 200),
        (("127.0.0.1",), SECRET, {}, 403),
        (("10.1.2.3",), SECRET, {SECRET_HEADER: SECRET}, 403),
        (("127.0.0.1",), SECRET, {SECRET_HEADER: SECRET}, 200),
    ],
)
async def test_the_header_counts_only_from_the_proxy(
    home: RunFile, proxy: tuple[str, ...], secret: str, headers: dict[str, str], status: int
) -> None:
    """By the address of the connection, or by its secret; where both are set, by both."""
    async with behind(home, ProxySettings(USER, GROUPS, proxy), secret) as ask:
        answer = await ask("/api/runs", X_Forwarded_Email="ann@example.com", **headers)
        assert answer.status == status
        grouped = await ask("/api/runs", X_Forwarded_Groups="evals", **headers)
        assert grouped.status == 403, "groups without a name are nobody's"


async def test_an_address_of_either_family_is_the_same(home: RunFile) -> None:
    """A socket for both shows 127.0.0.1 as ::ffff:127.0.0.1."""
    async with behind(home, NEAR, host="::") as ask:
        assert (await ask("/api/runs", X_Forwarded_Email="ann@example.com")).status == 200


@pytest.mark.parametrize(
    "name", ["", " ", "ann@example.com\u200b", "a" * 201, "ann\u202e@example.com"]
)
async def test_what_is_no_name_is_refused(home: RunFile, name: str) -> None:
    """Two names that look alike would be one to people."""
    async with behind(home, NEAR) as ask:
        assert (await ask("/api/runs", X_Forwarded_Email=name)).status == 403


async def test_the_header_is_sent_once(home: RunFile) -> None:
    """A proxy that adds its own to what the browser sent sends two."""
    import asyncio

    async with behind(home, NEAR) as ask:
        port = (await ask("/")).url.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = ["GET /api/runs HTTP/1.1", "Host: evals.example.com", "Connection: close"]
        lines += [f"{USER}: ann@example.com", f"{USER}: bob@example.com", "", ""]
        writer.write("\r\n".join(lines).encode())
        assert (await reader.read()).split()[1] == b"403"
        writer.close()
        await writer.wait_closed()


async def test_no_route_lets_in_whoever_has_no_role(home: RunFile) -> None:
    """Every address that there is, in every method: in particular those that are added later."""
    async with behind(home, NEAR) as ask:
        app = PageServer(
            Runs(home.path.parent), team_access(ViewerSettings(ROLES, proxy=NEAR), PUBLIC, {})
        ).app()
        paths = {one.canonical for one in app.router.resources()} - {
            "/", "/place.js", "/sign-in.css", "/api/sign-out"
        }  # fmt: skip
        assert len(paths) > 20
        for path in paths:
            real = (
                path.replace("{run}", home.path.stem)
                .replace("{index}", "0")
                .replace("{number}", "0")
            )
            for method in ("GET", "POST", "PUT", "DELETE"):
                headers = {"Origin": PUBLIC, "X_Evenhand": "1", "Content_Type": "application/json"}
                assert (await ask(real, method, **headers)).status == 401
                headers["X_Forwarded_Email"] = "eve@evil.example"
                assert (await ask(real, method, **headers)).status == 403


async def test_copies_can_only_be_read(home: RunFile) -> None:
    """Whatever the role: a label on a copy would get nowhere."""
    access = team_access(ViewerSettings(ROLES, proxy=NEAR), PUBLIC, {})
    assert isinstance(access, TeamAccess)
    access.only_read()
    identity = type("Identity", (), {"name": "ann@example.com", "groups": ()})()
    assert access._person(identity) == Person("ann@example.com", "read")


@pytest.mark.parametrize(
    ("name", "groups", "role"),
    [
        ("ann@example.com", (), "label"),
        ("ANN@Example.com", (), "label"),
        ("bob@example.com", ("evals",), "label"),
        ("bob@example.com", ("Evals", "evals2"), "read"),
        ("root", (), "run"),
        ("bob@example.com.evil.example", (), ""),
        ("bob@evil.example", ("group:evals",), ""),
        ("group:evals", (), ""),
        ("*@example.com", (), "read"),
        ("@example.com", (), ""),
        ("bob@evil.example@example.com", (), ""),
        ("bob@sub.example.com", (), ""),
        ("ann@e\u212aample.com", (), ""),
        ("*", (), ""),
    ],
)
def test_who_has_which_role(name: str, groups: tuple[str, ...], role: str) -> None:
    """The greatest that one of the entries gives."""
    assert Roles(ROLES.read, ROLES.label, ("root",)).of(name, groups) == role


def test_a_star_is_anyone_and_no_entry_is_nobody() -> None:
    """Of those who signed in."""
    assert Roles(read=("*",)).of("anyone", ()) == "read"
    assert Roles().of("anyone", ("any",)) == ""


def test_a_route_that_declares_no_role_lets_readers_read_and_nobody_write() -> None:
    """Whoever forgets the declaration finds out, and nobody else does."""

    class Request(dict[object, object]):
        def __init__(self, method: str, handler: object) -> None:
            self.method = method
            self.match_info = type("Info", (), {"handler": handler})

    def plain() -> None: ...

    @needs("run")
    def costly() -> None: ...

    for role, method, handler, expected in (
        ("read", "GET", plain, True),
        ("label", "POST", plain, False),
        ("run", "POST", plain, True),
        ("label", "GET", costly, False),
        ("run", "GET", costly, True),
        ("", "GET", plain, False),
    ):
        request: Any = Request(method, handler)
        assert admit(request, Person("x", role)) is expected
    assert not admit(Request("GET", plain), NOBODY)  # pyright: ignore[reportArgumentType]


READ = Roles(read=("*",))


@pytest.mark.parametrize(
    ("settings", "secret", "message"),
    [
        (ViewerSettings(READ), "", "--serve needs a sign-in"),
        (ViewerSettings(READ, OidcSettings("https://x.test", "c"), NEAR), "", "only one of them"),
        (ViewerSettings(proxy=NEAR), "", "nobody has a role"),
        (
            ViewerSettings(READ, OidcSettings("http://login.test", "c")),
            "",
            "not an https:// address",
        ),
        (ViewerSettings(READ, OidcSettings("https://a:b@login.test", "c")), "", "not an https://"),
        (ViewerSettings(READ, OidcSettings("https://login.test", "")), "", "client-id"),
        (ViewerSettings(READ, proxy=ProxySettings(USER)), "", "name the proxy's addresses"),
        (ViewerSettings(READ, proxy=ProxySettings(USER)), "short", "less than 20 characters"),
        (
            ViewerSettings(READ, proxy=ProxySettings(USER, from_=("nginx",))),
            "",
            "'nginx' is not an IP",
        ),
        (ViewerSettings(READ, proxy=ProxySettings("Host", from_=("::1",))), "", "'Host' cannot be"),
        (ViewerSettings(READ, proxy=ProxySettings("", from_=("::1",))), "", "'' cannot be"),
        (
            ViewerSettings(READ, proxy=ProxySettings("X_User", from_=("::1",))),
            "",
            "'X_User' cannot",
        ),
        (
            ViewerSettings(READ, proxy=ProxySettings(USER, "", ("::1",), "//evil.test")),
            "",
            "sign-out",
        ),
        (
            ViewerSettings(READ, proxy=ProxySettings(USER, "", ("::1",), "javascript:x")),
            "",
            "sign-out",
        ),
        (
            ViewerSettings(Roles(read=("*example.com",)), proxy=NEAR),
            "",
            "'*example.com' is not a name",
        ),
        (ViewerSettings(Roles(read=("",)), proxy=NEAR), "", "'' is not a name"),
        (
            ViewerSettings(Roles(run=("group:",)), proxy=NEAR),
            "",
            "roles.run: 'group:' is not a name",
        ),
    ],
)
def test_what_could_not_be_served_safely_is_refused(
    settings: ViewerSettings, secret: str, message: str
) -> None:
    """Before anything is served, with all that is wrong."""
    with pytest.raises(UsageError) as refused:
        team_access(settings, PUBLIC, {PROXY_SECRET: secret})
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Evals.Example.com", "https://evals.example.com"),
        ("https://evals.example.com:443/", "https://evals.example.com"),
        ("https://evals.example.com:8443", "https://evals.example.com:8443"),
        ("http://127.0.0.1:15500", "http://127.0.0.1:15500"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://evals.example.com", ""),
        ("https://evals.example.com/viewer", ""),
        ("https://evals.example.com?x", ""),
        ("https://evals.example.com#x", ""),
        ("https://a@evals.example.com", ""),
        ("https://evals.example.com:x", ""),
        ("https://évals.example.com", ""),
        ("evals.example.com", ""),
        ("", ""),
    ],
)
def test_what_browsers_see(address: str, origin: str) -> None:
    """As they send it; http only on this machine."""
    if origin:
        assert public_url(address).origin == origin
    else:
        with pytest.raises(UsageError, match="--public-url"):
            public_url(address)


def test_the_table_is_read_from_pyproject(tmp_path: Path) -> None:
    """As the documentation writes it."""
    text = """
[tool.evenhand.viewer]
roles = { read = ["*@example.com"], label = ["group:evals"] }
proxy = { header = "X-Forwarded-Email", from = ["10.0.0.5"], sign-out = "/out" }
"""
    (tmp_path / "pyproject.toml").write_text(text)
    settings = settings_of("viewer", ViewerSettings, tmp_path)
    assert settings.proxy == ProxySettings(
        "X-Forwarded-Email", from_=("10.0.0.5",), sign_out="/out"
    )
    assert settings.roles.label == ("group:evals",)
    (tmp_path / "pyproject.toml").write_text(text.replace("from =", "form ="))
    with pytest.raises(ConfigError, match="form"):
        settings_of("viewer", ViewerSettings, tmp_path)
    written = '{"oidc": {"issuer": "https://x.test", "client-id": "c", "scopes": ["groups"]}}'
    read = msgspec.json.decode(written, type=ViewerSettings)
    assert read.oidc == OidcSettings("https://x.test", "c", scopes=("groups",))
