"""A real Chromium, the real command, runs of the real engine: and a page that may do nothing but what it should."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

ROOT = Path(__file__).parents[3]
CHROMIUM = next(
    (
        path
        for path in map(Path, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium"))
        if path.is_file()
    ),
    Path("/usr/bin/chromium"),
)
"""The same engine without a browser's own windows takes two thirds of the time, where it is installed."""
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)
# Told as console errors: what the browser would otherwise refuse in silence.
TELL_REFUSALS = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""
SETTLED = """() => document.querySelector("#app h1, #app h2") !== null
    && document.querySelector("[aria-busy=true]") === null
    && ![...document.querySelectorAll("[role=status], .cell-none")]
      .some((at) => /^(Reading|Comparing|…$)/.test(at.textContent))"""
TURN = """(there) => new Promise((drawn) => {
  location.hash = there;
  requestAnimationFrame(() => requestAnimationFrame(drawn));
})"""
"""Goes to another address of the page, and waits until the page has heard of it."""
START_S = 20


def clean(**more: str) -> dict[str, str]:
    """An environment without keys or addresses."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "PYTHONPATH")}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"} | more


def evenhand(*words: object, **env: str) -> str:
    """What a command prints; it has to succeed, or find that something failed, or is undecided."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        env=clean(**env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    return done.stdout


def load(name: str) -> Any:
    """A script of bench/, as a module."""
    path = ROOT / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Served:
    """A viewer at work: the link that it printed, and its home."""

    link: str
    home: Path
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        return self.link.partition("token=")[2].partition("&")[0]


