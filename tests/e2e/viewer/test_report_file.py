"""The run as one file: opened from the disk, without a network, and with everything that can be looked at in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_everything_works_from_the_file_alone(report: Path, runs: list[str], watch: Any):
    """List, matrix, filter, text search, drawer with its calls, charts; no request but for the file itself."""
    seen = watch(report.as_uri(), offline=True)
    page = seen.page
    grid = page.get_by_role("grid")
    if grid.count() == 0:
        page.get_by_role("link", name="shop assistant").first.click()
    grid.wait_for()
    assert grid.get_attribute("aria-rowcount") == "41"
    filter_ = page.get_by_label("Filter", exact=True)
    for query, rows in (
        ("tag:billing", 8),
        ("case:world", 4),
        ("返品は", 1),
        ('"STATUS is nowhere"', 0),
        ("status:error", 1),
        ("clarity<3", 2),
    ):
        filter_.fill(query)
        filter_.press("Enter")
        page.wait_for_function(
            "(rows) => Number(document.querySelector('[role=grid]')?.ariaRowCount ?? 1) === rows + 1",
            arg=rows,
        )
    filter_.fill("")
    filter_.press("Enter")
    page.get_by_role("gridcell").first.click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("tab", name="Calls").click()
    assert "shop-model" in drawer.inner_text()
    assert "judge-model" in drawer.inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("navigation").get_by_role("link", name="Charts").click()
    page.locator(".charts svg").first.wait_for()
    assert page.get_by_role("group", name="Your label").count() == 0


def at_rest(place: Any) -> str:
    """The text of a place once it has stopped changing: charts come one after another."""
    text = ""
    for _ in range(40):
        before, text = text, place.evaluate("(at) => at.textContent")
        if text and text == before:
            break
        place.page.wait_for_timeout(300)
    return text


@pytest.mark.thorough
def test_server_and_file_show_the_same(served: Any, report: Path, runs: list[str], watch: Any):
    """The same words in matrix, drawer and charts, wherever the data came from."""
    shown: list[list[str]] = []
    for link in (served.link, report.as_uri()):
        seen = watch(link)
        texts: list[str] = []
        for state, place in (
            ({}, "[role=grid]"),
            ({"q": "status:fail"}, "[role=grid]"),
            ({"cell": 9, "tab": "expectations"}, "[role=tabpanel]"),
            ({"cell": 9, "tab": "calls"}, "[role=tabpanel]"),
            ({"cell": 9, "tab": "prompt"}, "[role=tabpanel]"),
            ({"view": "charts"}, ".charts"),
        ):
            seen.turn(runs[0], **state)
            seen.page.locator(place).wait_for()
            seen.settled()
            texts.append(at_rest(seen.page.locator(place)))
        shown.append(texts)
    assert shown[0] == shown[1]


@pytest.mark.thorough
def test_a_report_of_three_thousand_cells_is_small_and_opens(
    bench: Any, command: Any, watch: Any, tmp_path: Path
):
    """1,000 × 3: at most 3 MB; its rows are there (bench/viewer.py measures how soon)."""
    path = bench("viewer_run").write_run(tmp_path / "home", 1000, 3)
    report = tmp_path / "report.html"
    command("export", path.stem, "--to", report, EVENHAND_HOME=str(tmp_path / "home"))
    assert report.stat().st_size <= 3_000_000
    seen = watch(report.as_uri() + f"#/run/{path.stem}")
    seen.page.get_by_role("gridcell").first.wait_for()
    assert seen.page.get_by_role("grid").get_attribute("aria-rowcount") == "1001"


@pytest.mark.thorough
def test_a_report_with_a_baseline_opens_on_the_run_and_answers_for_both(
    home: Path, runs: list[str], command: Any, watch: Any, tmp_path: Path
):
    """No list before it and nothing to go back to; the comparison, and an output against the earlier one, offline."""
    report = tmp_path / "report.html"
    command(
        "export", runs[1], "--baseline", runs[0], "--to", report, EVENHAND_HOME=str(home)
    )  # fmt: skip
    seen = watch(report.as_uri(), offline=True)
    page = seen.page
    page.get_by_role("gridcell").first.wait_for()
    assert seen.hash == f"#/run/{runs[1]}?base={runs[0]}"
    page.get_by_text("regressed").first.wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Comparison").click()
    page.get_by_text("Is it better than the baseline?").wait_for()
    page.get_by_role("button", name="passed before, fail now").click()
    page.get_by_role("gridcell").get_by_text("regressed").first.click()
    page.get_by_role("tab").first.wait_for()
    page.keyboard.press("b")
    page.get_by_text("only in the baseline").wait_for()


def test_a_report_of_some_trials_says_that_others_were_left_out(
    home: Path, runs: list[str], command: Any, watch: Any, tmp_path: Path
):
    """Cells that the filter left out were planned, and ran; cases keep the numbers that the terminal gives them."""
    report = tmp_path / "some.html"
    command(
        "export",
        runs[0],
        "--where",
        "tag:world -variant:short",
        "--to",
        report,
        EVENHAND_HOME=str(home),
    )
    seen = watch(report.as_uri())
    page = seen.page
    page.get_by_role("gridcell").first.wait_for()
    assert page.locator(".case-number").all_inner_texts() == ["33", "34", "35", "36"]
    assert page.get_by_role("gridcell").get_by_text("left out").count() == 4
    assert page.get_by_text("not planned").count() == 0
    seen.turn(runs[0], view="about")
    page.get_by_text("16 trials of 4 cases; the others were left out").wait_for()
