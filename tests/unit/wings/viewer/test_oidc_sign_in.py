"""Signing in at a real provider over real HTTP: what lets in, and everything that must not."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from aiohttp import ClientResponse, ClientSession, DummyCookieJar, web
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.oidc_provider import CLIENT, SECRET, Provider, key, provider, public, signed
from yarl import URL

from evenhand.core.errors import UsageError
from evenhand.core.remark import Remarks
from evenhand.providers import http
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import PageRunner
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.oidc import OidcProvider
from evenhand.wings.viewer.oidc_sign_in import FAILURES, SESSION_S, Expiring
from evenhand.wings.viewer.roles import Roles
from evenhand.wings.viewer.server import PageServer
from evenhand.wings.viewer.team_access import TeamAccess, team_access
from evenhand.wings.viewer.team_settings import CLIENT_SECRET, OidcSettings, ViewerSettings

ROLES = Roles(read=("*@example.com",), label=("group:evals",))
PUBLIC = "https://evals.example.com"


@pytest.fixture
def there() -> Iterator[Provider]:
    """The provider."""
    with provider() as one:
        yield one


@dataclass
class Browser:
    """Keeps cookies, and says what browsers say; follows nothing by itself."""

    session: ClientSession
    port: int
    public: str
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def __call__(self, path: str, method: str = "GET", **more: Any) -> ClientResponse:
        headers = {"Host": urlsplit(self.public).netloc, **more.pop("headers", {})}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if method == "POST":
            headers |= {
                "Origin": self.public,
                "X-Evenhand": "1",
                "Content-Type": "application/json",
            }
        url = URL(f"http://127.0.0.1:{self.port}{path}", encoded=True)
        answer = await self.session.request(
            method, url, headers=headers, allow_redirects=False, **more
        )
        await answer.read()
        for name, morsel in answer.cookies.items():
            if morsel["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value
        return answer

    async def back(self) -> str:
        """Goes to the provider; the path that leads back."""
        answer = await self("/sign-in")
        assert answer.status == 303
        async with self.session.get(answer.headers["Location"], allow_redirects=False) as sent:
            location = sent.headers["Location"]
        assert location.startswith(f"{self.public}/sign-in/back?")
        return location.removeprefix(self.public)

    async def sign_in(self) -> ClientResponse:
        """There and back, as a click on a link of the provider's does it."""
        return await self(await self.back(), headers=FOLLOWED)


FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}


@dataclass
class Team:
    """A viewer for a team."""

    access: TeamAccess
    port: int
    public: str
    run: str
    sessions: list[ClientSession]

    def browser(self) -> Browser:
        """Another browser."""
        session = ClientSession(cookie_jar=DummyCookieJar())
        self.sessions.append(session)
        return Browser(session, self.port, self.public)


@pytest.fixture
async def team(
    there: Provider, summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Team]:
    """A viewer that this provider signs people in for."""
    home = summaries_run.path.parent.parent
    monkeypatch.setenv("EVENHAND_HOME", str(home))
    oidc = OidcSettings(there.issuer, CLIENT)
    access = team_access(ViewerSettings(ROLES, oidc), PUBLIC, {CLIENT_SECRET: SECRET})
    sessions: list[ClientSession] = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        await access.ready()
        runner = PageRunner(PageServer(Runs(Path(home)), access).app(), shutdown_s=0.1)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        port = listening.getsockname()[1]
        yield Team(access, port, PUBLIC, summaries_run.path.stem, sessions)
        for session in sessions:
            await session.close()
        await runner.cleanup()
        await http.close()


def label(value: object = "pass", **more: object) -> dict[str, Any]:
    """A label as the page sends it."""
    return {"data": json.dumps({"index": 0, "field": "verdict", "value": value, **more})}


