"""Judges of pairs where calibration is required: rankings, preferences and promptfoo's select-best."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenhand.testing import FakeProvider, Rule, Script

SET = """
from evenhand import Case, Dataset, EvalSet, Model
from evenhand.scorers import Ranking

STYLES = {"plain": "Answer in one sentence.", "warm": "Be warm."}
evals = EvalSet(
    "replies",
    data=Dataset.of(*({"id": str(n), "input": f"question {n}"} for n in range(40))),
    model="openai:chat:gpt-5-mini",
    judge="openai:chat:gpt-5",
    over={"style": list(STYLES)},
    compare=[Ranking(criteria="helps the customer")],
)


@evals.eval
async def replies(case: Case, style: str, model: Model) -> str:
    return (await model.generate(f"{STYLES[style]} {case.input}")).text
"""
CONFIG = {
    "prompts": ["Plainly: {{q}}", "Be warm: {{q}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "tests": [
        {
            "vars": {"q": f"question {n}"},
            "assert": [{"type": "select-best", "value": "helps", "provider": "openai:chat:gpt-5"}],
        }
        for n in range(4)
    ],
}
Command = Callable[..., str]


@pytest.fixture
def evenhand(tmp_path: Path) -> Iterator[Command]:
    """The command line in a folder, with a judge that prefers warm replies."""
    rules = [
        Rule((r"<first [^>]*>\s*warm",), _prefers("first"), model="gpt-5"),
        Rule((r"<second [^>]*>\s*warm",), _prefers("second"), model="gpt-5"),
        Rule((r"about question [01]",), "0", model="gpt-5"),
        Rule(reply="1", model="gpt-5"),
        Rule((r"Be warm: question 0",), "about question 0", model="gpt-5-mini"),
        Rule((r"Be warm: question 1",), "about question 1", model="gpt-5-mini"),
        Rule((r"Be warm",), "warm words", model="gpt-5-mini"),
        Rule(reply="plain words", model="gpt-5-mini"),
    ]
    with FakeProvider(Script(rules)) as fake:

        def run(*args: str | Path, code: int = 0) -> str:
            done = subprocess.run(
                [sys.executable, "-c", "from evenhand.cli import main; main()", *map(str, args)],
                cwd=tmp_path,
                env={**os.environ, **fake.env()},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == code, done.stdout + done.stderr
            return done.stdout + done.stderr

        yield run


def _prefers(which: str) -> str:
    return json.dumps({"reasoning": "It is warm.", "winner": which, "confidence": 0.9})


def test_a_ranking_without_labels_of_its_pairs_gives_no_verdict_until_they_are_there(
    evenhand: Command, tmp_path: Path
):
    """Exit 3, with what is missing; with labels it passes, and once the prompt is edited it has none again."""
    evals = tmp_path / "replies_evals.py"
    evals.write_text(SET, "utf-8")
    run = ("run", evals, "--calibrated", "required", "--no-progress")
    told = evenhand(*run, code=3)
    assert "calibration is required, so there is no verdict without it" in told
    assert 'ranking by "helps the customer" by gpt-5: not checked against people' in told
    draw = tmp_path / "draw.jsonl"
    evenhand("label", "--draw", "40", "--seed", "1", "--to", draw)
    rows = [json.loads(line) for line in draw.read_text("utf-8").splitlines()]
    for row in rows:
        row["verdict"] = "first" if row["first"].startswith("warm") else "second"
    draw.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    evenhand("label", "--from", draw, "--by", "ann")
    evenhand("calibrate")
    assert "no verdict" not in evenhand(*run)
    evals.write_text(SET.replace("Be warm.", "Be warm!"), "utf-8")
    told = " ".join(evenhand(*run, code=3).split())
    assert "calibration is stale: system, eval replies changed" in told


def test_select_best_without_labels_gives_no_verdict(evenhand: Command, tmp_path: Path):
    """Its judge is one like any other."""
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG), "utf-8")
    run = ("run", ".", "--no-progress", "--at-least", "0.3")
    evenhand(*run)
    told = evenhand(*run, "--calibrated", "required", code=3)
    assert "calibration is required" in told


def test_a_ranking_is_compared_only_if_its_label_is_named(evenhand: Command, tmp_path: Path):
    """It is no metric: each of its scores is of the other variants' outputs, too."""
    (tmp_path / "replies_evals.py").write_text(SET, "utf-8")
    evenhand("run", "replies_evals.py", "--no-progress")
    assert "helps the customer" not in evenhand("compare", ":plain", ":warm")
    named = evenhand("compare", ":plain", ":warm", "--metric", 'ranking by "helps the customer"')
    assert ": better" in named
