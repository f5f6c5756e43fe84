"""A command ends without another look through all that it imported, unless others' code may have something to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CODE = """
import atexit, gc, sys
from evenhand.cli import main
atexit.register(lambda: print("spared:", gc.get_freeze_count() > 0, flush=True))
main()
"""
LOG = """
class Log:
    def __init__(self):
        self.itself = self
        self.file = open("log.txt", "w")


log = Log()


def get_assert(output, context):
    log.file.write("judged " + output)
    return True
"""


def run(folder: Path, assertion: dict[str, Any]) -> str:
    """What a process printed that ran a config of one case with this assertion."""
    config = {
        "prompts": ["Say a"],
        "providers": ["echo"],
        "tests": [{"assert": [assertion]}],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    words = ["run", "--no-progress", "--no-table"]
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_command_that_ran_no_code_of_others_looks_for_no_cycles(tmp_path: Path):
    """That took a fifteenth of a run of one case."""
    assert "spared: True" in run(tmp_path, {"type": "contains", "value": "Say"})


def test_what_code_of_the_user_holds_is_collected_at_the_end(tmp_path: Path):
    """A file of an object that refers to itself is written to its end."""
    (tmp_path / "check.py").write_text(LOG)
    assert "spared: False" in run(tmp_path, {"type": "python", "value": "file://check.py"})
    assert (tmp_path / "log.txt").read_text() == "judged Say a"
