"""Amounts that can't be right: no sum overflows, and no file is damaged by them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import result

from evenhand.cli.importing import kept
from evenhand.core.run import AnswerDetails, Judged
from evenhand.core.step import Step
from evenhand.doors.importers.amounts import PossibleTrials
from evenhand.doors.importers.registry import read_runs
from evenhand.render.document import document
from evenhand.store.runfile import RunFile


def test_what_cannot_be_right_is_not_known_and_what_can_stays():
    """A cost below 0, seconds of ages, tokens beyond what a file holds; in steps, and of judges and answers, too."""
    sound = replace(
        result(0),
        latency_s=3.0,
        cost_usd=0.0,
        tokens_in=2**40,
        steps=(Step("model", "m", cost_usd=1.0),),
        answer=AnswerDetails(cost_usd=1.0),
        judged=Judged(1, 2, 3, 0.5),
    )
    wrong = replace(
        result(1),
        latency_s=1e305,
        cost_usd=-1.0,
        tokens_in=2**63,
        tokens_out=-1,
        calls=2**63,
        steps=(Step("model", "m", cost_usd=1e308, duration_s=-1.0), sound.steps[0]),
        answer=AnswerDetails(id="x", cost_usd=1e300),
        judged=Judged(1, 2**63, 3, 1e300),
    )
    possible = PossibleTrials()
    same, mended = possible.of([sound, wrong])
    assert possible.changed == 1
    assert same is sound
    assert (mended.latency_s, mended.cost_usd, mended.tokens_in) == (None, None, None)
    assert (mended.tokens_out, mended.calls) == (None, 0)
    assert [step.cost_usd for step in mended.steps] == [None, 1.0]
    assert mended.steps[0].duration_s is None
    assert mended.answer == AnswerDetails(id="x")
    assert mended.judged == Judged(1, 0, 3, None)


def test_a_run_of_impossible_amounts_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Results of promptfoo with a cost, a time and tokens that are far too large."""
    monkeypatch.chdir(tmp_path)
    row = {
        "testIdx": 0,
        "promptIdx": 0,
        "vars": {"q": "a"},
        "success": True,
        "score": 1,
        "cost": 1e308,
        "latencyMs": 1e308,
        "tokenUsage": {"prompt": 2**62, "assertions": {"prompt": 2**62, "numRequests": 1}},
        "response": {"output": "x"},
    }
    rows = [row, {**row, "testIdx": 1, "vars": {"q": "b"}}]
    results = {"version": 3, "prompts": [{"raw": "p", "label": "p"}], "results": rows}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"evalId": "eval-x", "results": results}))
    (one,) = kept(read_runs([path], "promptfoo"))
    assert "2 trials: a time, a cost or a count that can't be right is left out" in (
        capsys.readouterr().err
    )
    with RunFile.open(one.path) as run:
        totals = json.loads(json.dumps(document(run)))["totals"]
    assert (totals["passed"], totals["cost_usd"]) == (2, None)
