"""What is read of several runs: a search for texts, cases, prompts, and views that were saved for all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile


def test_a_text_is_found_in_all_runs_and_each_result_leads_to_its_cell(
    home: Path, runs: list[str], served: Any, watch: Any
):
    """The newest run first; what was searched is said, and more of a run is one click away."""
    seen = watch(served.link)
    page = seen.page
    page.get_by_role("button", name="In all texts").click()
    page.get_by_label("Search the texts of all runs").fill("tracking -japanese")
    page.wait_for_function("() => location.hash.includes('tab=texts')")
    page.get_by_role("status").get_by_text("Searched: 2 of 2 runs, ").wait_for()
    sections = page.locator(".found")
    assert sections.count() == 2
    assert sections.first.locator("li").count() == 20
    assert {each.lower() for each in page.locator(".found mark").all_inner_texts()} == {"tracking"}
    with RunFile.open(home / "runs" / f"{runs[1]}.db") as run:
        first = next(t for t in run.trials() if "tracking" in str(t.output).lower())
    result = sections.first.locator("li a").first
    assert result.inner_text() == first.case
    result.click()
    page.wait_for_function("(run) => location.hash.startsWith(`#/run/${run}?cell=`)", arg=runs[1])
    assert f"cell={first.index}" in seen.hash
    page.go_back()
    sections.first.get_by_role("link", name="All in this run").click()
    page.get_by_role("grid").wait_for()
    assert page.locator("#filter").input_value() == "tracking -japanese"


def test_a_case_is_followed_into_all_runs_and_a_blind_search_tells_no_outcome(
    runs: list[str], served: Any, watch: Any
):
    """From an open cell; whoever labels blind sees neither columns nor marks, there or behind the links."""
    seen = watch(served.link)
    page = seen.page
    for blind in (None, 1):
        seen.turn(runs[1], cell=0, blind=blind)
        page.get_by_role("dialog").get_by_role("link", name="In all runs").click()
        page.get_by_role("status").get_by_text("Searched: 2 of 2 runs, ").wait_for()
        found = page.locator(".found")
        assert found.count() == 2
        assert (found.locator(".mark").count() > 0) == (blind is None)
        assert ("strict" in found.first.inner_text()) == (blind is None)
        links = found.locator("li a").evaluate_all("(all) => all.map((at) => at.hash)")
        assert all(("blind=1" in link) == (blind == 1) for link in links)


def test_what_cannot_be_searched_in_all_runs_is_said(served: Any, watch: Any):
    """With what can; the words are put right without starting over."""
    seen = watch(served.link)
    seen.expected = ["400"]
    seen.turn(tab="texts", q="status:fail")
    alert = seen.page.get_by_role("alert")
    alert.get_by_text("is not searched for in all runs").wait_for()
    seen.page.get_by_label("Search the texts of all runs").fill("nowhere at all")
    seen.page.get_by_role("status").get_by_text("0 results.").wait_for()
    assert alert.count() == 0


@pytest.mark.thorough
def test_cases_that_waver_come_first_with_what_became_of_them_in_each_run(
    home: Path, runs: list[str], served: Any, watch: Any
):
    """From the list of runs by the name of the source; a mark leads to its cell, and a case is searched for."""
    seen = watch(served.link)
    page = seen.page
    page.locator(".run-source a").first.click()
    rows = page.locator("td.over-marks")
    rows.first.wait_for()
    flips = [int(text) for text in page.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert flips == sorted(flips, reverse=True)
    assert flips[0] > 0
    mark = rows.first.locator("a").first
    assert mark.inner_text().strip()
    case = page.locator("tbody th").first.inner_text()
    mark.click()
    page.get_by_role("dialog").wait_for()
    assert seen.hash.startswith(f"#/run/{runs[1]}?cell=")
    assert case in page.locator(".drawer-title").inner_text()
    page.go_back()
    page.get_by_label("Search the cases").fill(case.upper())
    page.get_by_text("lines over 2 runs").or_(page.get_by_text("line over 2 runs")).wait_for()
    page.wait_for_function(
        "(id) => [...document.querySelectorAll('tbody th')].every((at) => at.textContent.includes(id))",
        arg=case,
    )


def test_a_prompt_has_its_versions_with_rates_and_what_changed(
    runs: list[str], served: Any, watch: Any
):
    """The newest version of a prompt first: how it differs from the one before, and the runs that had it."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1], view="history")
    page.get_by_role("link", name="Prompts").click()
    short = page.locator(".found", has=page.get_by_role("heading", name="short", exact=True))
    versions = short.locator("details")
    versions.first.wait_for()
    assert versions.count() == 2
    assert "% [" in versions.first.locator("summary").inner_text()
    versions.first.locator("summary").click()
    versions.first.locator("ins", has_text="Say so where you do not know.").wait_for()
    assert page.get_by_role("link", name="History").get_attribute("aria-current") == "page"
    versions.first.locator(".note a").click()
    page.get_by_role("grid").wait_for()
    assert seen.hash == f"#/run/{runs[1]}"


