"""People label the text that a judge judged, which may be a part of what the eval returned."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import main

EVALS = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Passes

evals = EvalSet("lab", data=[Case(id="one", input="Where is it?")], judge="openai:gpt-5")


@evals.eval
def answer(case: Case, expect: Expect) -> object:
    reply = "It comes on <b>Monday</b>."
    expect(reply, Passes("is polite"), metric="polite")
    expect({"reply": reply, "trace": ["looked"]}, Passes("is whole"), metric="whole")
    return {"reply": reply, "trace": ["looked"]}
"""
Evenhand = Callable[..., tuple[object, str]]


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Evenhand:
    """Runs a command beside a run of an eval that returns more than its judge sees."""
    tmp_path.joinpath("lab_evals.py").write_text(EVALS)
    reply = {"reasoning": "so it is", "passes": True, "confidence": 1}
    tmp_path.joinpath("offline.jsonl").write_text(
        json.dumps({"match": "criterion", "reply": reply}) + "\n"
    )
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code or 0, capsys.readouterr().err

    assert run("run", "lab_evals.py", "--offline")[0] == 0
    return run


def _sheet(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["metric"]: row for row in csv.DictReader(file)}


WHOLE = '{"reply": "It comes on <b>Monday</b>.", "trace": ["looked"]}'


def test_a_sheet_shows_what_the_judge_judged(evenhand: Evenhand, tmp_path: Path):
    """A person who sees the trace as well would answer another question than the judge."""
    assert evenhand("label", "--draw", "1", "--to", "sheet.csv")[0] == 0
    outputs = {metric: row["output"] for metric, row in _sheet(tmp_path / "sheet.csv").items()}
    assert outputs == {"polite": "It comes on <b>Monday</b>.", "whole": WHOLE}


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("It comes on <b>Monday</b>.", ""),
        (WHOLE, ""),
        ("It comes on Tuesday.", "the output of item 0 is different in this run"),
    ],
)
def test_labels_are_taken_of_the_part_and_of_the_whole(
    evenhand: Evenhand, tmp_path: Path, output: str, problem: str
):
    """Sheets of earlier versions show the whole output; one of another run is still told by its text."""
    evenhand("label", "--draw", "1", "--metric", "polite", "--to", "sheet.csv")
    row = {**_sheet(tmp_path / "sheet.csv")["polite"], "output": output, "verdict": "pass"}
    with (tmp_path / "filled.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, row)
        table.writeheader()
        table.writerow(row)
    code, told = evenhand("label", "--from", "filled.csv", "--by", "ann")
    assert (code, problem in told) == (2 if problem else 0, True)
