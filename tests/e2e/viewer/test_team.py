"""Two people in two browsers, who sign in at a real provider and label the same run at once; and one who only reads."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.viewer.test_accessibility import LOOK
from tests.oidc_provider import CLIENT, SECRET, Provider, provider

from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
SETTINGS = """
[tool.evenhand.viewer]
roles = {{ read = ["*@example.com"], label = ["group:evals"] }}
oidc = {{ issuer = "{issuer}", client-id = "{client}" }}
"""
REFUSALS = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def serving(folder: Path, env: dict[str, str], *words: str) -> Iterator[str]:
    """`evenhand view --serve`, as long as the block lasts; its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [*COMMAND, "view", *words, "--serve", "--public-url", address, "--port", str(port)],
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watch = threading.Timer(30, process.kill)
    watch.start()
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(address):
            break
    else:
        raise AssertionError("".join(lines))
    watch.cancel()
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    try:
        yield address
    finally:
        process.terminate()
        process.wait(10)
        drain.join(5)
        process.stdout.close()


@pytest.fixture(scope="module")
def there() -> Iterator[Provider]:
    """A provider that asks everybody who they are."""
    with provider() as one:
        one.user = ""
        yield one


@pytest.fixture(scope="module")
def team_home(home: Path, tmp_path_factory: pytest.TempPathFactory, there: Provider) -> Path:
    """A folder that the team shares: its settings, and a copy of the shop's runs."""
    import shutil

    folder = tmp_path_factory.mktemp("team")
    text = SETTINGS.format(issuer=there.issuer, client=CLIENT)
    (folder / "pyproject.toml").write_text(text)
    shutil.copytree(home, folder / "home")
    return folder


@pytest.fixture(scope="module")
def environ(team_home: Path) -> dict[str, str]:
    """Nothing but what it takes."""
    import os

    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"EVENHAND_HOME": str(team_home / "home"), "EVENHAND_OIDC_SECRET": SECRET}


@pytest.fixture(scope="module")
def address(team_home: Path, environ: dict[str, str]) -> Iterator[str]:
    """A viewer on them."""
    with serving(team_home, environ) as there:
        yield there


class Person:
    """Somebody at a browser of their own."""

    def __init__(self, browser: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.context.set_default_timeout(30_000)
        self.context.add_init_script(REFUSALS)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.context.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and self.wrong.append(message.text)
            ),
        )

    def comes(self, link: str, name: str) -> None:
        """Opens a link, signs in as somebody, and waits for the page."""
        self.page.goto(link)
        self.page.get_by_role("link", name="Sign in").click()
        self.page.get_by_role("link", name=name).click()
        self.page.wait_for_selector(".topbar")


@pytest.fixture
def person(browser: Any) -> Iterator[Any]:
    """Makes people; no page of theirs may do what it shouldn't."""
    people: list[Person] = []

    def make() -> Person:
        people.append(Person(browser))
        return people[-1]

    yield make
    wrong = [problem for one in people for problem in one.wrong]
    for one in people:
        one.context.close()
    assert wrong == []


def labels(folder: Path, run: str) -> list[tuple[str, object]]:
    """Who said what, as the run file has it."""
    with RunFile.open(folder / "home" / "runs" / f"{run}.db") as file:
        return sorted((one.author, one.value) for one in file.labels())


