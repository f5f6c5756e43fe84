"""Many rows are a few elements: what is not seen is not drawn, and what is counted is right."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile

COUNT = (
    "() => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') ?? 1) - 1"
)


@pytest.mark.thorough
def test_two_thousand_rows_are_filtered_rightly_and_drawn_sparingly(
    bench: Any, serve: Any, watch: Any, tmp_path: Path
):
    """Filters choose what Python chooses; at every place of the list, fewer than 300 rows are in the document."""
    path = bench("viewer_run").write_run(tmp_path / "home", 2000, 2)
    with RunFile.open(path) as run:
        trials = list(run.trials())
    wanted = {
        "status:fail": {t.case for t in trials if t.outcome == "fail"},
        "status:error": {t.case for t in trials if t.outcome == "error"},
        "score<0.6": {t.case for t in trials if t.score is not None and t.score < 0.6},
        "similarity>=0.9 -tag:billing": {
            t.case
            for t in trials
            if t.named_scores.get("similarity", 0) >= 0.9 and "billing" not in t.metadata["tags"]
        },
        "latency>2.5s": {t.case for t in trials if t.latency_s is not None and t.latency_s > 2.5},
        "metadata.document:d7": {t.case for t in trials if t.metadata["document"] == "d7"},
        "case:case-0012": {t.case for t in trials if "case-0012" in t.case},
        "'no answer came'".replace("'", '"'): {t.case for t in trials if t.outcome == "error"},
    }
    with serve(tmp_path / "home") as viewer:
        seen = watch(viewer.link)
        page = seen.page
        for query, cases in wanted.items():
            seen.turn(path.stem, q=query)
            page.wait_for_function(f"(wanted) => ({COUNT})() === wanted", arg=len(cases))
        seen.turn(path.stem, size="s")
        page.wait_for_function(f"() => ({COUNT})() === 2000")
        for share in (0, 0.13, 0.5, 0.77, 1):
            page.get_by_role("grid").evaluate(
                "(at, share) => { at.scrollTop = at.scrollHeight * share; }", share
            )
            page.wait_for_timeout(120)
            assert 5 < page.locator("[role=row]").count() < 300
        last = page.get_by_role("rowheader").last
        assert "case-001999" in last.inner_text() or "1999" in last.inner_text()
    db = sqlite3.connect(path)
    (failed,) = db.execute(
        "select count(distinct case_id) from trial where outcome = 'fail'"
    ).fetchone()
    db.close()
    assert failed == len(wanted["status:fail"])
