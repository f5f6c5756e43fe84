"""The pages are written in plain words: those of docs/house-style.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIRST = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [p for p in [*FIRST, *DOCS.rglob("*.md")] if p.name != "house-style.md"]
INSTEAD = {
    r"referees?": "judge, or the name of the class",
    r"hangs? on": "depends on",
    r"(is|are|was) told": "is reported, or gets",
    r"nobody knows": "is unknown",
    r"whoever": "anyone who",
    r"will do": "is enough",
    r"what is so": "is correct",
    r"of ours": "our",
    r"go(es)? on (with|as|where)": "continues",
    r"in order that": "so that",
    r"for ever": "forever",
    r"take warnings for": "treat warnings as",
    r"looks? whether": "checks whether",
}


MOST_WORDS = 60_000
"""Of guides and reference together, as `wc -w` counts them: with code and the marks of tables."""


def test_guides_and_reference_stay_short_enough_to_find_ones_way_in():
    """All pages that docs/index.md lists before its section Project; a word is what has blanks around it."""
    before = (DOCS / "index.md").read_text("utf-8").partition("## Project")[0]
    pages = {
        DOCS / "index.md",
        *(DOCS / name for name in re.findall(r"\(([\w-]+\.md)[)#]", before)),
    }
    assert len(pages) > 50
    counts = {page.name: len(page.read_text("utf-8").split()) for page in pages}
    assert sum(counts.values()) <= MOST_WORDS, counts


def prose(page: Path) -> str:
    """A page without its code blocks and tables, which may quote what code prints."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_pages_avoid_words_that_have_a_plain_one(page: Path):
    """Each of these reads translated, or is a second name for a thing that has one."""
    text = prose(page)
    hits = {
        hit[0]: plain
        for word, plain in INSTEAD.items()
        for hit in re.finditer(rf"\b{word}\b", text, re.IGNORECASE)
    }
    assert hits == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_sentence_of_a_page_has_to_be_read_twice(page: Path):
    """A sentence has at most 50 words. Decisions are left out: their readers know the code."""
    if page.parent.name == "decisions":
        return
    sentences = re.split(r"(?<=[.:!?])\s+|\n", prose(page))
    assert [s for s in sentences if len(s.split()) > 50] == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda p: p.name)
def test_a_page_begins_with_an_example(page: Path):
    """Within its first 15 lines, but for the map, and pages that are lists of rules."""
    if page.name in ("index.md", "what-is-public.md", "releasing.md"):
        return
    beginning = page.read_text("utf-8").splitlines()[:15]
    assert any(line.startswith("```") for line in beginning)
