"""Datasets of other tools as eval sets to fill in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenhand
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.importers.dataset_folder import move_in
from evenhand.doors.importers.moved_in import write_all, written


def test_a_dataset_becomes_an_eval_set_that_runs_once_the_application_is_called(tmp_path: Path):
    """Its cases are all there, and what has an expected output is held against it."""
    goldens = [
        {"input": "Hours?", "expected_output": "9 to 5", "context": ["We open 9 to 5."]},
        {"input": "Refund?"},
    ]
    (tmp_path / "goldens.json").write_text(json.dumps(goldens))
    made = move_in([tmp_path / "goldens.json"], tmp_path / "evals here", "deepeval")
    application = tmp_path / "evals here/application.py"
    text = application.read_text()
    application.write_text(
        text.replace('raise NotImplementedError("call your application here")', 'return "9 to 5"')
    )
    (evals,) = find([str(made.sets[0])]).sets
    run = evenhand.run(evals, home=tmp_path, progress=False)
    totals = run.totals()
    assert (totals.trials, totals.passed, totals.not_applicable) == (2, 1, 1)
    assert "Faithfulness" in made.sets[0].read_text()
    with pytest.raises(UsageError, match="already exist"):
        move_in([tmp_path / "goldens.json"], tmp_path / "evals here", "deepeval")


@pytest.mark.parametrize(
    "tool", ["deepeval", "ragas", "langfuse", "langsmith", "braintrust", "phoenix"]
)
def test_files_without_a_dataset_are_refused(tool: str, tmp_path: Path):
    """Nothing is written."""
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(UsageError):
        move_in([tmp_path / "x.json"], tmp_path / "made", tool)
    assert not (tmp_path / "made").exists()


def test_files_are_written_all_or_none(tmp_path: Path):
    """One in the middle has no room: what was written before it is taken away, and what was there stays."""
    (tmp_path / "there").write_text("mine")
    (tmp_path / "folder").write_text("a file, where a folder would have to be")
    texts = {tmp_path / name: "new" for name in ("a/one.py", "two.py", "folder/three.py", "four")}
    with pytest.raises(UsageError, match="three"):
        written(texts, tmp_path, "deepeval")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "folder",
        "there",
    ]
    with pytest.raises(UsageError, match="there"):
        write_all({tmp_path / "two.py": b"new", tmp_path / "there": b"new"})
    assert not (tmp_path / "two.py").exists()
    assert (tmp_path / "there").read_text() == "mine"
    del texts[tmp_path / "folder/three.py"]
    assert written(texts, tmp_path, "deepeval") == list(texts)
    assert (tmp_path / "a/one.py").read_text() == "new"
