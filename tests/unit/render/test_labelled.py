"""What people say of trials, in every export that has a place for it, and back out of promptfoo's."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.wording.ink import Ink
from evenhand.render.console import cells_json, show_trial
from evenhand.render.document import document
from evenhand.render.export import export
from evenhand.render.verbose import Verbose
from evenhand.store.labels.label import NewLabel, standing
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.interchange.promptfoo_results import read_results

GIVEN = [
    NewLabel(0, "verdict", "pass", "ann"),
    NewLabel(0, "verdict", "fail", "ann"),
    NewLabel(0, "score", 2, "ann"),
    NewLabel(1, "note", "=odd", "bob"),
    NewLabel(1, "star", True, "bob"),
]


@pytest.fixture
async def labelled(make_run: Make) -> RunFile:
    """Three trials, two of them labelled."""
    run = await make_run([result(0), result(1, ok=False), result(2)])
    append_labels(run.path, GIVEN)
    return run


async def test_the_document_has_every_event(labelled: RunFile) -> None:
    """In their order, with the place of their trial."""
    found = document(labelled)
    assert [(it["index"], it["field"], it["value"]) for it in found["labels"]] == [
        (label.index, label.field, label.value) for label in GIVEN
    ]
    assert [trial["index"] for trial in found["trials"]] == [0, 1, 2]


async def test_lines_and_tables_have_the_newest(labelled: RunFile, tmp_path: Path) -> None:
    """By trial; a note is no formula."""
    export(labelled, tmp_path / "a.jsonl", "jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines[0]["labels"] == {"verdict": "fail", "score": 2}
    assert "labels" not in lines[2]
    export(labelled, tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["label:verdict"], rows[0]["label:score"]) == ("fail", "2")
    assert (rows[1]["label:note"], rows[1]["label:star"]) == ("'=odd", "True")
    assert rows[2]["label:verdict"] == ""


async def test_a_run_without_labels_is_exported_as_before(make_run: Make, tmp_path: Path) -> None:
    """No columns for what nobody said."""
    export(await make_run([result(0)]), tmp_path / "a.csv", "csv")
    assert "label:" not in (tmp_path / "a.csv").read_text()


async def test_promptfoos_results_carry_them_there_and_back(
    labelled: RunFile, tmp_path: Path
) -> None:
    """A component of its own type, and a comment; what was measured stays as it was."""
    export(labelled, tmp_path / "a.json", "promptfoo")
    rows = json.loads((tmp_path / "a.json").read_text())["results"]["results"]
    human = rows[0]["gradingResult"]["componentResults"][-1]
    assert (human["assertion"], human["pass"]) == ({"type": "human"}, False)
    assert (rows[0]["success"], rows[0]["score"]) == (True, 1.0)
    assert rows[1]["gradingResult"]["comment"] == "!highlight =odd"
    recorded = read_results(tmp_path / "a.json")
    back = {(label.index, label.field): label.value for label in recorded.labels()}
    assert back == {(0, "verdict"): "fail", (0, "score"): 2, (1, "star"): True, (1, "note"): "=odd"}
    assert [len(trial.outcomes) for trial in recorded.trials()] == [1, 1, 1]


async def test_promptfoos_table_has_the_comment(labelled: RunFile, tmp_path: Path) -> None:
    """In the column that it has for it."""
    export(labelled, tmp_path / "a.csv", "promptfoo-csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        comments = [row["Comment"] for row in csv.DictReader(file)]
    assert comments == ["", "!highlight =odd", ""]


async def test_people_are_heard_on_a_terminal(labelled: RunFile) -> None:
    """A cell has what was said of it last, and by whom, as text and as JSON."""
    out = io.StringIO()
    show_trial(labelled, "1", out)
    assert "  labels by people\n    labelled fail (ann)\n    rated 2 of 5 (ann)\n" in out.getvalue()
    assert "labelled pass" not in out.getvalue()
    (row,) = [json.loads(line) for line in cells_json(labelled, "2")]
    assert row["labels"] == {"note": "=odd", "star": True}
    out = io.StringIO()
    show_trial(labelled, "3", out)
    assert "people" not in out.getvalue()


async def test_people_are_heard_where_all_trials_are_printed(labelled: RunFile) -> None:
    """Below the expectations; nothing that they wrote steers a terminal."""
    append_labels(labelled.path, [NewLabel(2, "note", "line one\n\x1b[2Jtwo", "eve\x07")])
    labels = standing(labelled.labels())
    verbose = Verbose(labelled.meta.variants, 1, 80, Ink(False), labels)
    second, third = [verbose.lines(trial) for trial in labelled.trials()][1:]
    assert second[-2:] == ["      note: =odd (bob)", "      starred (bob)"]
    assert third[-2:] == ["      note: line one", "      \\x1b[2Jtwo (eve\\x07)"]


async def test_a_pull_request_has_what_people_said_of_failures(
    labelled: RunFile, tmp_path: Path
) -> None:
    """Where its Markdown has the trials whole."""
    export(labelled, tmp_path / "a.md")
    assert "note: =odd (bob)" in (tmp_path / "a.md").read_text()