@contextmanager
def serving(home: Path, *words: str, verb: Sequence[str] = ("view",)) -> Iterator[Served]:
    """`evenhand view` on this home, or another command that serves the page, as long as the block lasts."""
    process = subprocess.Popen(
        [*COMMAND, *verb, *words, "--no-browser", "--port", "0"],
        env=clean(EVENHAND_HOME=str(home)),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watch = threading.Timer(START_S, process.kill)
    watch.start()
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said):
            break
    else:
        raise AssertionError(f"the viewer printed no link: {said}")
    watch.cancel()
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    try:
        yield Served(found[0], home, process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        drain.join(5)
        process.stdout.close()


@pytest.fixture(scope="session")
def shop() -> Any:
    """What makes the runs of the shop: bench/shop.py."""
    return load("shop")


@pytest.fixture(scope="session")
def home(shop: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two runs of the shop, the older one the baseline of the newer. Nobody writes to it."""
    folder = tmp_path_factory.mktemp("viewer") / "home"
    shop.write(folder)
    return folder


@pytest.fixture(scope="session")
def runs(home: Path) -> list[str]:
    """Their ids, the older one first."""
    return sorted(path.stem for path in (home / "runs").glob("*.db"))


@pytest.fixture(scope="session")
def served(home: Path, runs: list[str]) -> Iterator[Served]:
    """A viewer on them."""
    with serving(home) as viewer:
        yield viewer


@pytest.fixture(scope="session")
def report(home: Path, runs: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The older run as one file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    evenhand("export", runs[0], "--to", path, EVENHAND_HOME=str(home))
    return path


@pytest.fixture
def own_home(home: Path, tmp_path: Path) -> Path:
    """A copy of the home for a test that writes."""
    return Path(shutil.copytree(home, tmp_path / "home"))


@pytest.fixture(scope="session")
def page() -> Path:
    """The folder of the page's source, with what it is built and looked at with installed."""
    folder = ROOT / "page"
    if not shutil.which("npm"):
        if os.environ.get("REQUIRE_NODE"):
            pytest.fail("REQUIRE_NODE is set, but there is no npm")
        pytest.skip(
            "there is no npm to build the page with (on Debian: apt-get install nodejs npm)"
        )
    with (folder / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes, and one of them installs
        listed = subprocess.run(
            ["npm", "ls", "--all"], cwd=folder, capture_output=True, check=False
        )
        if listed.returncode:
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


def no_browser(what: str) -> None:
    """Skips, but for those who have said that these tests have to run."""
    if os.environ.get("REQUIRE_CHROMIUM"):
        pytest.fail(f"REQUIRE_CHROMIUM is set, but {what}")
    pytest.skip(f"{what} (on Debian: apt-get install chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium. One for each file: Playwright keeps a loop running, which tests of async code could not stand."""
    if not CHROMIUM.is_file():
        no_browser(f"there is no {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        yield chromium
        chromium.close()


@dataclass
class Watched:
    """A page, and all that it did which it should not have done."""

    page: Any
    context: Any
    link: str
    wrong: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])

    @property
    def root(self) -> str:
        """Where the page lies, without token and fragment."""
        return self.link.partition("?")[0]

    @property
    def embedded(self) -> bool:
        return self.link.startswith("file:")

    def show(self, run: str = "", **state: object) -> None:
        """Goes to a state of the page by its address, as somebody does who was sent it."""
        self.page.goto("about:blank")  # from the page itself, nothing would be loaded
        self.page.goto(self.root + fragment(run, **state))
        self.settled()

    def turn(self, run: str = "", **state: object) -> None:
        """Goes to a state of the page without loading it anew."""
        self.page.evaluate(TURN, fragment(run, **state))
        self.settled()

    def settled(self) -> None:
        """Waits until everything that was asked for is there, and drawn."""
        self.page.wait_for_function(SETTLED)

    @property
    def hash(self) -> str:
        return str(self.page.evaluate("() => location.hash"))

    def close(self) -> None:
        """Shuts the browser's window, before the viewer goes away."""
        self.context.close()

    def note(self, problem: str) -> None:
        if not any(word in problem for word in self.expected):
            self.wrong.append(problem)


def fragment(run: str = "", **state: object) -> str:
    """The part of an address that says what is shown."""
    given = {name: value for name, value in state.items() if value is not None}
    query = urlencode(given, errors="replace")
    return f"#/{f'run/{run}' if run else ''}{f'?{query}' if query else ''}"


Opener = Callable[..., Watched]


@pytest.fixture
def watch(browser: Any) -> Iterator[Opener]:
    """Opens pages, and fails the test for each error, dialog, refusal, and request to anywhere else that they made."""
    opened: list[Watched] = []

    def open_page(link: str, **options: Any) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(30_000)  # a machine may be four times slower, and busy
        context.add_init_script(TELL_REFUSALS)
        page = context.new_page()
        watched = Watched(page, context, link)
        opened.append(watched)
        allowed = urlsplit(link)._replace(query="", fragment="").geturl()

        def asked(request: Any) -> None:
            # What is in a page's own memory is asked for nowhere: the thread that looks for an expression.
            if request.url.startswith((allowed, "data:image/", "blob:null/")):
                return
            watched.note(f"request: {request.url[:300]}")

        def dialog(shown: Any) -> None:
            watched.note(f"dialog: {shown.message}")
            shown.dismiss()

        def said(message: Any) -> None:
            if message.type in ("error", "warning"):
                watched.note(f"console: {message.text[:500]}")

        context.on("request", asked)
        context.on("console", said)
        context.on("weberror", lambda error: watched.note(f"error: {error.error}"[:800]))
        page.on("dialog", dialog)
        page.on("popup", lambda popup: watched.note(f"popup: {popup.url}"))
        page.on("download", lambda download: watched.note(f"download: {download.url[:100]}"))
        page.goto(link)
        watched.settled()
        return watched

    yield open_page
    wrong = [problem for watched in opened for problem in watched.wrong]
    for watched in opened:
        watched.context.close()
    assert wrong == []


@pytest.fixture(params=["server", pytest.param("file", marks=pytest.mark.thorough)])
def either(request: pytest.FixtureRequest) -> str:
    """The link to the page, from both of the places where it gets its data."""
    if request.param == "server":
        return str(request.getfixturevalue("served").link)
    return request.getfixturevalue("report").as_uri()


@pytest.fixture(scope="session")
def serve() -> Any:
    """Serves another home, as a context."""
    return serving


@pytest.fixture(scope="session")
def command() -> Any:
    """Runs the command, and gives what it printed."""
    return evenhand


@pytest.fixture(scope="session")
def bench() -> Any:
    """Loads a script of bench/."""
    return load