@pytest.mark.thorough
def test_two_people_label_the_same_run_at_once_and_a_reader_cannot(
    address: str, team_home: Path, runs: list[str], person: Any
) -> None:
    """Each label has the name of the one who gave it; the link leads to the cell, past the sign-in."""
    run = runs[1]
    cell = f"{address}/#/run/{run}?cell=0"
    ann, bob, eve = person(), person(), person()
    for who, name in ((ann, "ann"), (bob, "bob"), (eve, "eve")):
        who.comes(cell, name)
        who.page.wait_for_selector(".drawer-head")
        assert who.page.url == cell
        assert who.page.locator(".topbar-person").inner_text().startswith(f"{name}@example.com")
    for who, key in ((ann, "p"), (bob, "f")):
        with who.page.expect_response(lambda answer: answer.request.method == "POST"):
            who.page.keyboard.press(key)
    both = [("ann@example.com", "pass"), ("bob@example.com", "fail")]
    assert labels(team_home, run) == both
    ann.page.wait_for_selector(".standing :text('bob@example.com')")  # without loading it anew
    eve.page.wait_for_selector(".standing :text('ann@example.com')")

    assert eve.page.locator(".labelbar").count() == 0
    assert "reads only" in eve.page.locator(".topbar-end").inner_text()
    eve.page.keyboard.press("p")
    status = eve.page.evaluate(
        """([run, body]) => fetch(`/api/runs/${run}/labels`, {method: "POST", body,
        headers: {"Content-Type": "application/json", "X-Evenhand": "1"}}).then((it) => it.status)""",
        [
            run,
            json.dumps({"index": 0, "field": "star", "value": True, "author": "ann@example.com"}),
        ],
    )
    assert status == 403
    assert any("403" in line for line in eve.wrong)
    eve.wrong.clear()
    assert labels(team_home, run) == both

    said = ann.page.get_by_role("button", name="Copy link").get_attribute("title")
    assert said == "Opens for all who may see runs here."
    ann.page.goto(f"{address}/#/")
    ann.page.wait_for_selector(".run-list")
    assert ann.page.get_by_role("button", name="Edit").count() > 0
    eve.page.goto(f"{address}/#/")
    eve.page.wait_for_selector(".run-list")
    assert eve.page.get_by_role("button", name="Edit").count() == 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_sign_in_and_read(
    address: str, browser: Any, page: Path, scheme: str
) -> None:
    """axe-core finds nothing serious where people sign in, and in what they see; no name widens a phone's page."""
    script = (page / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
    small = {"width": 390, "height": 844}
    context = browser.new_context(viewport=small, color_scheme=scheme, bypass_csp=True)
    at = context.new_page()
    for words, then in (("", "Sign in"), ("Sign in", "eve"), ("eve", "")):
        if words:
            at.get_by_role("link", name=words).click()
        else:
            at.goto(address)
        if then != "eve":  # which is the provider's
            at.locator(".told, .run-list").first.wait_for()
            at.evaluate(script)
            assert at.evaluate(LOOK) == []
            assert at.evaluate("() => document.documentElement.scrollWidth") == 390
    context.close()


def test_signing_out_shows_nothing_more(address: str, runs: list[str], person: Any) -> None:
    """The page is gone, also for whoever presses Back."""
    ann = person()
    ann.comes(f"{address}/#/", "ann")
    ann.page.wait_for_selector(".run-list")
    ann.page.get_by_role("button", name="Sign out").click()
    ann.page.get_by_role("link", name="Sign in").wait_for()
    status = ann.page.evaluate("() => fetch('/api/runs').then((it) => it.status)")
    assert status == 401
    ann.wrong.clear()  # which the console says, too
    ann.page.go_back()
    ann.page.get_by_role("link", name="Sign in").wait_for()


def test_somebody_whose_name_is_markup_is_text(address: str, there: Provider, person: Any) -> None:
    """The name is another's text, as everything is."""
    name = '"><img src=x onerror=alert(1)>@example.com'
    there.people["mal"] = {"email": name, "email_verified": True}
    mal = person()
    mal.comes(f"{address}/#/", "mal")
    assert mal.page.locator(".topbar-person").inner_text() == name
    assert mal.page.locator("img").count() == 0
    del there.people["mal"]


def test_runs_of_a_shared_folder_can_be_read(
    team_home: Path, environ: dict[str, str], runs: list[str], person: Any
) -> None:
    """They are copies: nobody can label them there, and the page offers it to nobody."""
    pushed = team_home / "pushed"
    words = [*COMMAND, "runs", "push", runs[0], "--to", str(pushed)]
    subprocess.run(words, env=environ, cwd=team_home, check=True, capture_output=True, timeout=60)
    with serving(team_home, environ, str(pushed)) as address:
        ann = person()
        ann.comes(f"{address}/#/run/{runs[0]}?cell=0", "ann")
        ann.page.wait_for_selector(".drawer-head")
        assert ann.page.locator(".labelbar").count() == 0
        assert "reads only" in ann.page.locator(".topbar-end").inner_text()
        assert [
            one["id"]
            for one in ann.page.evaluate("() => fetch('/api/runs').then((it) => it.json())")
        ] == [runs[0]]


@pytest.mark.thorough
def test_two_people_who_label_a_draw_at_once_share_it(
    team_home: Path, environ: dict[str, str], person: Any
) -> None:
    """There is one draw and one rule, whoever was second; neither labels what the other one is labelling."""
    example, home = Path(__file__).resolve().parents[3] / "examples" / "judge", team_home / "home"
    words = [*COMMAND, "run", str(example), "--offline", "--no-progress"]
    before = set((home / "runs").glob("*.db"))
    subprocess.run(words, env=environ, cwd=team_home, capture_output=True, timeout=60, check=False)
    (path,) = set((home / "runs").glob("*.db")) - before
    with serving(team_home, environ) as address:
        ann, bob = person(), person()
        for who, name in ((ann, "ann"), (bob, "bob")):
            who.comes(f"{address}/#/run/{path.stem}?view=label", name)
            who.page.get_by_label("Outputs to draw").fill("60")
        for who in (ann, bob):
            who.page.get_by_role("button", name="Draw").click()
            who.page.locator(".labelling-rule textarea").fill(f"the rule of {who is ann}")
        bob.page.get_by_role("alert").get_by_text("drew from this run meanwhile").wait_for()
        for who in (ann, bob):
            who.page.get_by_role("button", name="Keep the rule").click()
            who.page.get_by_text("Passes if: the rule of True").wait_for()
        for done in range(1, 9):
            for who in (ann, bob):
                who.page.keyboard.press("p")
                who.page.get_by_text(f"{done} of 60 labelled").wait_for()
        assert all("400" in line for line in bob.wrong)
        bob.wrong.clear()  # the two refusals, which the console says, too
    with RunFile.open(path) as run:
        assert [len(draw.places) for draw in run.draws()] == [60]
        labels = standing_labels(run.metric_labels())
    assert sorted(len(each) for each in labels.values()) == [1] * 16
