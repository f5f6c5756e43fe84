"""A prompt in a file that a provider's code reads is part of the system: a run is of one version of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROVIDER = """
import pathlib


def call_api(prompt, options, context):
    system = pathlib.Path(__file__).with_name("system.txt").read_text()
    if system == "one" and prompt.endswith("3"):
        raise RuntimeError("not this one")
    return {"output": f"{system} {prompt}"}
"""
CONFIG = """
prompts: ["q {{n}}"]
providers: ["file://bot.py"]
tests: [{vars: {n: 1}}, {vars: {n: 3}}]
"""
EVALS = """
from evenhand import Case, EvalSet, Expect

evals = EvalSet("app", data=[{"input": "1"}, {"input": "3"}], model="file://bot.py")


@evals.eval
async def answers(case: Case, model, expect: Expect) -> None:
    expect(len((await model.generate(case.input)).text) > 1, "answers")
"""


def evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "evenhand", *words, "--no-progress"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("name", "text"), [("promptfooconfig.yaml", CONFIG), ("app_evals.py", EVALS)]
)
def test_a_run_is_not_resumed_with_another_text_of_a_prompt(tmp_path: Path, name: str, text: str):
    """Nor does the next one take answers of the old text from the cache."""
    (tmp_path / name).write_text(text)
    (tmp_path / "bot.py").write_text(PROVIDER)
    system = tmp_path / "system.txt"
    system.write_text("one")
    assert evenhand(tmp_path, "run", name).returncode == 3
    system.write_text("two")
    resumed = evenhand(tmp_path, "resume", "latest", "--errors")
    assert (resumed.returncode, "cannot be resumed" in resumed.stderr) == (2, True)
    again = evenhand(tmp_path, "run", name, "--json")
    assert (again.returncode, "one q" in again.stdout, "one 1" in again.stdout) == (0, False, False)
    system.write_text("one")
    assert evenhand(tmp_path, "resume", "latest~1", "--errors").returncode == 3
