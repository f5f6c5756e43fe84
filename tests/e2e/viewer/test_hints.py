"""A key that can do nothing says why, and an address that means nothing says so."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("key", "said"), [("b", "No baseline is chosen"), ("d", "has no expected output")]
)
def test_a_key_that_can_do_nothing_says_why(
    tmp_path: Any, serve: Any, command: Any, watch: Any, key: str, said: str
):
    """`b` without a baseline, `d` without an expected output: in an open cell, and why not before one is open."""
    (tmp_path / "echo.yaml").write_text(
        "prompts: ['Say {{x}}']\nproviders: [echo]\ntests: [{vars: {x: tea}}]\n", "utf-8"
    )
    home = tmp_path / "home"
    command("run", tmp_path / "echo.yaml", EVENHAND_HOME=str(home))
    (run,) = [path.stem for path in (home / "runs").glob("*.db")]
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.turn(run)
        seen.page.get_by_role("gridcell").first.wait_for()
        seen.page.keyboard.press(key)
        seen.page.locator(".hint").get_by_text("Open a cell first").wait_for()
        seen.turn(run, cell=0)
        seen.page.get_by_role("dialog").get_by_role("tab").first.wait_for()
        seen.page.keyboard.press(key)
        seen.page.locator(".hint").get_by_text(said).wait_for()
        seen.close()


def test_an_unknown_address_says_so_and_offers_the_run(either: str, runs: list[str], watch: Any):
    """`#/run/ID/charts` is not taken for the list of runs: it leads to the charts of that run."""
    seen = watch(either)
    seen.page.evaluate("(there) => { location.hash = there; }", f"#/run/{runs[0]}/charts")
    seen.page.get_by_role("heading", name="There is nothing at this address").wait_for()
    seen.page.get_by_role("link", name="Open the charts of the run").click()
    seen.page.wait_for_function(
        "(run) => location.hash === `#/run/${run}?view=charts`", arg=runs[0]
    )
    seen.page.get_by_role("heading", name="Pass rate").first.wait_for()


def test_runs_of_one_minute_are_told_apart(served: Any, runs: list[str], watch: Any):
    """In the list and in the menu of baselines they have their seconds; each box is named after its run."""
    seen = watch(served.link)
    times = seen.page.locator(".run-date time").all_inner_texts()
    boxes = seen.page.locator(".run-pick input")
    names = [boxes.nth(at).get_attribute("aria-label") for at in range(boxes.count())]
    seen.turn(runs[1])
    (choice,) = seen.page.locator("#baseline optgroup option").all_inner_texts()
    if (
        times[0][:16] == times[1][:16]
    ):  # both were made in one minute, unless a clock struck in between
        assert all(len(time) == len("2026-11-21 13:38:05") for time in times)
    assert choice.startswith(f"vs {times[1]}")
    assert names == [f"Compare shop assistant, {time}" for time in times]
