"""The workflows that readers paste, and the action: they are YAML, and what they call is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.cli.verbs import evenhand

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"^```yml\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def lines(steps: list[Any]) -> list[str]:
    """The commands of a job."""
    return [step if isinstance(step, str) else step.get("run", "") for step in steps]


CALLS = re.compile(r"\bevenhand [a-z][^|\n\"]*")
"""Our command lines in scripts, up to a pipe, the end of a quoted text, or that of the line."""


def called(script: str) -> list[str]:
    """Reads our command lines in a script as our command line would; the commands that they name."""
    names: list[str] = []
    for line in CALLS.findall(script):
        _, name, *words = shlex.split(line)
        command = evenhand.get_command(None, name)  # pyright: ignore[reportArgumentType]
        assert command is not None, line
        with command.make_context(name, [word for word in words if word != "EXIT"]):
            names.append(name)
    return names


def needed(steps: list[Any]) -> dict[str, str]:
    """The permissions that these steps need."""
    scripts = "\n".join(lines(steps))
    uses = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    wanted: dict[str, str] = {}
    if "actions/checkout" in uses:
        wanted["contents"] = "read"
    if "actions/download-artifact" in uses:
        wanted["actions"] = "read"
    if "evenhand comment" in scripts or any(each.endswith("/evenhand") for each in uses):
        wanted["pull-requests"] = "write"
    return wanted


def test_no_checkout_leaves_the_jobs_token_for_the_code_that_runs():
    """On any page, and in our own workflows."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / ".github/workflows").glob("*.yml")]
    pages += [ROOT / "action.yml", ROOT / "README.md"]
    checkouts = [
        (page.name, line)
        for page in pages
        for line in re.findall(r"uses: actions/checkout@v.*\n.*(?:\n.*)?", page.read_text("utf-8"))
    ]
    assert len(checkouts) >= 6
    assert [name for name, line in checkouts if "persist-credentials: false" not in line] == []


@pytest.mark.parametrize("text", BLOCKS)
def test_each_workflow_can_be_pasted(text: str):
    """Jobs with steps and the permissions that they need; our command lines are such."""
    workflow = yaml.safe_load(text)
    if "jobs" in workflow:
        assert True in workflow, "YAML reads `on` as true"
        (job,) = workflow["jobs"].values()
        steps = job["steps"]
        assert workflow["permissions"] == needed(steps)
        assert all(("uses" in step) != ("run" in step) for step in steps)
        assert not any(" | " in step.get("run", "") for step in steps), "a pipe hides an exit code"
        for step in steps:
            if "evenhand comment" in step.get("run", ""):
                assert step["env"] == {"GITHUB_TOKEN": "${{ github.token }}"}
                ours = any("evenhand gate" in line for line in lines(steps))
                assert ("if" in step) == ours, "a gate that fails is told of, too"
        called("\n".join(lines(steps)))
    elif "steps" in workflow:
        (step,) = workflow["steps"]
        assert "$" not in step["command"], "Buildkite would fill it in"
        assert called(step["command"]) == ["comment", "gate"]
    else:
        (job,) = workflow.values()
        assert not any("|| true" in line for line in job["script"])
        assert called("\n".join(job["script"])) == ["gate"]
        assert called("\n".join(job["after_script"])) == ["comment", "export", "export"]


def test_every_command_of_the_page_can_be_typed():
    """In its shell blocks."""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    shell = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = [name for script in shell for name in called(script.replace(" > gate.md", ""))]
    assert {"run", "baseline", "gate", "comment", "export"} <= set(names)


def test_a_second_workflow_runs_nothing_of_the_pull_request():
    """It has rights, so it takes no code from there, nor text of the event in a script.

    What it checks out is the default branch, as nothing else is named.
    """
    (second,) = [text for text in BLOCKS if "workflow_run:" in text]
    (job,) = yaml.safe_load(second)["jobs"].values()
    checkouts = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert [step["with"] for step in checkouts] == [{"persist-credentials": False}]
    assert not any("${{" in step.get("run", "") for step in job["steps"])
    assert "pull_request_target:" not in "".join(BLOCKS)


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


