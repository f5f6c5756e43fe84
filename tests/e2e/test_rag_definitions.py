"""`evenhand run --definitions`, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
EVALS = """
import json

from evenhand import EvalSet
from evenhand.scorers import Completeness, Faithfulness
from evenhand.testing import Scripted

said = {
    "refusal": False,
    "sentences": [{"id": 1, "statements": [{"statement": "It is old.", "claim": True, "topic": "on"}]}],
}
found = {"verdicts": [{"id": 1, "reasoning": "nowhere", "verdict": "not_found", "evidence": []}]}
evals = EvalSet("rag", judge=Scripted((json.dumps({**said, **found}),)))


@evals.eval
def keeps_to_its_pages(expect):
    expect("It is old.", Faithfulness(["It is new."]), at_least=0.5)
"""


def ran(folder: Path, *words: str) -> tuple[int, Any]:
    """The exit code, and the document that was printed, if it is one."""
    env = {**os.environ, "EVENHAND_HOME": str(folder / "home")}
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an eval set."""
    (tmp_path / "rag_evals.py").write_text(EVALS, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "value"),
    [((), 1, 0.0), (("--definitions", "deepeval"), 0, 1.0), (("--definitions", "ragas"), 1, 0.0)],
)
def test_a_run_counts_by_the_definitions_that_are_asked_for(
    folder: Path, words: Any, code: int, value: float
):
    """A claim that stands nowhere is not contradicted: faithful to one tool, and not to the others."""
    found, document = ran(folder, "run", "rag_evals.py", "--json", *words)
    assert found == code
    (outcome,) = document["trials"][0]["outcomes"]
    assert outcome["score"] == value
    assert outcome["metadata"].get("definitions", "") == (words[1] if words else "")


def test_an_unknown_tool_is_refused(folder: Path):
    """With those that there are."""
    code, said = ran(folder, "run", "rag_evals.py", "--definitions", "raga")
    assert code == 2
    assert "'ragas'" in said
