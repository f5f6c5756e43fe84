"""Everything can be done without a mouse, and the keyboard is never caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile

FOCUS = """() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return null;
  const ringed = (element) => {
    const style = getComputedStyle(element);
    return (parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none") || style.boxShadow !== "none";
  };
  return {
    name: (at.id || "") + "|" + at.tagName + "|" + (at.getAttribute("aria-label") ?? at.textContent).slice(0, 60),
    visible: ringed(at) || ringed(at.parentElement) || at.matches("[role=grid]"),
  };
}"""

TITLE = "() => document.getElementById('drawer-title')?.textContent"
ANOTHER = "(before) => document.getElementById('drawer-title')?.textContent !== before"


def drawer_of(page: Any) -> str:
    """Which cell is open."""
    return str(page.evaluate(TITLE))


@pytest.mark.thorough
def test_enter_opens_the_cell_also_after_a_link_was_clicked(
    served: Any, runs: list[str], watch: Any
):
    """Moving the cursor takes the keyboard back from whatever had it."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1], view="charts")
    page.get_by_role("navigation").get_by_role("link", name="Matrix").click()
    page.get_by_role("gridcell").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()


@pytest.mark.thorough
def test_escape_leaves_a_list_of_choices_for_the_rows(served: Any, runs: list[str], watch: Any):
    """After an order was chosen, keys work again; in a drawer, Escape leaves the list before the drawer."""
    seen = watch(served.link)
    page, press = seen.page, seen.page.keyboard.press
    seen.turn(runs[1])
    page.get_by_label("Order").focus()
    press("ArrowDown")
    page.wait_for_function("() => location.hash.includes('sort=score')")
    press("Escape")
    press("j")
    press("Enter")
    drawer = page.get_by_role("dialog")
    drawer.wait_for()
    drawer.get_by_role("combobox").first.focus()
    press("Escape")
    assert drawer.is_visible()
    press("Escape")
    drawer.wait_for(state="detached")


@pytest.mark.thorough
def test_twenty_cells_are_labelled_without_the_mouse(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """From the list of runs to twenty labels, with notes, ratings, stars and one taken back; all in the run's file."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page, press = seen.page, seen.page.keyboard.press
        link = page.get_by_role("link", name="shop assistant").first
        for _ in range(30):
            press("Tab")
            if link.evaluate("(at) => at === document.activeElement"):
                break
        press("Enter")
        page.get_by_role("grid").wait_for()
        seen.settled()
        press("j")
        press("Enter")
        page.get_by_role("dialog").wait_for()
        page.get_by_role("tab").first.wait_for()
        said: list[tuple[str, object]] = []

        def say(key: str, field: str, value: object) -> None:
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                press(key)
            said.append((field, value))

        for number in range(20):
            fail = number % 3 == 0
            say("f" if fail else "p", "verdict", "fail" if fail else "pass")
            if number == 4:
                say("4", "score", 4)
                say("s", "star", True)
            if number == 5:
                press("n")
                page.wait_for_function("() => document.activeElement.matches('textarea')")
                page.keyboard.type("given up")
                press("Escape")
                press("n")
                page.wait_for_function("() => document.activeElement.matches('textarea')")
                page.keyboard.type("jk pf: written, not pressed")
                say("Enter", "note", "jk pf: written, not pressed")
            if number == 6:
                say("u", "verdict", None)
            before = drawer_of(page)
            press("j")
            page.wait_for_function(ANOTHER, arg=before)
        press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")
        press("g")
        press("r")
        page.get_by_role("heading", name="Runs").wait_for()
    with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as found:
        labels = list(found.labels())
    assert [(label.field, label.value) for label in labels] == said
    assert len({label.index for label in labels}) == 20


def test_the_keys_go_where_the_help_says(served: Any, runs: list[str], watch: Any):
    """?, /, Esc, j, k, h, l, J, K, Enter, d, g m, g c, g r."""
    seen = watch(served.link)
    page, press = seen.page, seen.page.keyboard.press
    seen.turn(runs[1])
    press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="hidden")
    press("/")
    assert page.evaluate("() => document.activeElement.id") == "filter"
    page.keyboard.type("tag:billing")
    press("Enter")
    page.wait_for_function(
        "() => document.querySelector('[role=grid]').getAttribute('aria-rowcount') === '9'"
    )
    press("Escape")
    press("j")
    press("l")
    press("Enter")
    page.get_by_role("dialog").wait_for()
    assert "cell=" in seen.hash
    before = seen.hash
    for key, back in (("j", "k"), ("l", "h")):
        press(key)
        page.wait_for_function("(before) => location.hash !== before", arg=before)
        press(back)
        page.wait_for_function("(before) => location.hash === before", arg=before)
    press("d")
    page.wait_for_function("() => location.hash.includes('tab=output.diff')")
    press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    for second, view in (("c", "view=charts"), ("m", "#/run/")):
        press("g")
        press(second)
        page.wait_for_function("(view) => location.hash.includes(view)", arg=view)
    assert "view=" not in seen.hash


def test_the_focus_is_seen_and_never_caught(served: Any, runs: list[str], watch: Any):
    """Tab goes through the whole page and comes round, in each view; wherever it stands can be seen."""
    seen = watch(served.link)
    for state in ({}, {"cell": 5}, {"view": "charts"}, {"view": "comparison", "base": runs[0]}):
        seen.turn(runs[1], **state)
        stops: list[str] = []
        for _ in range(150):
            seen.page.keyboard.press("Tab")
            at = seen.page.evaluate(FOCUS)
            if at is None:
                break
            assert at["visible"], at
            stops.append(at["name"])
        else:
            raise AssertionError(f"the keyboard does not come round: {stops[-5:]}")
        assert len(stops) > 5
        assert "cell" in state or any(name.startswith("|A|Charts") for name in stops)


def test_after_the_drawer_the_keyboard_is_where_it_was(served: Any, runs: list[str], watch: Any):
    """Esc closes it, and the next key moves on from the same cell."""
    seen = watch(served.link)
    page, press = seen.page, seen.page.keyboard.press
    seen.turn(runs[1])
    for key in ("j", "j", "j", "l"):
        press(key)
    at = page.get_by_role("grid").get_attribute("aria-activedescendant")
    press("Enter")
    page.get_by_role("dialog").wait_for()
    press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    grid = page.get_by_role("grid")
    assert grid.get_attribute("aria-activedescendant") == at
    assert grid.evaluate("(at) => at === document.activeElement")
