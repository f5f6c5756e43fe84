"""Datasets of other tools as eval sets to fill in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenhand
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.importers.dataset_folder import move_in


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
    with pytest.raises(UsageError, match="there already"):
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
