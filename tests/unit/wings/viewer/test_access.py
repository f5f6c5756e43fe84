"""Who may ask: whatever comes from elsewhere, or without the token, gets nothing, whichever route it asks for."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.errors import UsageError
from evenhand.wings.viewer.access import HEADERS, loopback

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
JSON = "application/json"


def paths(app: web.Application, run: str) -> set[str]:
    """Every address that there is, and some that are not."""
    found = {
        resource.canonical.replace("{run}", run).replace("{index}", "0")
        for resource in app.router.resources()
    }
    assert len(found) >= 14
    return found | {"/nothing", "/api", "/static/app.js", "/../pyproject.toml"}


async def test_nothing_is_answered_without_the_token(ask: Asking) -> None:
    """Every route, every method."""
    for path in paths(ask.app, ask.run):
        for method in METHODS:
            answer = await ask(
                path,
                method,
                token=False,
                Origin=ask.access.address,
                X_Evenhand="1",
                Content_Type=JSON,
            )
            assert answer.status == 401, (method, path)


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
    ],
)
async def test_other_hosts_and_other_pages_get_nothing(
    ask: Asking, headers: dict[str, str], status: int
) -> None:
    """Even with the token, for every route and method."""
    port = ask.access.address.rpartition(":")[2]
    sent = {name: value.format(port=port) for name, value in headers.items()}
    for path in paths(ask.app, ask.run):
        for method in METHODS:
            answer = await ask(path, method, **sent)
            assert answer.status == status, (method, path)


@pytest.mark.parametrize("missing", ["Origin", "X_Evenhand", "Content_Type"])
async def test_only_the_page_itself_may_write(ask: Asking, missing: str) -> None:
    """What a form, or a script that may not set headers, can send is not enough."""
    headers = {"Origin": ask.access.address, "X_Evenhand": "1", "Content_Type": JSON}
    if missing == "Content_Type":
        headers[missing] = "text/plain"
    else:
        del headers[missing]
    body = '{"index": 0, "field": "star", "value": true, "author": "", "blind": false}'
    answer = await ask(f"/api/runs/{ask.run}/labels", "POST", body=body, **headers)
    assert answer.status == 403
    assert await ask.json("/labels") == {"labels": [], "judged": []}


async def test_the_link_gives_a_cookie_and_the_cookie_lets_in(ask: Asking) -> None:
    """The token leaves the address; the cookie is for this port, and no script and no other site gets it."""
    answer = await ask(f"/?token={ask.access.token}", token=False, Sec_Fetch_Site="none")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    port = ask.access.address.rpartition(":")[2]
    assert cookie.startswith(f"evenhand-{port}={ask.access.token};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    inside = await ask("/api/runs", token=False, Cookie=cookie.partition(";")[0])
    assert inside.status == 200


@pytest.mark.parametrize(("path", "method"), [("/api/runs", "GET"), ("/", "POST"), ("/", "HEAD")])
async def test_the_token_in_an_address_lets_in_at_the_front_page_only(
    ask: Asking, path: str, method: str
) -> None:
    """Addresses end up in histories and logs: only the link that is opened once carries it."""
    headers = {"Origin": ask.access.address, "X_Evenhand": "1", "Content_Type": JSON}
    answer = await ask(f"{path}?token={ask.access.token}", method, token=False, **headers)
    assert answer.status == 401


async def test_the_name_of_the_scheme_may_be_in_small_letters(ask: Asking) -> None:
    """As HTTP has it."""
    answer = await ask("/api/runs", token=False, Authorization=f"bearer {ask.access.token}")
    assert answer.status == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/1.1", "Host: {host}", "Host: {host}"], "4"),
        (["GET / HTTP/1.0"], "421"),
        (["GET / HTTP/1.1", "Host: {host}", "Origin: {page}"], "200"),
        (["GET / HTTP/1.1", "Host: {host}", "Origin: {page}", "Origin: {page}"], "403"),
    ],
    ids=["two hosts", "no host", "one page", "two pages"],
)
async def test_a_request_names_one_host_and_one_page(
    ask: Asking, lines: list[str], status: str
) -> None:
    """Whoever reads the first of two may let pass what the second one forbids."""
    page = ask.access.address
    host = page.removeprefix("http://")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(host.rpartition(":")[2]))
    sent = [*lines, "Authorization: Bearer {token}", "Connection: close", "", ""]
    text = "\r\n".join(sent).format(host=host, page=page, token=ask.access.token)
    writer.write(text.encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.split()[1].startswith(status)


async def test_a_link_may_be_followed_from_elsewhere_but_not_fetched(ask: Asking) -> None:
    """A click in another page is a navigation; a request that a page makes by itself is not."""
    link = f"/?token={ask.access.token}"
    clicked = await ask(link, token=False, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert clicked.status == 303
    fetched = await ask(link, token=False, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")
    assert fetched.status == 403


@pytest.mark.parametrize("token", ["", "wrong", "%C3%BC", "x" * 43])
async def test_a_wrong_token_is_none(ask: Asking, token: str) -> None:
    """In the link, in the header, in the cookie; and it is said what to do."""
    assert (await ask(f"/?token={token}", token=False)).status == 401
    answer = await ask("/", token=False, Authorization=f"Bearer {token}")
    assert answer.status == 401
    assert "Open its link, then this address again." in await answer.text()
    assert "html" not in answer.headers["Content-Type"]


async def test_every_answer_has_the_headers(ask: Asking) -> None:
    """Refused ones, broken ones, streams and pages."""
    answers = [
        await ask("/", token=False),
        await ask("/"),
        await ask("/nothing"),
        await ask(f"/api/runs/{ask.run}/blocks"),
        await ask(f"/api/runs/{ask.run}/cells/x"),
        await ask("/app.js", Host="evil.example"),
    ]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    locked = ("default-src", "frame-ancestors", "base-uri", "form-action", "trusted-types")
    assert {f"{name} 'none'" for name in locked} <= set(policy.split("; "))


@pytest.mark.parametrize(
    "start",
    [
        "GET /api/runs/{long} HTTP/1.1\r\nHost: {host}\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nX-Long: {long}\r\n",
        "GET / nonsense-{long}\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: nonsense\r\n",
    ],
    ids=["address", "header", "protocol", "length"],
)
async def test_what_is_no_request_gets_an_error_like_all_others(
    ask: Asking, start: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The form that the page reads, every header, nothing of what was sent, and no traceback in the terminal."""
    host = ask.access.address.removeprefix("http://")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(host.rpartition(":")[2]))
    writer.write((start.format(host=host, long="secret" * 2_000) + "\r\n").encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert status.split()[1] == "400"
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)
    assert json.loads(body)["error"].keys() == {"slug", "message", "hint"}
    assert b"secret" not in body
    assert (caplog.text, *capfd.readouterr()) == ("", "", "")


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/../../etc/passwd",
        "/api/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/api/runs/%252e%252e%252fetc",
        "/api/runs/a%00b",
        "/app.js%00.css",
        "/%2e%2e/pyproject.toml",
        "/app.js/..",
    ],
)
async def test_no_path_ever_leads_to_a_file(ask: Asking, path: str) -> None:
    """Runs are named by id and files by a list: everything else is not found."""
    assert (await ask(path)).status == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.com", ""])
def test_only_loopback_is_listened_on(host: str) -> None:
    """Everything else is refused with what to do instead."""
    with pytest.raises(UsageError, match="not a loopback address") as refused:
        loopback(host)
    assert "ssh -L" in refused.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.5", "::1", "localhost"])
def test_loopback_is_listened_on(host: str) -> None:
    """In both families."""
    assert loopback(host) == host
