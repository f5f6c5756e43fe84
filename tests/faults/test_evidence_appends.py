"""Rows of evidence, appended by several processes at once, and by one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evenhand.doors.prompt_directories.evidence import append, read

WRITER = """\
import sys
from pathlib import Path
from evenhand.doors.prompt_directories import evidence
evidence.os.fsync = lambda fd: None  # the disk is not what is looked at
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for i in range(count):
    evidence.append(path, {"who": name, "i": i, "text": "x" * (i % 5000)})
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    """A process that appends rows."""
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(count)])


def test_two_processes_that_append_lose_nothing(tmp_path: Path):
    """A thousand rows each, all there, each whole, each process's in its order."""
    path = tmp_path / "rows.jsonl"
    both = [writer(path, name, 1000) for name in ("one", "other")]
    assert [process.wait(50) for process in both] == [0, 0]
    found = read(path)
    assert found.broken == ()
    for name in ("one", "other"):
        assert [row["i"] for row in found.rows if row["who"] == name] == list(range(1000))


def test_a_process_that_is_killed_leaves_whole_rows_for_all_others(tmp_path: Path):
    """Whatever it was doing: what was there stays readable, and the next row is appended."""
    path = tmp_path / "rows.jsonl"
    process = writer(path, "one", 1_000_000)
    while not path.exists() or path.stat().st_size < 100_000:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(20)
    append(path, {"who": "next", "i": 0})
    found = read(path)
    assert len(found.broken) <= 1
    assert found.rows[-1]["who"] == "next"
    mine = [row["i"] for row in found.rows if row["who"] == "one"]
    assert mine == list(range(len(mine)))
