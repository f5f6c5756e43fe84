"""The shipped example of one answer, run as it is typed, against a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rag" / "one_answer.py"


def test_the_example_measures_one_answer_offline(tmp_path: Path):
    """No key; five calls for six metrics; exits with 1, as the answer makes something up."""
    kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if name in kept}
    done = subprocess.run(
        [sys.executable, EXAMPLE],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    numbers = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[:6]}
    assert numbers == {
        "faithfulness": "0.500",
        "answer_relevance": "1.000",
        "correctness": "0.500",
        "context_precision": "0.667",
        "context_recall": "1.000",
        "entity_recall": "1.000",
    }
    assert "overall 0.600 over 3 · 5 calls" in done.stdout
    assert "contradicted: Sending shoes back is free." in done.stdout
