"""Our files of results against those that promptfoo 0.123 wrote of the same folder."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand
from evenhand.render.export import export
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

FOLDER = Path(__file__).parent / "results"

SAID_OTHERWISE = frozenset(
    """
    reason error message id evalId timestamp exportedAt evaluationCreatedAt latencyMs totalLatencyMs durationMs
    evaluationDurationMs platform arch
    """.split()
)
"""What is said in our own words, and what belongs to one run."""
NOT_HERE = frozenset(
    """
    promptfooVersion nodeVersion eventSource showProgressBar maxConcurrency cache _promptfooFileMetadata
    renderedAssertionValue named_scores isRefusal tests tags env extensions evaluateOptions outputPath
    """.split()
)
"""What only promptfoo can say, copies of what stands elsewhere, and the config's own defaults."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunFile]:
    """The folder, run here."""
    shutil.copytree(FOLDER, tmp_path / "results")
    monkeypatch.chdir(tmp_path / "results")
    said = ["run", "--no-cache", "--no-table", "--no-progress"]
    result = CliRunner().invoke(evenhand, said, standalone_mode=False)
    assert result.exception is None
    with RunFile.open(find(tmp_path / "results", None)) as found:
        yield found


def lacking(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Where ours lacks a key of theirs, or says something else."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            if key in ours and key not in SAID_OTHERWISE:
                yield from lacking(value, ours[key], f"{path}/{key}")
            elif key not in ours and key not in NOT_HERE and value not in ({}, [], None, 0):
                yield f"{path}/{key} is not there"
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            set_ = "assertionSet" in str(one.get("metadata")) if isinstance(one, dict) else False
            known = {k: v for k, v in one.items() if k != "tokensUsed"} if set_ else one
            yield from lacking(known, other, f"{path}[{i}]")
    elif not same(theirs, ours):
        yield f"{path}: {theirs!r} is {ours!r}"


def same(theirs: Any, ours: Any) -> bool:
    """Whether two values are one, the word for what is hidden in whatever case."""
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        return theirs == pytest.approx(ours, abs=1e-9)
    return theirs == ours or str(theirs).lower() == str(ours).lower()


def test_the_json_has_what_promptfoos_has(run: RunFile, tmp_path: Path) -> None:
    """Every key, and under it the same, but for words, moments and what only promptfoo can say."""
    export(run, tmp_path / "ours.json")
    theirs = json.loads((FOLDER / "promptfoo.json").read_text("utf-8"))
    ours = json.loads((tmp_path / "ours.json").read_text("utf-8"))
    errors = [row for row in theirs["results"]["results"] if row["failureReason"] == 2]
    assert len(errors) == 2
    found = list(lacking(theirs, ours))
    # They count a call that failed as one that was answered.
    counted = [line for line in found if "numRequests" in line]
    assert [line for line in found if line not in counted] == []
    assert len(counted) == 5


def test_the_csv_is_promptfoos(run: RunFile, tmp_path: Path) -> None:
    """The same columns in the same order; cells differ in our words, in objects, and in what errors say."""
    export(run, tmp_path / "ours.csv")
    with (FOLDER / "promptfoo.csv").open(newline="", encoding="utf-8") as file:
        theirs = list(csv.reader(file))
    with (tmp_path / "ours.csv").open(newline="", encoding="utf-8") as file:
        ours = list(csv.reader(file))
    assert ours[0] == theirs[0]
    assert len(ours) == len(theirs)
    for mine, recorded in zip(ours[1:], theirs[1:], strict=True):
        for head, cell, wanted in zip(theirs[0], mine, recorded, strict=True):
            if head == "Grader Reason" or wanted == "[object Object]":
                continue
            assert cell.replace('": ', '":') == wanted, head


def test_what_promptfoo_recorded_is_imported_and_written_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back nothing is lost but what is not ours to say."""
    monkeypatch.chdir(tmp_path)
    said = ["import", str(FOLDER / "promptfoo.json")]
    result = CliRunner().invoke(evenhand, said, standalone_mode=False)
    assert result.exception is None
    theirs = json.loads((FOLDER / "promptfoo.json").read_text("utf-8"))
    with RunFile.open(find(tmp_path, theirs["evalId"])) as run:
        export(run, tmp_path / "back.json")
    back = json.loads((tmp_path / "back.json").read_text("utf-8"))
    assert back["evalId"] == theirs["evalId"]
    assert list(lacking(theirs, back)) == []
