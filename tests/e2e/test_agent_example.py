"""The example of the page on agents runs as it says, without a key, and its steps are those of the page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, which has been run."""
    folder = tmp_path_factory.mktemp("example") / "agent"
    shutil.copytree(ROOT / "examples" / "agent", folder)
    done = evenhand(folder, "run", ".", "--offline", "--no-progress")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 passed" in done.stdout
    return folder


def evenhand(folder: Path, *words: str) -> Any:
    """Runs the command in a folder."""
    code = "from evenhand.cli import main; main()"
    keyless = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")} | {
        "COLUMNS": "120"
    }
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=keyless,
    )


def test_a_cell_tells_each_step_of_the_agent_with_what_came_of_it(folder: Path):
    """Recorded tools are the ones that the model asked for; the one that failed is told as failed."""
    row = json.loads(evenhand(folder, "show", "latest", "sent", "--json").stdout)
    told = [(s["kind"], s["name"], s["status"], bool(s["call"])) for s in row["steps"]]
    assert told == [
        ("model", "gpt-5-mini", "ok", False),
        ("tool", "find_order", "ok", True),
        ("tool", "change_address", "error", True),
        ("model", "gpt-5-mini", "ok", False),
        ("tool", "redirect_parcel", "ok", True),
        ("model", "gpt-5-mini", "ok", False),
    ]
    assert row["steps"][2]["error"] == "ValueError: the order has been sent"
    assert row["steps"][3]["arguments"]["earlier"] == 3
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    shown = evenhand(folder, "show", "latest", "sent").stdout
    for line in shown.partition("  steps\n")[2].partition("\n\n")[0].splitlines()[1:7]:
        said = line.strip().split("   ")[0]
        if said.startswith(("→", "✗")):
            assert said in page


def test_the_document_of_the_run_has_the_steps_of_each_trial(folder: Path):
    """As JSON and as lines of JSON."""
    document = json.loads(evenhand(folder, "show", "latest", "--json").stdout)
    assert [len(trial["steps"]) for trial in document["trials"]] == [5, 6, 3]
    evenhand(folder, "export", "latest", "--to", "run.jsonl", "--format", "jsonl")
    lines = (folder / "run.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["steps"]) for line in lines] == [5, 6, 3]


def test_a_replay_has_the_same_steps(folder: Path):
    """Although no tool runs: the checks of the steps pass, and those of the database, which nothing changed, fail."""
    done = evenhand(folder, "run", ".", "--replay", "latest", "--no-progress", "--json")
    document = json.loads(done.stdout)
    first = json.loads(evenhand(folder, "show", "latest", "sent", "--json").stdout)
    trial = next(one for one in document["trials"] if one["case"] == "sent")
    assert [s["name"] for s in trial["steps"]] == [s["name"] for s in first["steps"]]
    failed = [o["name"] for o in trial["outcomes"] if o["outcome"] != "pass"]
    assert failed == ['leaves the state "{"1043":"redirected"}"']
