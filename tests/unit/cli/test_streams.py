"""Stdout and stderr that are closed, full, or read by nobody: a run goes on, and its exit code says how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand
from evenhand.cli import main

OURS = str(Path(evenhand.__file__).parent.parent)
"""Not the path of this process: tests before this one may have put folders of theirs first in it."""

CONFIG = """
prompts: ["{{x}}"]
providers: [echo]
tests:
  - vars: {x: yes it is}
    assert: [{type: contains, value: VALUE}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose one trial passes."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG.replace("VALUE", "yes"), "utf-8")
    return tmp_path


def run(folder: Path, shell: str) -> tuple[int, str]:
    """The exit code of `evenhand` in a shell's line, and what reached stderr."""
    words = f"'{sys.executable}' -c 'from evenhand.cli import main; main()'"
    done = subprocess.run(
        ["bash", "-c", shell.replace("evenhand ", f"{words} ")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": OURS},
    )
    return done.returncode, done.stderr


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize(
    "line",
    [
        "evenhand run >&-",
        "evenhand run 2>&-",
        "evenhand run --no-progress --json >&- 2>&-",
        "evenhand run | true; exit ${PIPESTATUS[0]}",
        "evenhand run --json | true; exit ${PIPESTATUS[0]}",
        "evenhand run 2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}",
        "evenhand info scorers | true; exit ${PIPESTATUS[0]}",
        "evenhand --version | true; exit ${PIPESTATUS[0]}",
    ],
)
def test_who_reads_it_does_not_change_what_a_command_comes_to(folder: Path, line: str):
    """A stream that is closed, and a pipe whose reader has gone, make no traceback and no failure."""
    code, said = run(folder, line)
    assert (code, "Traceback" in said, "rror" in said) == (0, False, False), said


def test_a_run_that_failed_says_so_to_whoever_read_only_its_beginning(tmp_path: Path):
    """The exit code is the verdict's, not the pipe's."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG.replace("VALUE", "no"), "utf-8")
    assert run(tmp_path, "evenhand run | true; exit ${PIPESTATUS[0]}")[0] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux's")
@pytest.mark.parametrize("more", ["", "--json"])
def test_a_report_that_cannot_be_written_is_said_to_be_lost_and_the_run_is_not(
    folder: Path, more: str
):
    """It is no fault of ours, and no verdict was given."""
    code, said = run(folder, f"evenhand run --no-progress {more} > /dev/full")
    assert code == 3
    assert said.startswith("evenhand: stdout cannot be written: No space left")
    assert run(folder, "evenhand show --no-table") == (0, "")


@pytest.mark.thorough(after=4)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux's")
@pytest.mark.parametrize(
    "command",
    [
        "--version",
        "--help",
        "run --help",
        "check",
        "check --json",
        "info scorers",
        "cache stats",
        "runs list",
        "runs status",
        "runs note latest read",
        "runs history",
        "init another",
        "new judge tone",
        "show",
    ],
)
def test_a_full_stdout_is_said_in_a_sentence_by_every_command(folder: Path, command: str):
    """It is never called a bug, and what was asked for may have been done."""
    run(folder, "evenhand run --no-progress")
    code, said = run(folder, f"evenhand {command} > /dev/full")
    assert code == 3
    assert "evenhand: stdout cannot be written: No space left" in said
    assert "Traceback" not in said


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("coding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize(
    "command",
    ["info scorers", "info providers", "check", "check --json", "run", "show", "show --json", "data show d.csv --json"],
)  # fmt: skip
def test_a_stream_without_a_character_has_a_plainer_one(folder: Path, coding: str, command: str):
    """A pipe on Windows has no emoji: it is no fault of ours, and JSON is JSON for whoever reads it."""
    config = CONFIG.replace("yes it is", "€ 😀 ß").replace("VALUE", "😀")
    (folder / "promptfooconfig.yaml").write_text(config, "utf-8")
    (folder / "d.csv").write_text("id,input\n1,€ 😀 ß\n", "utf-8")
    run(folder, "evenhand run --no-progress")
    words = [sys.executable, "-c", "from evenhand.cli import main; main()", *command.split()]
    env = {**os.environ, "PYTHONPATH": OURS, "PYTHONIOENCODING": f"{coding}:strict"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    if command.endswith("--json"):
        document = json.loads(done.stdout.decode(coding))
        assert "😀" in str(document) or command.startswith("check")


def test_what_is_opened_later_does_not_take_the_place_of_a_closed_stream(folder: Path):
    """Or else what a program prints that user code starts would end up in a file of the run."""
    (folder / "grader.py").write_text(
        "import os\n"
        "def get_assert(output, context):\n"
        "    return [os.readlink(f'/proc/self/fd/{n}') for n in (1, 2)] == ['/dev/null'] * 2\n",
        "utf-8",
    )
    text = CONFIG.replace(
        "{type: contains, value: VALUE}", "{type: python, value: file://grader.py}"
    )
    (folder / "promptfooconfig.yaml").write_text(text, "utf-8")
    assert run(folder, "evenhand run >&- 2>&-")[0] == 0


def test_what_user_code_writes_past_python_does_not_get_into_the_document(folder: Path):
    """C code and programs that a grader starts write to file number 1: that goes to stderr."""
    (folder / "grader.py").write_text(
        "import os\n"
        "def get_assert(output, context):\n"
        "    os.write(1, b'RAW')\n"
        "    return os.system('echo SUB') == 0\n",
        "utf-8",
    )
    text = CONFIG.replace(
        "{type: contains, value: VALUE}", "{type: python, value: file://grader.py}"
    )
    (folder / "promptfooconfig.yaml").write_text(text, "utf-8")
    line = f"evenhand run --json --no-progress | '{sys.executable}' -c 'import json, sys; json.load(sys.stdin)'"
    code, said = run(folder, f"set -o pipefail; {line}")
    assert code == 0, said
    assert "RAW" in said
    assert "SUB" in said


def test_ctrl_c_while_a_class_is_made_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Python wraps it in a RuntimeError there, which is no fault of ours."""

    class Interrupts:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def classes() -> None:
        type("Made", (), {"name": Interrupts()})

    monkeypatch.setattr("evenhand.cli.setup.doctor.callback", lambda **_: classes())
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert ended.value.code == 130
    told = capsys.readouterr().err
    # With the name of a run, where a test before made one in this process.
    assert told.startswith("interrupted")
    assert "Traceback" not in told
