"""A decision model's probabilities go into its calibration, and narrow the corrected rate."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.scorers import Passes

evals = EvalSet(
    "shop",
    data=Dataset.of(*({"id": f"case {i}", "input": f"output {i}."} for i in range(240))),
    judge="openai:decisions:gpt-6-luna",
)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    expect(case.input, Passes("WORDS"), metric="policy")
    return case.input
"""


def truths(informative: bool) -> list[tuple[bool, float]]:
    """For each output whether people pass it, and the judge's probability: surer where it is right, or not."""
    rng = random.Random(5)
    rows: list[tuple[bool, float]] = []
    for _ in range(240):
        good = rng.random() < 0.6
        right = rng.random() < 0.8
        sure = rng.uniform(0.75, 0.99) if right or not informative else rng.uniform(0.5, 0.7)
        passes = good is right
        rows.append((good, round(sure if passes else 1 - sure, 3)))
    return rows


def _folder(folder: Path, words: str = "keeps to the policy") -> None:
    (folder / "shop_evals.py").write_text(EVALS.replace("WORDS", words), "utf-8")


@pytest.mark.thorough
def test_other_outputs_of_the_same_system_are_corrected(tmp_path: Path):
    """A decision's question is named by the output that it is about: that makes no other judge of it."""
    rows = truths(informative=True)
    rules = [Rule((rf"output {i}\.",), reply=p) for i, (_, p) in enumerate(rows)]
    _folder(tmp_path)
    with FakeProvider(Script(rules)) as fake:
        evenhand = _command(tmp_path, fake)
        _label(tmp_path, evenhand, rows)
        evenhand("calibrate", "latest")
        text = (tmp_path / "shop_evals.py").read_text("utf-8")
        other = text.replace("expect(case.input,", "expect(case.input + ' So long.',")
        assert other != text
        (tmp_path / "shop_evals.py").write_text(other, "utf-8")
        (rate,) = json.loads(evenhand("run", "--json"))["judged"]
    assert (rate["calibration"], rate["changed"]) == ("fresh", [])
    assert rate["corrected"] is not None


def test_a_judge_that_always_passes_is_never_usable(tmp_path: Path):
    """However well its probabilities tell good outputs from bad ones."""
    rows = [(good, 0.99 if good else 0.6) for good, _ in truths(informative=True)]
    document = _calibrated(tmp_path, rows)[0]
    (judge,) = document["judges"]
    assert judge["verdict"] == "do not use"
    assert judge["corrected"] is None


def _calibrated(tmp_path: Path, rows: list[tuple[bool, float]]) -> tuple[dict[str, Any], str]:
    """The calibration of a run by 80 labels, as a document and as text."""
    rules = [Rule(last=rf"output {i}\.", reply=p) for i, (_, p) in enumerate(rows)]
    _folder(tmp_path)
    with FakeProvider(Script(rules)) as fake:
        evenhand = _command(tmp_path, fake)
        _label(tmp_path, evenhand, rows)
        return json.loads(evenhand("calibrate", "latest", "--json")), evenhand(
            "calibrate", "latest"
        )


def _command(tmp_path: Path, fake: FakeProvider) -> Callable[..., str]:
    def evenhand(*arguments: str) -> str:
        env = {**os.environ, **fake.env(), "EVENHAND_HOME": str(tmp_path / "home")}
        command = [*COMMAND, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode in (0, 1, 3), done.stderr + done.stdout
        return done.stdout

    return evenhand


def _label(tmp_path: Path, evenhand: Callable[..., str], rows: list[tuple[bool, float]]) -> None:
    """Runs the evals, and has a person label a draw of 80."""
    evenhand("run")
    sheet = tmp_path / "draw.csv"
    evenhand("label", "latest", "--draw", "80", "--seed", "1", "--to", str(sheet))
    with sheet.open() as lines:
        drawn = list(csv.DictReader(lines))
    for row in drawn:
        place = int(row["output"].removeprefix("output ").removesuffix("."))
        row["verdict"] = "pass" if rows[place][0] else "fail"
    with sheet.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(drawn[0]))
        writer.writeheader()
        writer.writerows(drawn)
    evenhand("label", "latest", "--from", str(sheet), "--by", "ann")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("informative", [True, False])
def test_probabilities_are_recalibrated_and_narrow_the_rate(informative: bool, tmp_path: Path):
    """The report has a reliability curve and Brier scores; what they add is nothing where they tell nothing."""
    rows = truths(informative)
    rules = [Rule(last=rf"output {i}\.", reply=p) for i, (_, p) in enumerate(rows)]
    _folder(tmp_path)
    with FakeProvider(Script(rules)) as fake:
        evenhand = _command(tmp_path, fake)
        _label(tmp_path, evenhand, rows)
        document: dict[str, Any] = json.loads(evenhand("calibrate", "latest", "--json"))
        text = evenhand("calibrate", "latest")
        decides = json.loads(evenhand("calibrate", "latest", "--json", "--accept-risk", "0.15"))
        (judge,) = document["judges"]
        again = json.loads(evenhand("run", "--json"))
        _folder(tmp_path, "keeps to the new policy")
        other = json.loads(evenhand("run", "--json"))
    worth = judge["probabilities"]
    truth = sum(good for good, _ in rows) / len(rows)
    assert judge["corrected"]["low"] <= truth <= judge["corrected"]["high"]
    assert sum(point["labels"] for point in worth["curve"]) == 80
    assert worth["recalibrated"]["low"] < worth["recalibrated"]["value"] < 0.25
    assert (worth["explained"] > 0.2) is informative
    # Where it is surer of right verdicts, some can stand at a risk that all of them would not keep.
    selective = decides["judges"][0]["selective"]
    assert (selective["accepted"] > 0) is informative
    assert selective["wrong"] <= 0.15 * selective["labelled"]
    assert "Brier" in text
    assert "people pass" in text
    # A later run is corrected by the file as this one was by its own labels; other words make it stale.
    (rate,) = again["judged"]
    assert rate["calibration"] == "fresh"
    assert rate["corrected"]["value"] == pytest.approx(judge["corrected"]["value"], abs=0.02)
    assert other["judged"][0]["calibration"] == "stale"
    assert other["judged"][0]["corrected"] is None
