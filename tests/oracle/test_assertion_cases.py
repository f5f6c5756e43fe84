"""Assertions on generated outputs, against what promptfoo made of them; see `record_assertions.py`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.render.promptfoo.writing import write_promptfoo
from evenhand.store.runfile import RunFile

HERE = Path(__file__).parent
FILES = sorted((HERE / "assertions").glob("*.jsonl"))
PROVIDER = """
import json, pathlib
CASES = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())
def call_api(prompt, options, context):
    return CASES[int(context["vars"]["case"])]["response"]
"""


def settled(cases: list[dict[str, Any]], folder: Path) -> Mapping[int, Mapping[str, Any]]:
    """The rows of promptfoo's results JSON when the cases are run here as one config."""
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "answer.py").write_text(PROVIDER)
    labels: dict[str, dict[str, Any]] = {}
    tests: list[dict[str, Any]] = []
    for number, case in enumerate(cases):
        provider = {"id": "file://answer.py", "config": case.get("config") or {}}
        label = labels.setdefault(json.dumps(provider), {**provider, "label": f"p{len(labels)}"})
        tests.append(
            {
                "vars": {**(case.get("vars") or {}), "case": str(number)},
                "providers": [label["label"]],
                **{k: case[k] for k in ("assert", "threshold", "options") if k in case},
            }
        )
    config = {"prompts": ["{{case}}"], "providers": list(labels.values()), "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    finished = door.run(load(folder, Chosen(env={})), door.Settings(home=folder / "home"))
    with RunFile.open(finished.path) as run, (folder / "results.json").open("w") as out:
        write_promptfoo(run, out)
    results = json.loads((folder / "results.json").read_text())["results"]["results"]
    shutil.rmtree(folder / "home")
    return {int(row["vars"]["case"]): row for row in results}


def disagreement(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """How a row differs from what was recorded; empty where it does not."""
    if row["failureReason"] != wanted["failureReason"]:
        return f"failureReason {row['failureReason']} wanted {wanted['failureReason']}"
    if wanted["failureReason"] == 2:
        return ""
    parts = row["gradingResult"]["componentResults"]
    found = [row["score"], *(number for part in parts for number in (part["pass"], part["score"]))]
    told = [wanted["score"], *(number for part in wanted["components"] for number in part)]
    return "" if found == pytest.approx(told, abs=1e-9) else f"{found} wanted {told}"


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_generated_outputs_come_to_what_promptfoo_recorded(file: Path, tmp_path: Path) -> None:
    """Verdict, score and each assertion's verdict, for every case."""
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rows = settled(cases, tmp_path)
    found = [
        f"{file.name}:{number + 1}: {said}, {json.dumps(case['assert'])}"
        for number, case in enumerate(cases)
        if (said := disagreement(rows[number], case["expect"]))
    ]
    assert not found, "\n".join(found)
