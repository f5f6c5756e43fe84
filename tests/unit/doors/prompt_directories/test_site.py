from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories.evidence import EVALS, PROMOTIONS, USAGE
from evenhand.doors.prompt_directories.listing import described, description_lines
from evenhand.doors.prompt_directories.promotion_rules import evidence_of, gates, standing
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.doors.prompt_directories.site import build
from evenhand.doors.prompt_directories.writing import write

NASTY = "</pre></style><script>alert(1)</script>\"'<img src=x onerror=alert(1)>\u202e\x1b[2J&amp;"


class Tags(HTMLParser):
    """All tags and attributes of a page, and its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in ("href", "src"):
                self.links.add(value)


def pages(folder):
    """All pages by their path."""
    return {
        str(p.relative_to(folder)): p.read_text("utf-8") for p in sorted(folder.rglob("*.html"))
    }


def test_the_site_has_an_index_and_a_page_for_each_prompt(shelf, tmp_path):
    """With the text as it is written, its variables marked, and what gates ask for."""
    shelf.add("other", prompt="one\n  two\n\n{{who}}\n")
    build(shelf.library, tmp_path / "site")
    found = pages(tmp_path / "site")
    assert list(found) == ["index.html", "prompts/greet.html", "prompts/other.html"]
    assert "2 prompts" in found["index.html"]
    assert "one\n  two\n\n<mark>{{who}}</mark>" in found["prompts/other.html"]
    assert "0 of 3 distinct successful sends" in found["prompts/greet.html"]


def test_pages_are_the_same_when_written_again(shelf, tmp_path):
    """Byte by byte, and nothing is written."""
    assert build(shelf.library, tmp_path / "site")[0].endswith("2 pages, 2 written")
    before = pages(tmp_path / "site")
    assert build(shelf.library, tmp_path / "site")[0].endswith("2 pages, 0 written")
    assert pages(tmp_path / "site") == before


def test_whatever_files_say_is_text(shelf, tmp_path):
    """Titles, prompts, notes, tags, rows: no tag, attribute or link but ours, and a policy that names the style."""
    meta = {
        "id": "greet", "title": NASTY, "summary": NASTY, "status": "draft", "version": NASTY, "created": NASTY,
        "updated": NASTY, "tags": [NASTY], "triggers": [NASTY], "not_for": [NASTY], "notes": NASTY,
        "description": NASTY, "model": NASTY, "inputs": [{"name": "who", "default": NASTY}],
    }  # fmt: skip
    folder = shelf.add("greet", meta=json.dumps(meta), prompt=NASTY + "{{who}}")
    nasty = dict.fromkeys(
        ("ts", "case", "model", "address", "run", "failed_cases", "reasons"), NASTY
    )
    for name in (USAGE, EVALS, PROMOTIONS):
        row = {**nasty, "sent": True, "template": NASTY, "models": [NASTY], "judges": [NASTY]}
        (folder / name).write_text(json.dumps(row) + "\n")
    build(shelf.library, tmp_path / "site")
    for page in pages(tmp_path / "site").values():
        seen = Tags(page)
        assert seen.tags.isdisjoint({"script", "img", "iframe", "link", "form", "object"})
        assert not {name for name in seen.attributes if name.startswith("on")}
        assert not {link for link in seen.links if ":" in link or link.startswith("/")}
        assert "\x1b" not in page
        assert "\u202e" not in page
        (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
        digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert f"default-src &#x27;none&#x27;; style-src 'sha256-{digest}'" in page.replace(
            "default-src 'none'", "default-src &#x27;none&#x27;"
        )
        assert "style=" not in page


def test_a_page_of_somebody_else_is_not_overwritten(shelf, tmp_path):
    """Nothing is written then; a page of a prompt that is gone is told, and left."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("mine")
    with pytest.raises(UsageError, match="not a page of this site; nothing was written"):
        build(shelf.library, tmp_path / "site")
    assert list(pages(tmp_path / "site")) == ["index.html"]
    shelf.add("gone")
    build(shelf.library, tmp_path / "other")
    (shelf.library.prompts / "gone/meta.yml").unlink()
    (shelf.library.prompts / "gone/prompt.xml").unlink()
    assert "gone.html is of no prompt any more" in build(shelf.library, tmp_path / "other")[1]


def test_a_prompt_that_cannot_be_read_has_its_page_all_the_same(shelf, tmp_path):
    """It says why, and the others are there."""
    shelf.add("broken", meta="id: [", prompt="")
    build(shelf.library, tmp_path / "site")
    assert "cannot be read" in pages(tmp_path / "site")["prompts/broken.html"]


def test_what_has_changed_since_the_last_promotion_is_shown(shelf, tmp_path):
    """Where the promotion has kept the text; one that is older has not, and nothing is shown."""
    path = shelf.library.prompts / "greet" / PROMOTIONS
    write(path, json.dumps({"ts": "2026-01-02T00:00:00Z", "to": "tested"}) + "\n")
    build(shelf.library, tmp_path / "site")
    assert "Since the last promotion" not in pages(tmp_path / "site")["prompts/greet.html"]
    row = {"ts": "2026-01-02T00:00:00Z", "to": "tested", "template": "<p>Bye {{who}}</p>\n"}
    write(path, json.dumps(row) + "\n")
    build(shelf.library, tmp_path / "site")
    page = pages(tmp_path / "site")["prompts/greet.html"]
    assert '<span class="del">-&lt;p&gt;Bye {{who}}&lt;/p&gt;</span>' in page
    assert '<span class="add">+&lt;p&gt;Hello {{who}}&lt;/p&gt;</span>' in page


KEYS = (
    "ts case vars_hash text_hash sent exit_code verified content model address run run_digest partial offline models "
    "judges judge judge_named_by addresses all_passed total passed failed_cases trials trials_passed interval reasons "
    "triggering to template forced model_answered prompt"
).split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "echo", "<b>", "01M82BDBBC01M82BDBBC01M82B", "http://[", "eval.yml"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "echo", "n"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True)
@given(rows=st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), max_size=3))
def test_rows_that_hold_anything_are_read_shown_and_open_no_gate(shelf, tmp_path, rows):
    """Whoever can write the file can write anything: no traceback, and no gate is met by it."""
    prompt = shelf.read()
    content = evidence_of(prompt).content
    real = {"sent": content.sent, "whole": content.whole}
    for name, key in ((USAGE, "sent"), (EVALS, "whole"), (PROMOTIONS, "whole")):
        lines = [json.dumps({"content": real[key], "sent": True, **row}) for row in rows]
        (prompt.path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    evidence = evidence_of(prompt, runs=KeptRuns(tmp_path / ".evenhand"), must_be_here=True)
    for target in ("tested", "ready"):
        assert not gates(prompt, target, evidence)[0].met
    standing(prompt, evidence)
    description_lines(described(prompt))
    build(shelf.library, tmp_path / "site")
