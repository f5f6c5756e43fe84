"""The timeline of an agent's steps: nested, bounded, and open at the step that a verdict names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.expect import Trial
from evenhand.doors.eval_sets.expect import Expect
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import NeverFails, StepCount
from evenhand.testing import example

EVIL = "</script><img class=pwned src=x onerror=alert(1)>\x1b[2J\u202e{{7*7}}"
LONG, COUNT = "x" * 1_000_000, 10_000


async def agent(trial: Trial) -> object:
    """A few steps of every kind, and one that fails; in the second trial 10,000 of them before it."""
    expect = Expect(trial)
    with expect.step("planner", kind="agent"):
        with expect.step(EVIL, {"text": EVIL}, agent=EVIL) as step:
            step.result = {"long": LONG, "text": EVIL}
        for number in range(COUNT if trial.case.id == "case-1" else 2):
            expect.step("search", {"n": number}, result="found", cost_usd=0.001)
    expect.step("refund", {"order": 7}, error="not allowed")
    expect(None, NeverFails())
    expect(None, StepCount("agent"), at_most=1)
    return "Done."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A run of two trials."""
    home = tmp_path / ".evenhand"
    door.run(example(2, agent), Settings(home=home))
    return home


def test_a_cell_shows_what_its_agent_did_and_opens_the_step_that_failed(
    home: Path, serve: Any, watch: Any, command: Any, tmp_path: Path
):
    """From the server, and from a report in one file; whatever names and results hold is text."""
    (path,) = (home / "runs").glob("*.db")
    report = tmp_path / "report.html"
    command("export", path, "--to", report, EVENHAND_HOME=str(home))
    assert report.stat().st_size < 3_000_000
    with serve(home) as viewer:
        for link in (viewer.link, report.as_uri()):
            seen = watch(link)
            page = seen.page
            seen.turn(path.stem, cell=0, tab="steps")
            lines = page.locator(".step")
            assert lines.count() == 5
            blamed = page.locator(".step-blamed")
            assert "refund" in blamed.inner_text()
            assert "no step fails" in blamed.inner_text()
            assert blamed.locator(".step-card").get_attribute("open") is not None
            lines.nth(1).locator("summary").first.click()
            assert page.locator(".pwned").count() == 0
            sums = page.locator(".step-sums").inner_text()
            assert "search" in sums
            assert "$0.0020" in sums
            if not seen.embedded:
                page.get_by_role("button", name="Show all of it").click()
                page.get_by_text("Show all, ").wait_for()
            seen.turn(path.stem, cell=0, tab="expectations")
            page.get_by_role("button", name="Step 5").click()
            page.locator(".step-blamed").wait_for()
            assert seen.hash.endswith("tab=steps.4&cell=0")
            seen.close()


def test_the_sums_of_steps_can_be_read_on_a_phone(home: Path, serve: Any, watch: Any):
    """Their names stand in a line or two, not letter under letter, and nothing is cut off at the side."""
    (path,) = (home / "runs").glob("*.db")
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": 320, "height": 640})
        seen.turn(path.stem, cell=0, tab="steps")
        sums = seen.page.locator(".step-sums")
        for name in ("search", "refund", "planner"):
            box = sums.locator(".step-name", has_text=name).bounding_box()
            assert box["height"] < 40, name
        assert sums.evaluate("(at) => at.scrollWidth - at.parentElement.clientWidth") <= 0
        seen.close()


@pytest.mark.thorough
def test_ten_thousand_steps_come_in_pages(home: Path, serve: Any, watch: Any):
    """The first page is the one with the step that failed; the others are one click away."""
    (path,) = (home / "runs").glob("*.db")
    with serve(home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(path.stem, cell=1, tab="steps")
        assert "10,003" in page.get_by_role("tab", name="Steps").inner_text()
        assert page.locator(".step-blamed").is_visible()
        assert page.locator(".step").count() <= 300
        page.get_by_role("button", name="Earlier steps").click()
        page.get_by_role("button", name="Later steps").wait_for()
        assert page.locator(".step").count() <= 300
        seen.turn(path.stem, cell=1, tab="steps.1")
        page.get_by_text("planner", exact=True).last.wait_for()
        seen.close()


@pytest.mark.thorough
def test_an_outline_says_where_one_is_and_leads_to_each_step(home: Path, serve: Any, watch: Any):
    """Beside the steps, or at the foot of a phone; by clicks and keys; it begins at the step that failed."""
    (path,) = (home / "runs").glob("*.db")
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": 1440, "height": 900})
        page, press = seen.page, seen.page.keyboard.press
        seen.turn(path.stem, cell=1, tab="steps", wide=1)
        outline = page.get_by_role("navigation", name="Outline")
        current = outline.locator("[aria-current]")
        current.get_by_text("refund").wait_for()
        assert "failed" in current.inner_text()
        press(",")
        current.get_by_text("search").wait_for()
        assert page.evaluate("() => document.activeElement.parentElement.open")
        press(">")
        current.get_by_text("refund").wait_for()
        page.locator(".drawer").evaluate("(at) => at.scrollTo(0, 0)")
        page.wait_for_function(
            "() => document.querySelector('.outline li').querySelector('[aria-current]')"
        )
        seen.turn(path.stem, cell=1, tab="steps.3", wide=1)
        outline.get_by_text("7*7").click()
        assert "7*7" in current.inner_text()
        assert page.locator(".pwned").count() == 0
        assert page.locator(".step-card").nth(1).get_attribute("open") is not None
        press("ArrowDown")
        assert page.evaluate("() => document.activeElement.ariaCurrent") == "step"
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_text("Outline: 3 of 10,003").click()
        page.locator(".outline li").nth(3).get_by_role("button").click()
        page.get_by_text("Outline: 4 of 10,003").wait_for()
        seen.close()
