"""On a low screen the rows have the room: what stands above them is one line, and unfolds."""

from __future__ import annotations

from typing import Any

import pytest

WHOLE_ROWS = """() => {
  const grid = document.querySelector("[role=grid]").getBoundingClientRect();
  const head = document.querySelector(".matrix-head").getBoundingClientRect();
  const bottom = Math.min(innerHeight, grid.bottom);
  return [...document.querySelectorAll(".matrix-body [role=row]")]
    .map((row) => row.getBoundingClientRect())
    .filter((row) => row.top >= head.bottom - 1 && row.bottom <= bottom + 1).length;
}"""


LOW = {
    "phone on its side": (844, 390),
    "small phone on its side": (640, 360),
    "400 % zoom": (320, 256),
    "200 % zoom": (720, 450),
}


@pytest.mark.thorough
def test_a_whole_row_of_the_matrix_is_seen_on_a_low_screen(
    served: Any, runs: list[str], watch: Any
):
    """A phone on its side, and 1280 × 1024 at 400 % zoom: at least one row stands between head and edge."""
    seen = watch(served.link)
    for name, (width, height) in LOW.items():
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.turn()
        seen.turn(runs[1])
        seen.page.get_by_role("gridcell").first.wait_for()
        assert seen.page.evaluate(WHOLE_ROWS) >= 1, name


@pytest.mark.thorough
def test_the_tools_unfold_on_a_low_screen_and_lead_everywhere(
    served: Any, runs: list[str], watch: Any
):
    """Filter, views and totals come with one press, and with the filter's key; the page then scrolls to the rows."""
    seen = watch(served.link, viewport={"width": 844, "height": 390})
    seen.turn(runs[1])
    page = seen.page
    filter_ = page.get_by_label("Filter", exact=True)
    assert not filter_.is_visible()
    page.get_by_role("button", name="Tools").click()
    assert filter_.is_visible()
    assert page.get_by_role("navigation").get_by_role("link", name="Charts").is_visible()
    page.get_by_role("gridcell").first.scroll_into_view_if_needed()
    assert page.evaluate(WHOLE_ROWS) >= 1
    page.get_by_role("button", name="Fewer tools").click()
    assert not filter_.is_visible()
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement?.id === 'filter'")
    page.keyboard.type("status:fail")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('status')")


def test_a_high_screen_folds_nothing(served: Any, runs: list[str], watch: Any):
    """Where there is room, everything is there, and no button to fold it."""
    seen = watch(served.link)
    seen.turn(runs[1])
    assert seen.page.get_by_label("Filter", exact=True).is_visible()
    assert seen.page.get_by_role("button", name="Tools").count() == 0
