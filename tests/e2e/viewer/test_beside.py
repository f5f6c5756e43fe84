"""An output stands beside what was expected of it, and beside what another column answered."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.thorough
def test_the_output_and_its_expectations_are_on_one_screen(
    either: str, runs: list[str], watch: Any
):
    """In the first tab, without a scroll: the output on the left, each expectation on the right, failures first."""
    seen = watch(either, viewport={"width": 1440, "height": 900})
    seen.turn(runs[0], cell=52)
    drawer = seen.page.get_by_role("dialog")
    expectations = drawer.get_by_role("region", name="Expectations")
    expectations.wait_for()
    output = drawer.get_by_role("heading", name="Output")
    left, right = output.bounding_box(), expectations.bounding_box()
    assert left["x"] + left["width"] < right["x"]
    assert abs(left["y"] - right["y"]) < 60
    assert right["y"] + right["height"] <= 900
    assert "✗" in expectations.locator("summary").first.inner_text()


@pytest.mark.thorough
def test_on_a_phone_the_expectations_follow_the_output(served: Any, runs: list[str], watch: Any):
    """Where there is no room beside it, they stand below it."""
    seen = watch(served.link, viewport={"width": 390, "height": 844})
    seen.turn(runs[1], cell=52)
    drawer = seen.page.get_by_role("dialog")
    expectations = drawer.get_by_role("region", name="Expectations")
    expectations.wait_for()
    output = drawer.get_by_role("heading", name="Output").bounding_box()
    assert expectations.bounding_box()["y"] > output["y"] + output["height"]


@pytest.mark.thorough
def test_two_columns_stand_beside_each_other_with_their_differences(
    either: str, runs: list[str], watch: Any
):
    """Chosen in a menu or by key, kept in the address; each side has its outcome, and what only it says is marked."""
    seen = watch(either, viewport={"width": 1440, "height": 900})
    page = seen.page
    seen.turn(runs[0], cell=12)
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("Beside another column").select_option(label="friendly")
    page.wait_for_function("() => location.hash.includes('tab=output.variant-1')")
    other = drawer.get_by_role("region", name="friendly")
    own = drawer.get_by_role("region", name="short")
    other.wait_for()
    assert other.bounding_box()["x"] < own.bounding_box()["x"]
    assert other.locator(".beside-came .mark").count() == 1
    for side in (other, own):
        checks = side.get_by_role("list", name="Expectations").get_by_role("listitem")
        assert checks.count() == 5
        assert checks.filter(has_text='passes "is polite"').count() == 1
    other.locator("del").or_(own.locator("ins")).first.wait_for()  # compared once it is drawn
    assert other.locator("ins").count() == 0
    assert own.locator("del").count() == 0
    assert other.locator("del").count() + own.locator("ins").count() > 0
    drawer.get_by_role("button", name="Next difference").click()
    assert page.evaluate("() => ['INS', 'DEL'].includes(document.activeElement.tagName)")
    background = own.locator("ins").first.evaluate("(at) => getComputedStyle(at).backgroundColor")
    assert background != "rgba(0, 0, 0, 0)"
    drawer.get_by_role("button", name="Markdown on both sides").click()
    page.wait_for_function("() => location.hash.includes('tab=output.variant-1.markdown')")
    assert other.locator(".md").count() == own.locator(".md").count() == 1
    page.keyboard.press("c")
    drawer.get_by_role("region", name="strict").locator(".md").wait_for()
    page.keyboard.press("d")
    drawer.get_by_role("region", name="the expected value").locator(".md").wait_for()
    drawer.get_by_role("button", name="Differences").click()
    drawer.locator(".diff-text").wait_for()
    page.keyboard.press("c")
    drawer.get_by_role("region", name="friendly").wait_for()
    page.keyboard.press("c")
    drawer.get_by_role("region", name="strict").wait_for()
    page.keyboard.press("c")
    page.wait_for_function("() => !location.hash.includes('variant')")
    page.reload()
    drawer.get_by_role("region", name="Expectations").wait_for()


def test_blind_no_other_column_can_be_put_beside(served: Any, runs: list[str], watch: Any):
    """It would name columns, and tell their verdicts."""
    seen = watch(served.link)
    seen.turn(runs[1], cell=12, blind=1, tab="output.variant-1")
    drawer = seen.page.get_by_role("dialog")
    drawer.get_by_role("heading", name="Output").wait_for()
    assert drawer.get_by_label("Beside another column").count() == 0
    assert drawer.get_by_role("region", name="Expectations").count() == 0
    assert "friendly" not in drawer.inner_text()


def test_a_cell_is_read_in_the_whole_window_with_what_was_asked(
    either: str, runs: list[str], watch: Any
):
    """By a key, kept in the address and from cell to cell; Markdown at once, or plain for whoever chose that."""
    seen = watch(either, viewport={"width": 1440, "height": 900})
    page, press = seen.page, seen.page.keyboard.press
    seen.turn(runs[0], q="case:table")
    page.get_by_role("gridcell").first.click()
    drawer = page.get_by_role("dialog")
    drawer.locator(".answered .md table").wait_for()
    press("r")
    drawer.get_by_role("region", name="Asked").get_by_text("Which options do I have").wait_for()
    assert drawer.bounding_box()["width"] == 1440
    assert "wide=1" in seen.hash
    assert not page.get_by_role("grid").is_visible()
    press("l")
    page.wait_for_function(
        "() => document.querySelector('.drawer-prompt').textContent === 'friendly'"
    )
    assert drawer.bounding_box()["width"] == 1440
    drawer.get_by_role("button", name="Plain").click()
    page.wait_for_function("() => location.hash.includes('tab=output.plain')")
    press("Escape")
    page.get_by_role("grid").wait_for()
    seen.turn(runs[0], q="case:table", wide=1)
    page.get_by_role("gridcell").first.click()
    drawer.locator(".output .text").first.wait_for()
    assert drawer.locator(".output .md").count() == 0


def test_up_to_four_columns_stand_beside_each_other(either: str, runs: list[str], watch: Any):
    """Each with its checks; keys lead to differences; any can be taken away; on a phone one is under the other."""
    seen = watch(either, viewport={"width": 1440, "height": 900})
    page = seen.page
    seen.turn(runs[0], cell=12, wide=1, tab="output.variant-1-2")
    drawer = page.get_by_role("dialog")
    sides = drawer.locator(".beside-side")
    sides.locator("ins").first.wait_for()
    assert sides.count() == 3
    assert len({round(side.bounding_box()["y"]) for side in sides.all()}) == 1
    for side in sides.all():
        assert side.get_by_role("list", name="Expectations").is_visible()
    page.keyboard.press(".")
    drawer.get_by_text("1 of ").wait_for()
    first = page.evaluate("() => document.activeElement.textContent")
    page.keyboard.press(".")
    page.keyboard.press(",")
    assert page.evaluate("() => document.activeElement.textContent") == first
    drawer.get_by_role("button", name="Scroll together").click()
    assert sides.first.evaluate("(at) => getComputedStyle(at).overflowY") == "auto"
    drawer.get_by_role("button", name="Scroll together").click()
    page.set_viewport_size({"width": 390, "height": 844})
    assert len({round(side.bounding_box()["x"]) for side in sides.all()}) == 1
    drawer.get_by_role("button", name="Take friendly away").click()
    page.wait_for_function("() => location.hash.includes('tab=output.variant-2')")
    assert sides.count() == 2
