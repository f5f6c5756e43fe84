"""Links and pictures in outputs: nothing is loaded or followed unasked, and a click shows them, run by run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
TURNS = [
    {"role": "user", "content": "Where is my parcel?"},
    {"role": "assistant", "content": "On its way."},
]


@dataclass
class Elsewhere:
    """Another site, and what it was asked."""

    address: str
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@contextmanager
def _elsewhere() -> Iterator[Elsewhere]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append({"path": self.path, **dict(self.headers.items())})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>elsewhere</title>")

        def log_message(self, *args: object) -> None:
            del args

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        site = Elsewhere(f"http://localhost:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """A site that counts who asks it."""
    with _elsewhere() as site:
        yield site


@pytest.fixture
def linked(elsewhere: Elsewhere, command: Any, tmp_path: Path) -> Path:
    """A home with a run whose outputs have links and pictures, and a conversation."""
    text = (
        f"A cat ![cat]({PIXEL}), a [site]({elsewhere.address}/page), "
        f"![far]({elsewhere.address}/far.png), [run](javascript:alert(1)) and <b>no markup</b>, "
        "http://127.0.0.1:9/own"
    )
    outputs = [text, json.dumps(TURNS), "no links here"]
    config = {
        "prompts": ["{{x}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"x": each}} for each in outputs],
    }
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config), "utf-8")
    command("run", "-c", tmp_path / "promptfooconfig.yaml", EVENHAND_HOME=str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=["server", pytest.param("file", marks=pytest.mark.thorough)])
def opened(
    request: pytest.FixtureRequest, linked: Path, serve: Any, watch: Any, command: Any
) -> Iterator[Any]:
    """The run on a page, and its id."""
    (path,) = (linked / "runs").glob("*.db")
    if request.param == "file":
        report = linked / "report.html"
        command("export", path.stem, "--to", report, EVENHAND_HOME=str(linked))
        yield watch(report.as_uri()), path.stem
        return
    with serve(linked) as viewer:
        seen = watch(viewer.link)
        yield seen, path.stem
        seen.close()


@pytest.mark.thorough
def test_nothing_is_loaded_or_followed_until_somebody_asks(opened: Any, elsewhere: Elsewhere):
    """As plain text and as Markdown there is no link and no picture; one press shows them, another hides them."""
    seen, run = opened
    page = seen.page
    seen.turn(run, cell=0, tab="output.markdown")
    drawer = page.get_by_role("dialog")
    button = drawer.get_by_role("button", name="Show")
    button.wait_for()
    assert drawer.locator("a[href^='http'], img").count() == 0
    button.click()
    drawer.locator(".links img.picture").wait_for()
    assert drawer.locator(".md img.picture").count() == 1
    hrefs = drawer.locator("a[target=_blank]").evaluate_all(
        "(all) => all.map((at) => [at.getAttribute('href'), at.rel, at.referrerPolicy])"
    )
    own = set() if seen.embedded else {"http://127.0.0.1:9/own"}  # it would get the page's cookie
    assert {href for href, _, _ in hrefs} == {
        f"{elsewhere.address}/page",
        f"{elsewhere.address}/far.png",
        "http://127.0.0.1:9/own",
    } - own
    assert {(rel, policy) for _, rel, policy in hrefs} == {("noopener noreferrer", "no-referrer")}
    loaded = "(at) => at.complete && at.naturalWidth === 1"
    page.wait_for_function("() => document.querySelector('img.picture').complete")
    assert drawer.locator(".links img.picture").evaluate(loaded)
    assert elsewhere.asked == []
    page.reload()
    drawer.locator(".links img.picture").wait_for()
    drawer.get_by_role("button", name="Hide links and pictures").click()
    assert drawer.locator("a[href^='http'], img").count() == 0
    assert elsewhere.asked == []


def test_a_link_opens_a_tab_that_knows_nothing_of_the_page(opened: Any, elsewhere: Elsewhere):
    """It is asked for once, without a referrer, and has no way back to the page."""
    seen, run = opened
    seen.expected.append("popup")
    seen.expected.append(elsewhere.address)
    page = seen.page
    seen.turn(run, cell=0)
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("button", name="Show").click()
    with seen.context.expect_page() as other:
        drawer.get_by_role("link", name=f"{elsewhere.address}/page", exact=True).click()
    other.value.wait_for_load_state()
    assert other.value.evaluate("() => window.opener") is None
    (asked,) = [each for each in elsewhere.asked if each["path"] == "/page"]
    assert "Referer" not in asked
    assert "Cookie" not in asked
    other.value.close()


def test_a_conversation_is_shown_by_its_turns(opened: Any, elsewhere: Elsewhere):
    """An output that is a list of messages begins with who said what; what has no links offers none."""
    seen, run = opened
    assert elsewhere.asked == []
    seen.turn(run, cell=1)
    drawer = seen.page.get_by_role("dialog")
    turns = drawer.locator(".messages .message")
    turns.first.wait_for()
    assert [text.split("\n")[0] for text in turns.all_inner_texts()] == ["user", "assistant"]
    assert "On its way." in turns.nth(1).inner_text()
    assert drawer.get_by_role("button", name="Conversation").get_attribute("aria-pressed") == "true"
    seen.turn(run, cell=2)
    drawer.get_by_text("no links here").first.wait_for()
    assert drawer.get_by_role("region", name="Links and pictures").count() == 0
