"""A thread pool of the user's that nobody shut down keeps no run from ending."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EVALS = """
from concurrent.futures import ThreadPoolExecutor
from evenhand import EvalSet

pool = ThreadPoolExecutor(1)
evals = EvalSet("pooled", data=[{"id": "a", "input": 1}])


@evals.eval
def asks_a_pool(case, expect):
    expect(pool.submit(lambda: case.input + 1).result() == 2, "adds one")
"""


def test_a_thread_pool_that_waits_for_work_does_not_keep_the_command_from_ending(
    tmp_path: Path,
) -> None:
    """The run passes, and the command ends with 0."""
    (tmp_path / "pool_evals.py").write_text(EVALS, "utf-8")
    command = "from evenhand.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "run", "pool_evals.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1/1" in done.stdout
