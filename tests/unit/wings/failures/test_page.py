"""The page for people who decide: shares, an example of each kind, and nothing that a browser would run."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs import Make, result
from tests.unit.wings.failures.test_counting import KIND, accepted, again

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes
from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.core.errors import UsageError
from evenhand.languages.documents.failures_yml import NoteId
from evenhand.wings.failures.counting import counted
from evenhand.wings.failures.page import check_place, write_page

HOSTILE = "<script>alert(1)</script>\x1b]0;x\x07<img src=x onerror=y>"


async def test_each_kind_has_its_share_and_an_example_and_foreign_text_is_text(
    make_run: Make, tmp_path: Path
):
    """Six kinds are too many: the five most frequent are on the page. It replaces itself, and no other file."""
    run = await make_run(
        [result(i, ok=i >= 20, output=f"{HOSTILE} {i}", input=HOSTILE) for i in range(60)]
    )
    draw_outputs([run], 40, seed=1)
    notes: list[NoteId] = []
    for note in drawn_notes([again(run)]):
        keep_review(run.path, note.index, "ann", "fail" if note.index < 20 else "pass", HOSTILE)
        notes += [note] if note.index < 20 else []
    kinds = [
        replace(KIND, name=f"kind {n} <b>", rule="<i> A rule.", notes=tuple(notes[: 12 - 2 * n]))
        for n in range(6)
    ]
    book = replace(accepted(*kinds), without_kind=tuple(notes[12:]))
    runs, to = [again(run)], tmp_path / "kinds.html"
    document = counted(runs, book)
    for _ in range(2):
        write_page(document, runs, book, to)
    html = to.read_text()
    assert html.count("<h2>kind ") == 5
    assert "kind 5" not in html
    assert "The 5 most frequent of 6 kinds:" in html
    share = document.kinds[0].share
    assert share is not None
    assert f"{share.value:.0%}".replace("%", " %") in html
    assert html.count("<b>People say</b>") == 5
    for sign in ("<script", "<img", "<i>", "\x1b", "\x07"):
        assert sign not in html
    to.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        check_place(to)
    with pytest.raises(UsageError, match="not written over"):
        write_page(document, runs, book, to)
    assert to.read_text() == "mine"
