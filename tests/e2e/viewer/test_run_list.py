"""The list of runs: a run is renamed, tagged, noted and deleted there."""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.home import Lock, lock_of
from evenhand.store.runfile import RunFile


def _row(page: Any, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_run_is_renamed_tagged_and_noted(own_home: Path, runs: list[str], serve: Any, watch: Any):
    """It is kept in the run file, shown in the list, and searched for."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        page.get_by_role("button", name="Edit shop assistant").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("the better prompt")
        dialog.get_by_label("Tags").fill("good, as shipped")
        dialog.get_by_label("Note").fill("on <b>Friday</b>")
        dialog.get_by_role("button", name="Save").click()
        row = _row(page, "the better prompt")
        row.wait_for()
        assert "as shipped" in row.inner_text()
        assert "on <b>Friday</b>" in row.inner_text()
        with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as run:
            assert run.remarks.tags == ("good", "as shipped")
            assert run.meta.title == "the better prompt"
        page.get_by_label("Search the runs").fill("shipped")
        page.get_by_text("1 of 2 runs").wait_for()
        row.get_by_role("link", name="the better prompt").click()
        page.get_by_role("heading", name="the better prompt").wait_for()
        seen.close()


def test_a_run_is_deleted_once_that_was_said_twice_and_not_while_it_is_written(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """The first press asks, and says what is lost; a run that a process writes stays, and it is said."""
    path = own_home / "runs" / f"{runs[1]}.db"
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        seen.expected.append("409")  # the browser tells of the answer to the first try
        page = seen.page
        page.get_by_role("button", name="Edit shop assistant").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Delete…").click()
        assert "240 trials" in dialog.get_by_role("alert").inner_text()
        assert path.is_file()
        lock = Lock(lock_of(path), "the run")
        try:
            dialog.get_by_role("button", name="Delete for good").click()
            dialog.get_by_text("is in use by process").wait_for()
        finally:
            lock.release()
        assert path.is_file()
        dialog.get_by_role("button", name="Delete for good").click()
        page.get_by_text("1 run", exact=True).wait_for()
        assert not path.exists()
        assert (own_home / "runs" / f"{runs[0]}.db").is_file()
        seen.close()


def test_a_deletion_has_to_name_the_whole_id(own_home: Path, runs: list[str], serve: Any):
    """The start of an id, or none, deletes nothing; nor does another page."""
    with serve(own_home) as viewer:
        headers = {
            "Cookie": f"evenhand-{viewer.origin.rpartition(':')[2]}={viewer.token}",
            "Content-Type": "application/json",
            "X-Evenhand": "1",
            "Origin": viewer.origin,
        }
        for said, origin in (
            ({"id": runs[1][:10]}, ""),
            ({}, ""),
            ({"id": runs[1]}, "http://evil.example"),
        ):
            request = urllib.request.Request(
                f"{viewer.origin}/api/runs/{runs[1]}/delete",
                data=json.dumps(said).encode(),
                headers={**headers, **({"Origin": origin} if origin else {})},
                method="POST",
            )
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=10)
            assert refused.value.code == (403 if origin else 400)
            refused.value.close()
        assert (own_home / "runs" / f"{runs[1]}.db").is_file()


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (844, 390), (390, 844)])
def test_the_list_of_runs_has_room_for_names_on_every_screen(
    served: Any, watch: Any, width: int, height: int
):
    """A name stands on one line, and date, rate and verdict are in sight without scrolling sideways."""
    seen = watch(served.link, viewport={"width": width, "height": height})
    page = seen.page
    row = page.locator(".run-list tbody tr").first
    name = row.get_by_role("link").first
    lines = (
        "(at) => at.getBoundingClientRect().height / parseFloat(getComputedStyle(at).lineHeight)"
    )
    assert name.evaluate(lines) < 1.5
    for part in (".run-date", ".run-rate", ".run-verdict"):
        box = row.locator(part).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    assert page.locator(".list-main").evaluate("(at) => at.scrollWidth - at.clientWidth") <= 0


def test_a_new_run_is_listed_as_soon_as_it_begins(
    tmp_path: Path, home: Path, runs: list[str], serve: Any, watch: Any
):
    """Within two seconds, without a reload; a list of no run does not ask for two of them."""
    own = tmp_path / "home"
    (own / "runs").mkdir(parents=True)
    with serve(own) as viewer:
        seen = watch(viewer.link)
        seen.page.get_by_text("There are no runs here yet").wait_for()
        assert "Tick" not in seen.page.locator("#app").inner_text()
        shutil.copy(home / "runs" / f"{runs[0]}.db", own / "runs")
        seen.page.get_by_role("link", name="shop assistant").wait_for(timeout=4_000)
        seen.close()


def test_a_ticked_run_keeps_its_row(served: Any, watch: Any):
    """Only its colour changes: its cells stay beside each other, as wide and as high as before."""
    page = watch(served.link, viewport={"width": 1440, "height": 900}).page
    cells = page.locator(".run-list tbody tr").first.locator("td")
    before = [cell.bounding_box() for cell in cells.all()]
    page.get_by_role("checkbox").first.check()
    assert [cell.bounding_box() for cell in cells.all()] == before


SCRIPTED = """
prompts: ["Greet {{name}}"]
providers: [openai:chat:gpt-5-mini]
tests: [{vars: {name: Ann}, assert: [{type: contains, value: Hello}]}]
"""
NOBODY = """
from evenhand import EvalSet

evals = EvalSet("nobody", data=[{"id": "a", "input": "x"}])


@evals.eval
def asks_no_model(case, expect):
    expect(True, "is so")
    return case.input
"""


def test_what_a_run_spent_is_said_as_show_says_it(
    tmp_path: Path, serve: Any, watch: Any, command: Any
):
    """Scripted replies have no price, which is not an unknown one; a run that asked no model has no $0."""
    (tmp_path / "promptfooconfig.yaml").write_text(SCRIPTED)
    (tmp_path / "offline.jsonl").write_text('{"match": "Greet", "reply": "Hello Ann"}\n')
    (tmp_path / "nobody_evals.py").write_text(NOBODY)
    home = tmp_path / ".evenhand"
    told = command("run", tmp_path / "promptfooconfig.yaml", "--offline", EVENHAND_HOME=str(home))
    assert "replies scripted" in told
    told = command("run", tmp_path / "nobody_evals.py", EVENHAND_HOME=str(home))
    assert "$0" not in told
    scripted, asked_nobody = sorted(path.stem for path in (home / "runs").glob("*.db"))
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.page.locator(".run-cost").first.wait_for()
        assert seen.page.locator(".run-cost").all_inner_texts() == ["–", "scripted"]
        for run, words in ((scripted, ["replies scripted"]), (asked_nobody, [])):
            seen.turn(run, cell=0)
            seen.page.locator(".drawer-title").wait_for()
            text = seen.page.locator("#app").inner_text()
            assert [said for said in ("unknown", "$0") if said in text] == []
            assert [said for said in ("replies scripted",) if said in text] == words
            seen.turn(run, cell=0, tab="calls")
            seen.turn(run, view="about")
            seen.page.get_by_text("Model calls").first.wait_for()
            assert "unknown" not in seen.page.locator("#app").inner_text()
        seen.close()
