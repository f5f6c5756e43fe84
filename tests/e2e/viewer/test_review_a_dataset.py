"""Traces that were drawn for a dataset, looked at in the browser: what is left out goes out of the dataset's file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BEGAN = 1_760_000_000_000_000_000


def trace(number: int) -> str:
    """A trace of one model call, as OTLP in JSON."""
    said = json.dumps([{"role": "user", "content": f"Where is order {number}?"}])
    answered = json.dumps([{"role": "assistant", "content": f"Order {number} is late."}])
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": said,
        "gen_ai.output.messages": answered,
    }
    span = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "chat m",
        "startTimeUnixNano": str(BEGAN + number * 10**9),
        "endTimeUnixNano": str(BEGAN + number * 10**9 + 10**6),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in about.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


@pytest.fixture
def home(tmp_path: Path, command: Any) -> Path:
    """A home with a run of six imported traces."""
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(trace(number) + "\n" for number in range(1, 7)))
    command("import", "traces", file, EVENHAND_HOME=str(tmp_path))
    return tmp_path


def cases(file: Path) -> dict[str, dict[str, Any]]:
    """The cases of a dataset, by id."""
    return {row["id"]: row for row in map(json.loads, file.read_text("utf-8").splitlines())}


def until(holds: Callable[[], bool]) -> None:
    """Waits for the file, which is written before the answer to the page is."""
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to hold")


@pytest.mark.thorough
def test_a_drawn_dataset_is_reviewed_in_the_viewer(  # noqa: PLR0915 (one review, from its beginning to its end)
    home: Path, serve: Any, watch: Any, command: Any
):
    """By keys and buttons; edits of the file and other rows stay; the review goes on where it ended."""
    file = home / "cases.jsonl"
    words = ("dataset", "from-traces", "--draw", "4", "--to", str(file))
    with serve(home, *words, "--review", verb=()) as viewer:
        drawn = cases(file)
        assert len(drawn) == 4
        (run,) = (path.stem for path in (home / "runs").glob("*.db"))
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(run, show="drawn")
        assert page.get_by_role("gridcell").count() == 4
        page.get_by_text("0 of 4 drawn traces reviewed, 0 left out").wait_for()
        page.keyboard.press("j")
        page.keyboard.press("-")
        page.get_by_text("1 of 4 drawn traces reviewed, 1 left out").wait_for()
        until(lambda: len(cases(file)) == 3)
        (gone,) = drawn.keys() - cases(file).keys()

        edited = {id_: {**row, "expected": f"right {id_}"} for id_, row in cases(file).items()}
        rows = [*edited.values(), {"id": "mine", "input": "added by hand"}]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        mine = page.get_by_role("dialog").get_by_role("group", name="In the dataset")
        mine.get_by_role("button", name="Keep").click()
        page.get_by_text("2 of 4 drawn traces reviewed, 1 left out").wait_for()
        until(
            lambda: any(
                "reviewed_by" in row["metadata"]
                for row in cases(file).values()
                if "metadata" in row
            )
        )
        after = cases(file)
        (kept,) = (
            id_ for id_, row in after.items() if row.get("metadata", {}).get("reviewed_by") == "me"
        )
        assert after["mine"]["input"] == "added by hand"
        assert all(after[id_]["expected"] == f"right {id_}" for id_ in edited)
        page.keyboard.press(
            "-"
        )  # and the other way round: it is gone, and comes back with what was written into it
        until(lambda: kept not in cases(file))
        page.keyboard.press("+")
        until(lambda: kept in cases(file))
        assert cases(file)[kept]["expected"] == f"right {kept}"
        seen.close()

    with serve(home, *words, "--review", verb=()) as viewer:  # the same again, where it was
        seen = watch(viewer.link)
        seen.turn(run, show="drawn")
        seen.page.get_by_text("2 of 4 drawn traces reviewed, 1 left out").wait_for()
        assert gone not in cases(file)
        assert cases(file)[kept]["expected"] == f"right {kept}"
        assert "mine" not in cases(file)  # it is written anew from the draw
        seen.close()

    said = command(*words, EVENHAND_HOME=str(home))
    assert "3 cases · from 6 traces · 1 left out in the review" in said
    assert gone not in cases(file)
    with serve(home) as viewer:  # without a dataset to write to, nothing offers to
        seen = watch(viewer.link)
        seen.turn(run, show="drawn")
        assert seen.page.get_by_role("gridcell").count() == 6
        seen.page.keyboard.press("j")
        seen.page.keyboard.press("Enter")
        seen.page.get_by_role("group", name="Your label").wait_for()
        assert seen.page.get_by_role("group", name="In the dataset").count() == 0
