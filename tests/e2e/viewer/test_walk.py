"""The way of somebody who has just run three prompts: which failed, why, and which of them is best."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[3] / "examples" / "summaries"

COUNT = "() => { window.clicks = 0; addEventListener('click', () => { window.clicks++; }, true); }"


def test_from_a_run_to_the_best_prompt_in_five_clicks(
    tmp_path: Path, command: Any, serve: Any, watch: Any
):
    """Open the run; find the failing cell; read why, and what was asked; compare the prompts on charts."""
    home = tmp_path / "home"
    folder = shutil.copytree(
        EXAMPLE, tmp_path / "summaries", ignore=shutil.ignore_patterns(".evenhand")
    )
    command("run", folder, "--offline", EVENHAND_HOME=str(home))
    with serve(home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        page.evaluate(COUNT)

        page.get_by_role("link", name="Science articles").click()
        grid = page.get_by_role("grid")
        heads = grid.get_by_role("columnheader")
        assert [heads.nth(n).locator(".head-name").inner_text().rpartition(":")[2] for n in (1, 2, 3)] == [
            "basic",
            "better",
            "best",
        ]  # fmt: skip
        assert [heads.nth(n).locator("b").first.inner_text() for n in (1, 2, 3)] == [
            "0 %",
            "88 %",
            "100 %",
        ]
        assert "53–98 %" in heads.nth(2).inner_text()

        failing = grid.get_by_role("gridcell", name="better, case 3, fail")
        failing.click()
        drawer = page.get_by_role("dialog")
        drawer.get_by_text("the summary keeps 'backpropagation' unexplained").first.wait_for()
        assert "3.67" in drawer.inner_text()
        drawer.get_by_role("tab", name="Prompt").click()
        assert "for a class of ten-year-olds" in drawer.inner_text()

        page.get_by_role("navigation").get_by_role("link", name="Charts").click()
        charts = page.locator(".charts")
        charts.wait_for()
        text = charts.inner_text()
        for name in ("basic", "better", "best"):
            assert name in text
        assert "88 %" in text
        assert "53–98" in text
        assert "8 cases" in text
        assert page.evaluate("() => window.clicks") <= 5


def test_each_expectation_shows_what_its_own_judge_was_asked_and_answered(
    either: str, runs: list[str], watch: Any
):
    """Two judges of one answer: under each is the one call that was made for it, and under others none."""
    seen = watch(either)
    seen.show(runs[0], cell=0, tab="expectations")
    cards = seen.page.locator(".expectations > details")
    for card in cards.all():
        if card.get_attribute("open") is None:
            card.locator("summary").first.click()
    for name, key, others in (("is polite", "passes", "score"), ("clarity", "score", "passes")):
        call = cards.filter(has_text=name).locator("details", has_text="judge-model")
        assert call.count() == 1
        call.locator("summary").first.click()
        call.get_by_text("Request as sent").wait_for()
        text = call.inner_text()
        assert (text.count(key) >= 2, text.count(others)) == (True, 0)
    assert cards.filter(has_text="sources").locator("details", has_text="judge-model").count() == 0
