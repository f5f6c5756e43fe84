"""A run as a page of HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from tests.unit.report.conftest import Make, result

from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.report.export import export
from evenhand.store.runfile import RunFile

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u202e"


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(run: RunFile, folder: Path) -> Seen:
    """What a browser makes of it."""
    export(run, folder / "a.html")
    page = Seen()
    page.feed((folder / "a.html").read_text("utf-8"))
    return page


async def test_the_page_has_every_trial_and_what_it_came_to(
    summaries_run: RunFile, tmp_path: Path
) -> None:
    """The rates with their intervals, outputs, reasons, prompts."""
    page = seen(summaries_run, tmp_path)
    assert page.text.count("✓ pass") + page.text.count("✗ fail") == 24
    for words in ("0/8", "7/8", "8/8", "tides", "wanted at least 4.5", "Summarise tides."):
        assert words in page.text


async def test_nothing_that_anybody_wrote_is_markup(make_run: Make, tmp_path: Path) -> None:
    """No script, no handler, no image, nothing from elsewhere; the page forbids them besides."""
    outcome = Outcome(EVIL, "fail", 0.0, EVIL)
    trial = result(
        0, ok=False, output=EVIL, description=EVIL, prompt=EVIL, reason=EVIL, vars={EVIL: EVIL}, outcomes=(outcome,)
    )  # fmt: skip
    run = await make_run([trial, result(1, output={EVIL: [EVIL]})], (Variant(0, EVIL, EVIL),))
    page = seen(run, tmp_path)
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "a"})
    assert not any(name.startswith("on") or name in ("src", "href") for name in page.attributes)
    assert "<script>alert(1)</script>" in page.text
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_what_was_not_run_and_what_went_wrong_are_said(
    make_run: Make, tmp_path: Path
) -> None:
    """A test that one column did not take, and an error."""
    variants = (Variant(0, "p", "A"), Variant(1, "p", "B"))
    run = await make_run([result(0, ok=None, case="a")], variants, planned=2)
    page = seen(run, tmp_path)
    assert "not run" in page.text
    assert "asked too often" in page.text
    assert "1 error" in page.text
