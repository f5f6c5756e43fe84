"""On a phone: nothing is wider than the screen, and everything can be reached with a thumb."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("width", [390, 360])
def test_no_view_is_wider_than_the_screen(served: Any, runs: list[str], watch: Any, width: int):
    """List, matrix, drawer in each tab, charts, comparison, about: the page itself never scrolls sideways."""
    seen = watch(served.link, **{**PHONE, "viewport": {"width": width, "height": 740}})
    assert seen.page.evaluate(WIDER) <= 0
    for state in (
        {},
        {"size": "l", "md": 1},
        {"q": "statsu:fail"},
        {"view": "charts"},
        {"view": "comparison", "base": runs[0]},
        {"view": "summary"},
        {"view": "history"},
        {"view": "about"},
        *(
            {"cell": 7, "tab": tab}
            for tab in ("", "expectations", "prompt", "calls", "labels", "more")
        ),
    ):
        seen.turn(runs[1], **state)
        seen.page.wait_for_timeout(80)
        assert seen.page.evaluate(WIDER) <= 0, state


def test_everything_can_be_reached_by_touch(served: Any, runs: list[str], watch: Any):
    """A run, another column, a filter, a cell, its reasons, a label's buttons, the charts: all by taps."""
    seen = watch(served.link, **PHONE)
    page = seen.page
    page.get_by_role("link", name="shop assistant").first.tap()
    page.get_by_role("grid").wait_for()
    page.get_by_role("button", name="Column to the right").tap()
    page.wait_for_function("() => location.hash.includes('col=1')")
    filter_ = page.get_by_label("Filter", exact=True)
    filter_.tap()
    filter_.fill("status:fail")
    filter_.press("Enter")
    page.wait_for_function("() => location.hash.includes('status')")
    page.get_by_role("gridcell").first.tap()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("tab", name="Expectations").tap()
    for name in ("pass", "fail"):
        box = drawer.get_by_role("group", name="Your label").get_by_role("button", name=name)
        size = box.bounding_box()
        assert size["width"] >= 24
        assert size["height"] >= 24
        assert 0 <= size["x"] <= 390 - size["width"]
    drawer.get_by_role("button", name="Close").tap()
    drawer.wait_for(state="hidden")
    page.get_by_role("navigation").get_by_role("link", name="Charts").tap()
    page.locator(".charts svg").first.wait_for()


def test_every_view_and_every_tab_of_a_cell_is_in_sight_on_a_phone(
    served: Any, runs: list[str], watch: Any
):
    """None of them has to be found by scrolling sideways."""
    seen = watch(served.link, viewport={"width": 390, "height": 844})
    seen.turn(runs[1])
    last = seen.page.get_by_role("navigation").get_by_role("link").last.bounding_box()
    assert last["x"] + last["width"] <= 390
    seen.turn(runs[1], cell=52)
    seen.page.get_by_role("tab").first.wait_for()
    last = seen.page.get_by_role("tab").last.bounding_box()
    assert last["x"] + last["width"] <= 390


def test_three_rows_are_in_view_on_a_phone_whatever_the_run_says(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Its message takes one line, on each tab, until somebody unfolds it."""
    with sqlite3.connect(own_home / "runs" / f"{runs[1]}.db") as db:
        (meta,) = db.execute("select meta from run").fetchone()
        stopped = msgspec.json.decode(meta) | {"status": "stopped", "planned": 900}
        stopped["message"] = "the address did not answer 70 attempts in a row: " + "HTTP 500 " * 80
        db.execute("update run set meta = ?", (msgspec.json.encode(stopped),))
    with serve(own_home) as viewer:
        seen = watch(viewer.link, **PHONE)
        seen.turn(runs[1])
        page = seen.page
        third = page.locator(".matrix-body [role=row]").nth(2).bounding_box()
        assert third["y"] + third["height"] <= 844
        message = page.locator(".totals-message")
        assert "HTTP 500" in message.inner_text()
        assert message.bounding_box()["height"] < 30
        message.get_by_role("button", name="More").tap()
        assert message.bounding_box()["height"] > 60
        page.get_by_role("link", name="Charts").tap()
        message.get_by_role("button", name="Less").tap()
        assert message.bounding_box()["height"] < 30
        seen.close()


def test_a_columns_numbers_fade_where_more_of_them_follow_and_the_last_one_is_shown_whole(
    served: Any, runs: list[str], watch: Any
):
    """None is cut off at the edge as if it ended there."""
    seen = watch(served.link, **PHONE)
    seen.turn(runs[1])
    numbers = seen.page.locator(".head-numbers").first
    numbers.wait_for()
    assert numbers.evaluate("of => of.scrollWidth > of.clientWidth")
    assert "gradient" in numbers.evaluate("of => getComputedStyle(of).maskImage")
    faded = 32
    numbers.evaluate("of => of.scrollTo(of.scrollWidth, 0)")
    box, last = numbers.bounding_box(), numbers.locator("> *").last.bounding_box()
    assert last["x"] + last["width"] <= box["x"] + box["width"] - faded + 1
    seen.close()


def test_what_a_run_says_and_how_a_cell_is_closed_are_in_sight_on_a_phone(
    served: Any, runs: list[str], watch: Any, tmp_path: Path, serve: Any
):
    """A short conclusion is shown whole, in as many lines as it takes; the cell's bar is one row."""
    page = watch(served.link, **PHONE)
    page.turn(runs[1], cell=52)
    bar = page.page.locator(".drawer-bar")
    bar.wait_for()
    assert bar.bounding_box()["height"] < 50
    (tmp_path / "two_evals.py").write_text(TWO_PROMPTS)
    done = subprocess.run(
        [*COMMAND, "run", "two_evals.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (run,) = (tmp_path / ".evenhand" / "runs").glob("*.db")
    with serve(tmp_path / ".evenhand") as viewer:
        seen = watch(viewer.link, **PHONE)
        seen.turn(run.stem)
        said = seen.page.locator(".headline p")
        assert "over 10 cases (paired)" in said.inner_text()
        assert said.evaluate("p => p.scrollHeight <= p.clientHeight + 1")


TWO_PROMPTS = """
from evenhand import EvalSet
from evenhand.scorers import Contains

data = [{"id": f"t{i}"} for i in range(10)]
evals = EvalSet("triage", data=data, over={"prompt": ["plain", "strict"]})


@evals.eval
def says(case, prompt, expect):
    expect(prompt, Contains("strict"), metric="label")
"""
