"""`evenhand watch` as somebody has it open while they edit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.cli import main

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


def test_a_saved_file_is_run_and_ctrl_c_ends_it(tmp_path: Path):
    """A line for each run, with what changed; files that a run writes start no run."""
    test = {"vars": {"x": "b"}, "assert": [{"type": "contains", "value": "a"}]}
    config = {"prompts": ["file://p.txt"], "providers": ["echo"], "tests": [test]}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (tmp_path / "p.txt").write_text("say {{x}}")
    env = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(
        [*COMMAND, "watch", "promptfooconfig.json", "-o", "out.json"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "passed · 1 of 1 passed" in process.stdout.readline()
        assert process.stdout.readline() == "  1 trial written to out.json\n"
        assert process.stdout.readline().startswith("watching 3 files of 1 target")
        (tmp_path / "p.txt").write_text("tell {{x}}")
        line = process.stdout.readline()
        assert "failed · 0 of 1 passed · 1 failed" in line
        assert line.endswith("p.txt saved\n")
        assert "fails now: " in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
        assert process.wait() == 0


@pytest.mark.parametrize("option", [["--json"], ["--batch"], ["--nothing"], ["-j", "0"]])
def test_options_that_do_not_fit_are_refused_before_anything_runs(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """As `run` would refuse them, or because they have no effect here."""
    with pytest.raises(SystemExit) as ended:
        main(["watch", str(tmp_path), *option])
    assert ended.value.code == 2
    assert option[0] in capsys.readouterr().err


def test_paths_that_do_not_exist_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """All of them, before anything is run or watched."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["watch", str(tmp_path), "nope", "gone_evals.py:3"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "nope does not exist\ngone_evals.py:3 does not exist\n" in said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("data.csv", "is data, not something to run"),
        ("notes.md", "cannot be run: a config ends in"),
    ],
)
def test_a_file_that_can_never_run_is_refused_once(
    name: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """And nothing is watched: saving it would change nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit) as ended:
        main(["watch", name])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count(f"{name}: {says}") == 1


def test_what_cannot_be_run_yet_says_what_it_waits_for(tmp_path: Path):
    """A config with a mistake, until it is saved without."""
    config = tmp_path / "promptfooconfig.json"
    config.write_text('{"prompts": ["a"]')
    with subprocess.Popen(
        [*COMMAND, "watch", "promptfooconfig.json"],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "not run (exit code 2)" in line
        while not line.startswith("watching "):
            line = process.stdout.readline()
        assert "promptfooconfig.json will be tried again when a file of it is saved" in line
        test = {"assert": [{"type": "contains", "value": "a"}]}
        config.write_text(json.dumps({"prompts": ["a"], "providers": ["echo"], "tests": [test]}))
        assert "passed · 1 of 1 passed" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait() == 0
