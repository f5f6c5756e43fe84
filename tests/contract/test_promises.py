"""The page of promises names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

from evenhand.testing.script import FAULTS, RULE_KEYS

ROOT = Path(__file__).resolve().parents[2]


def test_each_promise_names_a_test_that_exists():
    """And each row has at least one."""
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    known = {
        name
        for source in sources
        for name in re.findall(r"^(?:async )?(?:def|class) (\w+)\(", source, re.MULTILINE)
    }
    tables = re.findall(
        r"^\| we promise \| held by \|\n\| --- \| --- \|\n((?:\|.+\n)+)", page, re.MULTILINE
    )
    rows = re.findall(r"^\| (.+) \| (.+) \|$", "".join(tables), re.MULTILINE)
    assert len(rows) > 150
    for promise, tests in rows:
        named = re.findall(r"`(\w+)`", tests)
        assert named, promise
        assert set(named) <= known, promise


def test_the_page_explains_every_key_and_every_fault_of_a_script():
    """It is where people look who write an `offline.jsonl`."""
    page = (ROOT / "docs" / "fake-provider.md").read_text("utf-8")
    section = page.partition("## Scripts on disk")[2]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^- (`.+?): ", section, re.MULTILINE))))
    assert named == set(RULE_KEYS) | set(FAULTS)
