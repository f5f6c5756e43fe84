"""Runs in a notebook, and at a prompt."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.unit.report.conftest import ID, Make, result

from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.report.run import Run
from evenhand.store.runfile import RunFile

ALLOWED = {"div", "p", "b", "code", "table", "thead", "tbody", "tr", "th", "td", "pre"}


class Tags(HTMLParser):
    """The tags of a piece of HTML, with their attributes; each is closed in its place."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_a_notebook_shows_the_table_with_its_intervals(summaries_run: RunFile):
    """Verdict, rates, intervals, what failed and why, the comparison, the usage."""
    with Run.open(summaries_run.path) as run:
        html = run._repr_html_()
    assert (
        '<b style="color:#cf222e">failed</b> · 15 of 24 passed · 48 calls · 7,200 → 2,400 tokens'
        in html
    )
    assert "<td>7/8</td><td>88 %</td><td>53–98</td>" in html
    assert "it keeps &#x27;backpropagation&#x27;" in html
    assert "best beats basic" in html
    assert "judge: 24 calls" in html
    tags = Tags(html)
    assert tags.found == ALLOWED
    assert tags.open == []


@pytest.mark.parametrize(
    "evil",
    ["<script>alert(1)</script>", '"><img src=x onerror=y>', "</pre><b>", "&lt;i&gt;", "\x1b[2J"],
)
async def test_what_anybody_wrote_is_text_there(make_run: Make, evil: str):
    """No tag, no attribute and no escape but our own."""
    outcome = Outcome(evil, "fail", 0.0, evil, metadata={"warning": f"low confidence {evil}"})
    trials = [
        result(i, ok=ok, case=evil, description=evil, outcomes=(outcome,), reason=evil, repeat=i)
        for i, ok in enumerate((True, False))
    ]
    variant = Variant(0, evil, evil, eval=evil, where=f"{evil}:1")
    with Run.open((await make_run(trials, [variant], title=evil, repeats=2)).path) as run:
        html = run._repr_html_()
    tags = Tags(html)
    assert tags.found <= ALLOWED
    assert tags.attributes == {"style"}
    assert "\x1b" not in html


async def test_printed_it_is_the_report(summaries_run: RunFile):
    """`print(run)` shows what the command line does; at a prompt it is a line."""
    with Run.open(summaries_run.path) as run:
        assert repr(run) == f"<Run {ID[:10]}: failed, 15 of 24 passed>"
        assert "best beats basic" in str(run)
        assert str(run).startswith("Science · 3 prompts")
        assert not str(run).endswith("\n")
        assert run.verdict == "failed"


async def test_errors_and_missing_trials_are_told_everywhere(make_run: Make):
    """A run without a verdict does not look like one that passed."""
    trials = [
        result(0),
        result(1, ok=None),
        replace(result(2), outcome="not_applicable", score=None),
    ]
    with Run.open((await make_run(trials, planned=5)).path) as run:
        assert repr(run) == f"<Run {ID[:10]}: undecided, 1 of 1 passed, 1 in error>"
        assert "1 of 1 passed · 1 error · 1 not applicable · 2 not run" in run._repr_html_()
    with Run.open((await make_run([], planned=2)).path) as empty:
        assert "<table>" not in empty._repr_html_()
        assert empty.verdict == "undecided"
