"""The documentation site: every link leads somewhere, nothing is loaded from elsewhere, and nothing is left out."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import evenhand
from evenhand.cli.verbs import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    "evenhand",
    "evenhand.scorers",
    "evenhand.testing",
    "evenhand.doors.isolation",
    "evenhand.doors.recording",
]

pytestmark = pytest.mark.timeout(300)


class Page(HTMLParser):
    """A page's anchors, links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = set[str]()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag says."""
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loads.extend([values[name] for name in ("src",) if name in values])
        if tag == "link" and "href" in values:
            self.loads.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `just docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, ROOT / "packaging" / "docs_site", "--to", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, Page]:
    """Its pages, by file."""
    return {path: Page(path) for path in (site / evenhand.__version__).rglob("*.html")}


def test_every_link_on_the_site_leads_somewhere(pages: Mapping[Path, Page]):
    """To a page that is there, and to a heading that it has."""
    broken: list[tuple[str, str]] = []
    for path, page in pages.items():
        for link in page.links:
            if "://" in link or path.name == "404.html":
                continue
            target, _, anchor = link.partition("#")
            aim = (path.parent / unquote(target)).resolve() if target else path
            aim = aim / "index.html" if aim.is_dir() else aim
            has_anchor = not anchor or aim not in pages or unquote(anchor) in pages[aim].anchors
            if not aim.exists() or not has_anchor:
                broken.append((path.name, link))
    assert broken == []
    assert len(pages) > 60


def test_the_site_loads_nothing_from_elsewhere(pages: Mapping[Path, Page]):
    """Fonts, scripts and styles are files of the site."""
    for path, page in pages.items():
        elsewhere = [load for load in page.loads if "//" in load]
        assert elsewhere == [], path.name
        if path.name != "404.html":
            files = [path.parent / unquote(load.partition("#")[0]) for load in page.loads]
            missing = [file for file in files if not file.exists()]
            assert missing == [], path.name


def test_a_picture_of_the_viewer_has_the_theme_of_the_page(site: Path, pages: Mapping[Path, Page]):
    """Both are there, and the theme shows one."""
    folder = site / evenhand.__version__
    for name in ("index.html", "viewer.html"):
        shown = [load for load in pages[folder / name].loads if "matrix" in load]
        assert shown == ["images/matrix-light.png#only-light", "images/matrix-dark.png#only-dark"]


def test_a_bar_in_the_code_of_a_table_has_no_backslash(site: Path):
    """GitHub needs one there; a regular expression that is copied from the site must not have it."""
    assert "<code>/refund(ed)?|money back/</code>" in (
        site / evenhand.__version__ / "viewer.html"
    ).read_text("utf-8")


def test_every_page_can_be_searched_and_is_given_to_language_models(site: Path):
    """The search finds the guides, and not the pages about the project; llms-full.txt has both, llms.txt lists them."""
    folder = site / evenhand.__version__
    (index,) = folder.rglob("search.json")
    found = {
        one["location"].partition("#")[0] for one in json.loads(index.read_text("utf-8"))["items"]
    }
    whole = (folder / "llms-full.txt").read_text("utf-8")
    assert "search:\n  exclude" not in whole
    _, _, project = (ROOT / "docs" / "index.md").read_text("utf-8").partition("## Project")
    assert {"promises.md", "how-we-test.md"} <= set(re.findall(r"\(([\w-]+\.md)\)", project))
    for page in (ROOT / "docs").glob("*.md"):
        assert (f"{page.stem}.html" in found) == (f"({page.name})" not in project), page.name
        title = page.read_text("utf-8").splitlines()[0]
        assert title in whole, page.name
    listed = (folder / "llms.txt").read_text("utf-8")
    assert listed.startswith("# Evenhand\n\n> Evenhand tests applications")
    leads_to = re.findall(r"\]\(([^)#]+)", listed)
    assert len(leads_to) > 30
    assert [link for link in leads_to if not (folder / link).is_file()] == []
    assert {f"reference/python-{name.replace('.', '-')}.md" for name in MODULES} <= set(leads_to)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_an_entry_in_the_reference(name: str, pages: Mapping[Path, Page]):
    """Each is a heading on the page of its module."""
    (page,) = (p for path, p in pages.items() if path.stem == f"python-{name.replace('.', '-')}")
    names = [n for n in importlib.import_module(name).__all__ if not n.startswith("__")]
    assert [n for n in names if n.lower() not in page.anchors] == []


def test_every_command_has_an_entry_in_the_reference(site: Path, pages: Mapping[Path, Page]):
    """Each is a heading of the page on commands, to which pages lead that name it with --help; llms.txt lists it."""
    (page,) = (
        p
        for path, p in pages.items()
        if path.parent.name == "reference" and path.stem == "commands"
    )
    names = [*" ".join(SECTIONS.values()).split(), "runs list", "prompt skill", "info schema"]
    assert [n for n in names if f"evenhand-{n.replace(' ', '-')}" not in page.anchors] == []
    (guide,) = (p for path, p in pages.items() if path.name == "command-line.html")
    assert "reference/commands.html#evenhand-run" in guide.links
    listed = (site / evenhand.__version__ / "llms.txt").read_text("utf-8")
    assert "- [Commands and options](reference/commands.md)" in listed


def test_the_versions_are_listed_and_the_root_leads_to_the_newest(site: Path):
    """As the page's selector reads them."""
    (listed,) = json.loads((site / "versions.json").read_text("utf-8"))
    assert listed["version"] == evenhand.__version__
    assert f"url={evenhand.__version__}/" in (site / "index.html").read_text("utf-8")