async def test_a_person_signs_in_labels_under_their_name_and_signs_out(
    team: Team, there: Provider
) -> None:
    """The page says who it is; what it claims of the author doesn't count; a session that is over is none."""
    ann = team.browser()
    before = await ann("/")
    assert (before.status, "Sign in" in await before.text()) == (200, True)
    assert (await ann("/api/runs")).status == 401
    answer = await ann.sign_in()
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    page = await (await ann("/", headers=FOLLOWED)).text()
    assert 'data-person="ann@example.com" data-role="label" data-out="1"' in page
    made = await ann(f"/api/runs/{team.run}/labels", "POST", **label(author="bob@example.com"))
    assert (await made.json())["author"] == "ann@example.com"
    kept = dict(ann.cookies)
    assert (await ann("/api/sign-out", "POST", data="{}")).status == 200
    assert "__Host-evenhand-session" not in ann.cookies
    ann.cookies = kept
    assert (await ann("/api/runs")).status == 401


async def test_what_is_asked_of_the_provider(team: Team, there: Provider) -> None:
    """State, nonce and challenge are new each time; the verifier and the secret never pass the browser."""
    ann = team.browser()
    await ann.sign_in()
    await ann.sign_in()
    first, second = there.asked
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 43
        assert first[name] != second[name]
    assert first.keys() == {
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method"
    }  # fmt: skip


async def test_cookies_are_for_this_host_over_https_alone(team: Team) -> None:
    """No script gets them, no other host sets them, and requests of other pages don't have them."""
    ann = team.browser()
    answers = [await ann("/sign-in"), await ann.sign_in()]
    for cookie in (line for each in answers for line in each.headers.getall("Set-Cookie")):
        assert cookie.startswith("__Host-evenhand-")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
        assert "Domain" not in cookie


async def test_a_reader_may_read_and_nothing_else(
    team: Team, there: Provider, summaries_run: RunFile
) -> None:
    """By the role: whatever writes is refused, also what somebody adds tomorrow."""
    there.user = "eve"
    eve = team.browser()
    await eve.sign_in()
    assert 'data-role="read"' in await (await eve("/")).text()
    assert (await eve("/api/runs")).status == 200
    search = await eve(f"/api/runs/{team.run}/search", "POST", data='{"text": "word"}')
    assert search.status == 200
    for path in (
        "labels",
        "draw",
        "rules",
        "verdicts",
        "pairs",
        "pair-rules",
        "preferences",
        "remarks",
        "delete",
    ):
        answer = await eve(f"/api/runs/{team.run}/{path}", "POST", data="{}")
        assert answer.status == 403, path
    assert (await eve(f"/api/runs/{team.run}/labels")).status == 200
    with RunFile.open(summaries_run.path) as run:
        assert list(run.labels()) == []
        assert run.remarks == Remarks()


async def test_somebody_without_a_role_gets_nothing(team: Team, there: Provider) -> None:
    """Who is signed in is not yet anybody."""
    there.people["eve"]["email"] = "eve@example.com.evil.example"
    there.user = "eve"
    eve = team.browser()
    await eve.sign_in()
    page = await eve("/")
    assert page.status == 403
    assert "may not see runs here" in await page.text()
    assert (await eve("/api/runs")).status == 403
    assert (await eve("/app.js")).status == 403


async def test_a_name_is_text_on_every_page(team: Team, there: Provider) -> None:
    """Also one that would be markup."""
    there.people["ann"]["email"] = '"><script>alert(1)</script>@example.com'
    ann = team.browser()
    await ann.sign_in()
    page = await ann("/")
    assert "<script>alert" not in await page.text()
    there.people["ann"] = {"email": "<img src=x>@evil.example", "email_verified": True}
    await ann.sign_in()
    assert "<img" not in await (await ann("/")).text()


def wrong(**claims: object) -> Any:
    """Gives a token other claims."""
    return lambda there: setattr(there, "change", lambda made: made.update(claims))


def without(name: str) -> Any:
    """Gives a token without a claim."""
    return lambda there: setattr(there, "change", lambda made: made.pop(name))


def signs(sign: Any) -> Any:
    """Signs tokens otherwise."""
    return lambda there: setattr(there, "sign", sign)


