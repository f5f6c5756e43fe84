"""The shipped example, run by the real command line against a real server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Script

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "summaries"
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


def run(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """`evenhand` with these arguments, in an environment that has no key and no address but these."""
    clean = {
        name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")
    }
    return subprocess.run(
        [*COMMAND, *args],
        cwd=cwd,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example, without runs."""
    return Path(
        shutil.copytree(EXAMPLE, tmp_path / "summaries", ignore=shutil.ignore_patterns(".evenhand"))
    )


@pytest.fixture
def fake(folder: Path) -> Iterator[FakeProvider]:
    """A provider that answers from the example's script."""
    with FakeProvider(Script.read(folder / "offline.jsonl")) as provider:
        yield provider


def by_prompt(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The trials of each prompt, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for trial in document["trials"]:
        found.setdefault(trial["variant"]["prompt"].rpartition(":")[2], []).append(trial)
    return found


def test_offline_each_prompt_comes_out_as_scripted(folder: Path):
    """Basic 0 of 8, better 7 of 8, best 8 of 8; article 3 is what better fails at; failures exit with 1."""
    done = run("run", str(folder), "--offline", cwd=folder.parent)
    assert done.returncode == 1, done.stderr
    assert "replies scripted, no key needed" in done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines() if "/8" in line]
    assert rows == [["basic", "0/8"], ["better", "7/8"], ["best", "8/8"]]
    assert "backpropagati" in done.stdout
    assert "best beats basic" in done.stdout
    assert "next: evenhand" in done.stdout


def test_with_a_server_it_asks_model_and_grader_once_each(folder: Path, fake: FakeProvider):
    """24 summaries and 24 judgements reach the server: the grader's through the real SDK."""
    pytest.importorskip("anthropic")
    done = run("run", "--json", cwd=folder, **fake.env())
    document = json.loads(done.stdout)
    assert document["verdict"] == "failed"
    assert document["totals"]["trials"] == 24
    assert document["totals"]["errors"] == 0
    assert (fake.ledger.total, fake.ledger.repeated) == (48, 0)


def test_every_score_is_the_mean_of_the_graders_numbers(folder: Path):
    """Scores above 1 are kept as they are, and the grader's own numbers stand beside them."""
    done = run("run", "--offline", "--json", cwd=folder)
    trials = by_prompt(json.loads(done.stdout))
    for trial in (trial for of_prompt in trials.values() for trial in of_prompt):
        numbers = trial["named_scores"]
        assert set(numbers) == {"accuracy", "brevity", "plainness"}
        assert trial["score"] == pytest.approx(sum(numbers.values()) / 3)
        assert trial["outcome"] == ("pass" if trial["score"] >= 4.5 else "fail")
    means = {name: sum(t["score"] for t in found) / 8 for name, found in trials.items()}
    assert means["basic"] < 3.5
    assert 4.5 < means["better"] < means["best"] < 5


def test_a_judge_that_answers_in_prose_is_an_error_and_no_score(folder: Path):
    """Where the grader raises there is no score: the trial is an error, and the run has no verdict to pass on."""
    script = folder / "offline.jsonl"
    lines = script.read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if "You check summaries" in line)
    lines.insert(
        first, json.dumps({"match": ["You check summaries"], "reply": "Nice summary! 8/10"})
    )
    script.write_text("\n".join(lines), "utf-8")
    done = run("run", "--offline", "--json", cwd=folder)
    document = json.loads(done.stdout)
    assert document["totals"]["errors"] == 24
    assert {trial["score"] for trial in document["trials"]} == {None}
    assert "no JSON object" in document["trials"][0]["outcomes"][0]["reason"]
    assert done.returncode == 3


@pytest.mark.parametrize("verb", ["run", "check"])
def test_without_a_key_it_is_refused_at_once_and_says_which(folder: Path, verb: str):
    """Neither key nor --offline: nothing is sent, and no run is begun; the variable to set is named."""
    done = run(verb, cwd=folder)
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "nothing was sent" in done.stderr
    assert not (folder / ".evenhand").exists()


def test_a_new_folder_runs_offline(tmp_path: Path):
    """`init` and `run --offline` work one after the other, and show a prompt that is better than the other."""
    assert run("init", "mine", cwd=tmp_path).returncode == 0
    done = run("run", "mine", "--offline", "--json", cwd=tmp_path)
    trials = json.loads(done.stdout)["trials"]
    passed: dict[str, int] = {}
    for trial in trials:
        prompt = trial["variant"]["prompt"]
        passed[prompt] = passed.get(prompt, 0) + (trial["outcome"] == "pass")
    assert list(passed.values()) == [1, 5]
