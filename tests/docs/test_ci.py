"""The workflows that readers paste, and the action: they are YAML, and what they call is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.cli.verbs import evenhand

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"^```yml\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def lines(steps: list[Any]) -> list[str]:
    """The commands of a job."""
    return [step if isinstance(step, str) else step.get("run", "") for step in steps]


@pytest.mark.parametrize("text", BLOCKS)
def test_each_workflow_can_be_pasted(text: str):
    """Jobs with steps; each call of ours names a command and options that there are."""
    workflow = yaml.safe_load(text)
    if "jobs" in workflow:
        assert True in workflow, "YAML reads `on` as true"
        assert workflow["permissions"] == {"contents": "read"}
        (job,) = workflow["jobs"].values()
        commands = lines(job["steps"])
        assert all("uses" in step or "run" in step for step in job["steps"])
        piped = [step for step in job["steps"] if " | " in step.get("run", "")]
        assert all(step["shell"] == "bash" for step in piped), (
            "without it, a pipe hides the exit code"
        )
    else:
        (job,) = workflow.values()
        commands = [*job["script"], *job["after_script"]]
        assert not any("|| true" in line for line in job["script"])
    for line in commands:
        words = shlex.split(line.partition("|")[0])
        if words[:1] == ["evenhand"]:
            command = evenhand.get_command(None, words[1])  # pyright: ignore[reportArgumentType]
            assert command is not None
            with command.make_context(words[1], words[2:]):
                pass


def test_what_the_page_gives_the_action_is_among_its_inputs():
    """And each input says what it is, and is read."""
    (used,) = [
        step["with"]
        for text in BLOCKS
        for job in yaml.safe_load(text).get("jobs", {}).values()
        for step in job["steps"]
        if step.get("uses", "").endswith("/evenhand")
    ]
    assert used.keys() <= ACTION["inputs"].keys()
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, one in ACTION["inputs"].items():
        assert one["description"]
        assert "default" in one
        assert f"inputs.{name} }}}}" in text


def test_no_input_is_part_of_a_script():
    """They come as variables: a path with a quote or a `$(…)` in it is a path."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert "run" not in step or step["shell"] == "bash"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(("code", "more"), [(0, {}), (1, {}), (3, {"MARGIN": "0.05"}), (5, {})])
def test_the_action_exits_as_the_gate_does(tmp_path: Path, code: int, more: dict[str, str]):
    """What it prints is in the summary of the job."""
    gate = ACTION["runs"]["steps"][-1]
    program = tmp_path / "evenhand"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@"\nexit {code}\n')
    program.chmod(0o755)
    empty = dict.fromkeys(gate["env"], "")
    env = {
        **os.environ,
        **empty,
        "EVALS": "my evals; $(touch ran)",
        **more,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", gate["run"]]
    done = subprocess.run(
        script, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    printed = (tmp_path / "summary").read_text().splitlines()
    options = [f"--margin={more['MARGIN']}"] if more else []
    assert printed == ["gate", "--no-progress", *options, "--", "my evals; $(touch ran)"]
    assert not (tmp_path / "ran").exists()