def public_pem() -> bytes:
    """The key that everybody knows."""
    return key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def hs256(claims: dict[str, Any]) -> str:
    """Signed with what everybody knows, as if it were a shared secret."""
    import base64
    import hashlib
    import hmac

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = part(b'{"alg":"HS256","kid":"one"}') + "." + part(json.dumps(claims).encode())
    return head + "." + part(hmac.digest(public_pem(), head.encode(), hashlib.sha256))


def other_key(claims: dict[str, Any]) -> str:
    """Signed by another key that claims to be the provider's."""
    return jwt.encode(
        claims, generate_private_key(65537, 2048), algorithm="RS256", headers={"kid": "one"}
    )


def own_key(claims: dict[str, Any]) -> str:
    """Signed by a key that the token itself brings."""
    mine = generate_private_key(65537, 2048)
    headers = {"jwk": public(mine), "jku": "http://127.0.0.1:1/keys"}
    return jwt.encode(claims, mine, algorithm="RS256", headers=headers)


def cut(claims: dict[str, Any]) -> str:
    """Without a signature."""
    return signed(claims).rpartition(".")[0] + "."


def changed(claims: dict[str, Any]) -> str:
    """Signed, and then changed."""
    head, _, signature = signed(claims).split(".")
    other = jwt.encode({**claims, "email": "bob@example.com"}, "", algorithm="none").split(".")[1]
    return f"{head}.{other}.{signature}"


HOLDS, NONCE, KEYS = "the ID token doesn't hold: ", "its nonce differs", "the provider has 0 keys"
NO_NAME = "the claim is not a name"
WRONG: list[tuple[str, Any]] = [
    (HOLDS + "Audience", wrong(aud="another")),
    ("for another client", wrong(aud=[CLIENT, "another"])),
    (HOLDS, wrong(aud=[])),
    ("for another client", wrong(azp="another")),
    (HOLDS + "Signature has expired", wrong(exp=int(time.time()) - 120)),
    (HOLDS + "The token is not yet valid", wrong(iat=int(time.time()) + 3600)),
    (HOLDS + "The token is not yet valid", wrong(nbf=int(time.time()) + 3600)),
    (NONCE, wrong(nonce="another")),
    (NONCE, wrong(nonce=None)),
    (HOLDS + "Invalid issuer", wrong(iss="https://evil.example")),
    ("verified", wrong(email_verified=False)),
    ("verified", wrong(email_verified="true")),
    ("gives no claim 'email'", wrong(email=["ann@example.com"])),
    (NO_NAME, wrong(email="ann@example.com\u200b")),
    *(
        (NO_NAME, wrong(email=f"ann{mark}@example.com"))
        for mark in "\u034f\u115f\u2800\u3164\ufe0f\uffa0\U000e0101"
    ),
    (NO_NAME, wrong(email="")),
    (NO_NAME, wrong(email="a" * 300 + "@example.com")),
    *(
        (f'missing the "{name}" claim', without(name))
        for name in ("exp", "iat", "aud", "iss", "sub")
    ),
    (NONCE, without("nonce")),
    ("gives no claim 'email'", without("email")),
    ("verified", without("email_verified")),
    ("signed by 'none'", signs(lambda claims: jwt.encode(claims, "", algorithm="none"))),
    ("signed by 'HS256'", signs(hs256)),
    (HOLDS + "Signature", signs(other_key)),
    (HOLDS + "Signature", signs(own_key)),
    (HOLDS + "Signature", signs(cut)),
    (HOLDS + "Signature", signs(changed)),
    (HOLDS, signs(lambda _: "no token")),
    (HOLDS, signs(lambda _: "")),
    (KEYS, signs(lambda claims: jwt.encode(claims, key(), "RS256", {"kid": "two"}))),
    (KEYS, lambda there: setattr(there, "keys", [{**public(key()), "use": "enc"}])),
    (KEYS, lambda there: setattr(there, "keys", [{**public(key()), "alg": "PS256"}])),
    (HOLDS, lambda there: setattr(there, "keys", [{"kty": "RSA", "kid": "one", "e": 3}])),
    (KEYS, lambda there: setattr(there, "keys", [])),
]


