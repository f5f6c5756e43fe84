"""The example of conversations in YAML, run by the real command line, without a key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shop_chat"


def test_the_example_runs_offline_and_its_simulators_mistake_is_put_right(tmp_path: Path):
    """A script needs nobody to play it; a model's faulty turn is asked for once more."""
    folder = tmp_path / "shop_chat"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand"))
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [*COMMAND, "run", ".", "--offline", "--json"],
        cwd=folder,
        env=env | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["trials"]
    assert [trial["outcome"] for trial in trials] == ["pass", "pass", "pass"]
    assert "How can I help you" not in trials[1]["output"]
    assert trials[2]["output"].startswith("User: Hi, are you open on Sunday?\n---\nAssistant: Yes")