@pytest.mark.thorough
def test_a_view_is_saved_for_all_runs_of_a_config_and_deleted_again(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """What is shown, but for the cell; found in another browser and another run; a bad name is refused."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        seen.expected = ["400"]
        page = seen.page
        seen.turn(runs[1], view="charts", q="tag:billing", cell=3)
        page.keyboard.press("Escape")
        page.locator("summary", has_text="Saved views").click()
        name = page.get_by_label("Name for this view")
        name.fill("\u202eevil")
        name.press("Enter")
        page.get_by_role("alert").get_by_text("all of which can be seen").wait_for()
        name.fill("<b>Billing</b>")
        name.press("Enter")
        page.get_by_role("link", name="<b>Billing</b>").wait_for()
        file = json.loads((own_home / "views.json").read_text("utf-8"))
        ((view,),) = file["views"].values()
        assert view["state"] == "#/?view=charts&q=tag%3Abilling"
        other = watch(viewer.link)
        other.turn(runs[0], blind=None)
        other.page.locator("summary", has_text="Saved views").click()
        other.page.get_by_role("link", name="<b>Billing</b>").click()
        other.page.wait_for_function("() => location.hash.includes('view=charts')")
        assert other.hash == f"#/run/{runs[0]}?view=charts&q=tag%3Abilling"
        other.page.get_by_role("button", name="Delete <b>Billing</b>").click()
        other.page.get_by_role("link", name="<b>Billing</b>").wait_for(state="hidden")
        assert json.loads((own_home / "views.json").read_text("utf-8"))["views"] == {}
        seen.close()
        other.close()


@pytest.mark.thorough
def test_notes_are_a_thread_that_others_answer_in(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Oldest first, each with its author; what somebody takes back is gone, and the one before it counts again."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(runs[1], cell=3)
        drawer = page.get_by_role("dialog")

        def add(note: str, author: str = "") -> None:
            if author:
                drawer.get_by_label("Your name").fill(author)
                drawer.get_by_label("Your name").press("Tab")
            drawer.get_by_label("Note", exact=True).fill(note)
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                drawer.get_by_label("Note", exact=True).press("Enter")

        add("too curt", "ada")
        add("why?", "bo")
        add("it names no rule", "ada")
        notes = drawer.get_by_role("list", name="Notes").get_by_role("listitem")
        notes.nth(2).wait_for()
        texts = [text.partition(" note: ") for text in notes.all_inner_texts()]
        assert [text.removesuffix("Withdraw") for _, _, text in texts] == [
            "too curt", "why?", "it names no rule"
        ]  # fmt: skip
        assert [who.rpartition(" ")[2] for who, _, _ in texts] == ["ada", "bo", "ada"]
        assert notes.get_by_role("button", name="Withdraw").count() == 1
        notes.nth(2).get_by_role("button", name="Withdraw").click()
        notes.nth(2).wait_for(state="hidden")
        assert notes.count() == 2
        seen.close()
    with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as found:
        assert [label.value for label in found.labels()][-2:] == ["it names no rule", "too curt"]