def run_step(name: str, folder: Path, code: int, **env: str) -> tuple[int, list[str]]:
    """Runs a step of the action with an `evenhand` that prints its words; how it exits, and the words."""
    (step,) = [one for one in ACTION["runs"]["steps"] if one.get("name") == name]
    program = folder / "evenhand"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@"\nexit {code}\n')
    program.chmod(0o755)
    whole = {
        **os.environ,
        **dict.fromkeys(step["env"], ""),
        **env,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(
        script, env=whole, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@needs_bash
@pytest.mark.parametrize(
    ("files", "more", "installed"),
    [
        (["wheels/evenhand-0.1.0-py3-none-any.whl"], {}, "wheels/evenhand-0.1.0-py3-none-any.whl"),
        (["my wheels/evenhand-1.whl"], {"WHEEL": "my wheels/*.whl"}, "my wheels/evenhand-1.whl"),
        (["action/pyproject.toml"], {}, "{folder}/action"),
        (["action/pyproject.toml", "wheels/evenhand-1.whl"], {}, "wheels/evenhand-1.whl"),
        (["wheels/evenhand-1.whl"], {"VERSION": "0.2"}, "evenhand==0.2"),
        (["wheels/evenhand-1.whl", "wheels/evenhand-2.whl"], {}, ""),
        ([], {"WHEEL": "$(touch ran)"}, ""),
        ([], {}, ""),
    ],
)
def test_the_action_installs_a_named_wheel_and_never_a_package_of_that_name(
    tmp_path: Path, files: list[str], more: dict[str, str], installed: str
):
    """A copied action has nothing beside itself, and the name alone may be anybody's on a public index."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    pip.chmod(0o755)
    default = ACTION["inputs"]["wheel"]["default"]
    env = {"WHEEL": default, "HERE": str(tmp_path / "action"), **more}
    exited, words = run_step("Install Evenhand", tmp_path, 0, **env)
    if installed:
        line = ["install", "--quiet", installed.format(folder=tmp_path)]
        assert (exited, words) == (0, line)
        # With what the application needs, in one line: pip then finds versions that suit both.
        env["REQUIREMENTS"] = "my app/requirements.txt"
        expected = [*line, "-r", "my app/requirements.txt"]
        assert run_step("Install Evenhand", tmp_path, 0, **env) == (0, expected)
    else:
        assert exited == 1
        assert words[0].startswith("::error::there are")
    assert not (tmp_path / "ran").exists()


@needs_bash
@pytest.mark.parametrize(("code", "more"), [(0, {}), (1, {}), (3, {"MARGIN": "0.05"}), (5, {})])
def test_the_action_exits_as_the_gate_does(tmp_path: Path, code: int, more: dict[str, str]):
    """And leaves what the comment is made of."""
    exited, words = run_step("Gate", tmp_path, code, EVALS="my evals; $(touch ran)", **more)
    assert exited == code
    options = [f"--margin={more['MARGIN']}"] if more else []
    file = str(tmp_path / "evenhand-gate.json")
    assert words == [
        "gate",
        "--no-progress",
        "--to",
        file,
        *options,
        "--",
        "my evals; $(touch ran)",
    ]
    assert not (tmp_path / "ran").exists()


@needs_bash
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--offline --offline-in-ci", ["--offline", "--offline-in-ci"]),
        ("--filter 'late parcel'\n-n 2\n", ["--filter", "late parcel", "-n", "2"]),
        ("$(touch ran) `touch ran`;", ["$(touch", "ran)", "`touch", "ran`;"]),
        (" ", []),
    ],
)
def test_the_action_passes_any_other_option_on(tmp_path: Path, typed: str, words: list[str]):
    """Quoted as in a shell, and run by none."""
    exited, given = run_step("Gate", tmp_path, 0, EVALS="evals", OPTIONS=typed, MARGIN="0.1")
    file = str(tmp_path / "evenhand-gate.json")
    line = ["gate", "--no-progress", "--to", file, *words, "--margin=0.1", "--", "evals"]
    assert (exited, given) == (0, line)
    assert not (tmp_path / "ran").exists()


@needs_bash
def test_the_action_refuses_options_that_it_cannot_read(tmp_path: Path):
    """A quote that is not closed: half of the options would be another gate."""
    assert run_step("Gate", tmp_path, 0, EVALS="evals", OPTIONS="--filter 'late")[0] != 0


@needs_bash
def test_the_action_comments_also_when_the_gate_failed(tmp_path: Path):
    """Unless there is nothing to say, or nobody wants it: then only the summary is written."""
    (step,) = [one for one in ACTION["runs"]["steps"] if one.get("name") == "Comment"]
    assert step["if"] == "${{ !cancelled() }}"
    assert run_step("Comment", tmp_path, 0, COMMENT="true") == (0, [])
    file = tmp_path / "evenhand-gate.json"
    file.write_text("{}")
    exited, words = run_step(
        "Comment", tmp_path, 0, COMMENT="true", KEY="a b", REPORT_URL="https://r"
    )
    assert (exited, words) == (
        0,
        ["comment", "--key=a b", "--report-url=https://r", "--", str(file)],
    )
    assert run_step("Comment", tmp_path, 2, COMMENT="true")[0] == 2
    assert run_step("Comment", tmp_path, 0, COMMENT="false") == (0, [])
    assert (tmp_path / "summary").read_text().splitlines() == [
        "comment",
        "--print",
        "--",
        str(file),
    ]


@needs_bash
def test_what_the_action_calls_can_be_typed():
    """Each command with its options."""
    for step in ACTION["runs"]["steps"]:
        script = re.sub(r'"\$\{options\[@\]\}"', "", step.get("run", ""))
        for line in re.findall(r"^ *(evenhand .*?)(?: >>.*)?$", script, re.MULTILINE):
            called(line.replace('"$RUNNER_TEMP/evenhand-gate.json"', "g.json").replace('"', ""))


def test_what_a_release_is_tried_with_succeeds_with_todays_example(tmp_path: Path):
    """In the workflow that publishes, and in the formula for Homebrew: else a sound release stops there."""
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    formula = (ROOT / "docs/releasing.md").read_text("utf-8")
    (tried,) = re.findall(r"evenhand (run shop .*?)(?: #|$)", workflow, re.MULTILINE)
    (brewed,) = re.findall(r'system bin/"evenhand", ("run".*)$', formula, re.MULTILINE)
    env = {**os.environ, "EVENHAND_CACHE": str(tmp_path / "cache")}
    for words in (["init", "shop"], tried.split(), re.findall(r'"(.+?)"', brewed)):
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
