"""The examples about answers from retrieved passages run offline, and gate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rag"


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script of the example, without a key."""
    shutil.copytree(EXAMPLE, folder / "rag", dirs_exist_ok=True)
    keep = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if name in keep}
    return subprocess.run(
        [sys.executable, folder / "rag" / script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_search_is_measured_without_a_model(tmp_path: Path):
    """Six numbers over four questions, and a bound that is kept."""
    done = run("search.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nDCG@3    4   1.000   [0.510, 1.000]" in done.stdout


def test_a_batch_over_an_application_gates(tmp_path: Path):
    """An answer that keeps to its page and misses the question fails the run."""
    done = run("many_answers.py", tmp_path)
    assert done.returncode == 1, done.stderr
    assert "faithfulness   4   1.000" in done.stdout
    assert "below a bound: half: Shoes come in sizes 36 to 47." in done.stdout
