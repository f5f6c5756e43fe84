"""Few files may be open: fewer trials run at once, or none, and the terminal says so in a line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


def run_with(folder: Path, files: int) -> subprocess.CompletedProcess[str]:
    """A run of 120 cases, answered by a script, with so many open files."""
    tests = "".join(f"  - vars: {{n: {n}}}\n" for n in range(120))
    (folder / "promptfooconfig.yaml").write_text(
        "prompts: ['x {{n}}']\nproviders: ['openai:chat:gpt-5-mini']\ndefaultTest:\n"
        f"  assert: [{{type: contains, value: 'yes'}}]\ntests:\n{tests}"
    )
    (folder / "offline.jsonl").write_text(
        '{"match": "x", "reply": "yes", "latency_ms": 50}\n', "utf-8"
    )
    return subprocess.run(
        [*COMMAND, "run", str(folder), "--offline", "--no-progress", "-j", "100"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("files", [64, 48])
def test_with_few_open_files_fewer_trials_run_at_once(tmp_path: Path, files: int) -> None:
    """A script answers in the same process, so a call takes two: both ends would wait for each other forever."""
    ended = run_with(tmp_path, files)
    assert ended.returncode == 0, ended.stdout + ended.stderr[:2000]
    assert "120 of 120 passed" in ended.stdout
    assert (
        "at once, because few files may be open; allow more with `ulimit -n 4096`" in ended.stderr
    )
    assert "Traceback" not in ended.stderr


def test_with_too_few_open_files_nothing_is_run(tmp_path: Path) -> None:
    """A call that gets no file would fail, or wait for ever."""
    ended = run_with(tmp_path, 34)
    assert ended.returncode == 2
    assert "only 34 files may be open, which is too few for a run\n  Allow more" in ended.stderr
    assert not list(tmp_path.glob(".evenhand/runs/*.db"))  # the latest run is still the one before
    assert "Traceback" not in ended.stderr