@pytest.mark.thorough(after=22)
@pytest.mark.parametrize(("reason", "make_wrong"), WRONG)
async def test_a_wrong_token_signs_nobody_in(
    team: Team, there: Provider, reason: str, make_wrong: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page says that it failed, and the terminal why, without the token."""
    make_wrong(there)
    ann = team.browser()
    answer = await ann.sign_in()
    assert answer.status == 403
    assert "You are not signed in" in await answer.text()
    assert (await ann("/api/runs")).status == 401
    told = capfd.readouterr().err
    assert told.startswith("a sign-in failed: ")
    assert reason in told
    assert "eyJ" not in told
    assert "Traceback" not in told


async def test_a_way_back_leads_in_once_and_in_one_browser(team: Team, there: Provider) -> None:
    """A code that leaked is worth nothing: it takes the browser that began, and only one try."""
    ann, eve = team.browser(), team.browser()
    back = await ann.back()
    there.replayed = True
    await eve("/sign-in")
    assert (await eve(back, headers=FOLLOWED)).status == 403
    assert (await ann(back, headers=FOLLOWED)).status == 403, "spent"
    back = await ann.back()
    assert (await ann(back, headers=FOLLOWED)).status == 303
    tokens = there.tokens
    assert (await ann(back, headers=FOLLOWED)).status == 403
    assert there.tokens == tokens, "the provider isn't even asked"


async def test_a_code_of_another_sign_in_is_none(team: Team, there: Provider) -> None:
    """An attacker's code in somebody's own sign-in: the verifier doesn't fit, so nobody labels as somebody else."""
    ann, eve = team.browser(), team.browser()
    mine, hers = await ann.back(), await eve.back()
    code = parse_qs(urlsplit(hers).query)["code"][0]
    state = parse_qs(urlsplit(mine).query)["state"][0]
    assert (await ann(f"/sign-in/back?code={code}&state={state}", headers=FOLLOWED)).status == 403


@pytest.mark.parametrize(
    "query",
    ["", "?code=x", "?state=x", "?code=x&state=", "?error=access_denied", "?code=x&state=%00"],
)
async def test_what_nobody_began_leads_nowhere(team: Team, query: str) -> None:
    """It is refused before the provider is asked."""
    assert (await team.browser()(f"/sign-in/back{query}")).status == 403


async def test_two_tabs_may_sign_in_at_once_and_a_made_up_browser_may_not(team: Team) -> None:
    """A browser has one name for all of its tabs, which it got here."""
    ann = team.browser()
    first, second = await ann.back(), await ann.back()
    assert (await ann(first, headers=FOLLOWED)).status == 303
    assert (await ann(second, headers=FOLLOWED)).status == 303
    eve = team.browser()
    eve.cookies["__Host-evenhand-sign-in"] = "x" * 5000
    await eve("/sign-in")
    assert len(eve.cookies["__Host-evenhand-sign-in"]) == 43


async def test_another_issuers_answer_is_none(team: Team) -> None:
    """RFC 9207."""
    ann = team.browser()
    back = await ann.back()
    assert (await ann(f"{back}&iss=https%3A%2F%2Fevil.example")).status == 403


async def test_failed_sign_ins_are_limited(team: Team, there: Provider) -> None:
    """From one address; others can still sign in, and an address in front of the last proxy can't be made up."""
    eve, ann = team.browser(), team.browser()
    near = {"X-Forwarded-For": "10.0.0.9"}
    for n in range(FAILURES):
        spoofed = {"X-Forwarded-For": f"1.1.1.{n}, 10.0.0.9"}
        assert (await eve("/sign-in/back?code=x&state=x", headers=spoofed)).status == 403
    assert (await eve("/sign-in/back?code=x&state=x", headers=near)).status == 429
    assert (await ann.sign_in()).status == 303


async def test_other_hosts_and_other_pages_get_nothing(team: Team) -> None:
    """Also with a session; a link to the page may be followed, and nothing else."""
    ann = team.browser()
    await ann.sign_in()
    for headers in ({"Host": "evil.example"}, {"Host": f"127.0.0.1:{team.port}"}):
        assert (await ann("/", headers=headers)).status == 421
    assert (
        await ann("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})
    ).status == 403
    for path in ("/api/runs", "/app.js", "/sign-in", f"/api/runs/{team.run}/export?format=html"):
        assert (await ann(path, headers=FOLLOWED)).status == 403, path
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{team.port}"):
        session = team.browser()
        session.cookies, session.public = ann.cookies, origin
        host = {"Host": "evals.example.com"}
        answer = await session(f"/api/runs/{team.run}/labels", "POST", headers=host, **label())
        assert answer.status == 403


async def test_a_session_ends(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the browser keeps."""
    ann = team.browser()
    await ann.sign_in()
    assert (await ann("/api/runs")).status == 200
    later = time.monotonic() + SESSION_S
    monkeypatch.setattr(team.access._sign_in._sessions, "_clock", lambda: later)
    assert (await ann("/api/runs")).status == 401


def test_the_oldest_makes_room_and_what_expired_is_gone() -> None:
    """Nobody fills the memory by beginning to sign in."""
    now = [0.0]
    kept = Expiring[int](10, lambda: now[0])
    names = [kept.keep(n) for n in range(10_001)]
    assert (kept.get(names[0]), kept.get(names[1])) == (None, 1)
    now[0] = 10.0
    assert kept.get(names[-1]) is None
    kept.keep(1)
    assert len(kept._values) == 1


async def test_a_new_key_is_looked_for(
    team: Team, there: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Providers change their keys; but not more often than once a minute is one looked for."""
    ann = team.browser()
    await ann.sign_in()
    new = generate_private_key(65537, 2048)
    there.keys = [public(new, "two")]
    there.sign = lambda claims: jwt.encode(claims, new, algorithm="RS256", headers={"kid": "two"})
    assert (await ann.sign_in()).status == 403
    provider = team.access._sign_in._provider
    monkeypatch.setattr(provider, "_keys_at", provider._keys_at - 61)
    assert (await ann.sign_in()).status == 303


@pytest.mark.parametrize(
    ("info", "status"),
    [
        ({"sub": "ann", "email": "ann@example.com", "email_verified": True}, 303),
        ({"sub": "bob", "email": "bob@example.com", "email_verified": True}, 403),
        ({"email": "bob@example.com", "email_verified": True}, 403),
        ({"sub": "ann", "email": "ann@example.com"}, 403),
        ({"sub": "ann"}, 403),
    ],
)
async def test_a_name_may_be_in_the_user_info(
    team: Team, there: Provider, info: dict[str, Any], status: int
) -> None:
    """As the standard has it; of the very person of the token, and as verified as there."""
    there.people["ann"] = {}
    there.document["userinfo_endpoint"] = f"{there.issuer}/info"
    there.info = {**info, "groups": ["evals"]}
    await team.access.ready()
    ann = team.browser()
    assert (await ann.sign_in()).status == status
    if status == 303:
        assert 'data-role="label"' in await (await ann("/")).text()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"issuer": "https://evil.example"}, "the provider's document says 'https://evil.example'"),
        ({"token_endpoint": "http://192.168.1.2/token"}, "token_endpoint"),
        ({"authorization_endpoint": None}, "authorization_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "jwks_uri"),
        ({"userinfo_endpoint": "http://10.0.0.1/info"}, "userinfo_endpoint"),
    ],
)
async def test_a_document_that_does_not_hold_is_refused(
    there: Provider, document: dict[str, Any], message: str
) -> None:
    """Of another issuer, or with addresses that anyone in between could read."""
    there.document |= document
    try:
        with pytest.raises(UsageError, match=message):
            await OidcProvider(OidcSettings(there.issuer, CLIENT), "x", "").discover()
    finally:
        await http.close()
