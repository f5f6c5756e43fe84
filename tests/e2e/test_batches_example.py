"""The example of the page on batches runs as it says: without a key, in seconds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_batches_passes_in_two_waves(tmp_path: Path):
    """The judge is asked in the second one."""
    folder = tmp_path / "batches"
    shutil.copytree(ROOT / "examples" / "batches", folder)
    command = [sys.executable, "try_it.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 passed" in done.stdout
    assert "wave 2: 3 requests in 1 batch to Anthropic" in done.stderr
    assert "wave 3" not in done.stderr
