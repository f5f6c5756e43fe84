"""What the viewer's server takes for a run: CPU seconds of its process for each answer, and its size.

python bench/viewer_run.py HOME --cases 100000 --variants 4
python bench/viewer_server.py HOME [--rounds 3] [--compare] [--search TEXT]...

HOME holds runs; the newest is asked for. The server is a process of its own. CPU is the process's, so that what else
the machine does counts little; where two things are asked for at once, the figure is of both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()", "view", "--no-browser"]
TICKS = os.sysconf("SC_CLK_TCK")


class Viewer:
    """A server over a home, and somebody who asks it."""

    def __init__(self, home: Path) -> None:
        env = {**os.environ, "EVENHAND_HOME": str(home.absolute())}
        self.process = subprocess.Popen(
            COMMAND, stdout=subprocess.PIPE, text=True, env=env, cwd=home
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            link = re.search(r"(http://\S+)/\?token=(\S+)", line)
            if link:
                self.address, self.token = link.groups()
                return
        raise SystemExit("the viewer did not start")

    def get(self, path: str, sent: object = None) -> bytes:
        """An answer, whole; with something to send, asked as the page does."""
        headers = {"Authorization": f"Bearer {self.token}"}
        body = None if sent is None else json.dumps(sent).encode()
        if body is not None:
            headers |= {"Origin": self.address, "X-Evenhand": "1"}
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.address}{path}", body, headers)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    def megabytes(self, what: str) -> float:
        """Its size now (VmRSS), or at its largest (VmHWM)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        match = re.search(rf"{what}:\s+(\d+) kB", status)
        assert match is not None
        return int(match[1]) / 1e3

    def close(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait()


def at_once(*requests: Callable[[], object]) -> None:
    """All of them, each by somebody else."""
    threads = [threading.Thread(target=one) for one in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Asks for everything a page asks for, round by round, each with a new server, and prints medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compare", action="store_true", help="the two newest runs, too")
    parser.add_argument("--search", action="append", help="default: a rare text and one of all")
    options = parser.parse_args()
    ids = sorted((path.stem for path in (options.home / "runs").glob("*.db")), reverse=True)
    run = f"/api/runs/{ids[0]}"
    took: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(options.rounds):
        viewer = Viewer(options.home)

        def timed(name: str, *paths: str, sent: object = None, viewer: Viewer = viewer) -> None:
            cpu, began = viewer.cpu_s, time.perf_counter()
            at_once(*(lambda path=path: viewer.get(path, sent) for path in paths))
            wall = time.perf_counter() - began
            took.setdefault(name, []).append((viewer.cpu_s - cpu, wall, viewer.megabytes("VmHWM")))

        timed("runs", "/api/runs")
        timed("runs again", "/api/runs")
        timed("head", run)
        timed("blocks", f"{run}/blocks")
        timed("blocks again, twice at once", f"{run}/blocks", f"{run}/blocks")
        timed("notes", f"{run}/notes")
        for text in options.search or ["thirty days holds", "e"]:
            timed(f"search {text!r}", f"{run}/search", sent={"text": text})
        timed("a cell", f"{run}/cells/0")
        if options.compare and len(ids) > 1:
            timed("comparison", f"{run}/comparison?baseline={ids[1]}")
        viewer.close()
    print(f"{'':30} {'CPU s':>8} {'wall s':>8} {'peak MB':>8}")
    for name, times in took.items():
        cpu, wall, peak = (statistics.median(each) for each in zip(*times, strict=True))
        print(f"{name:30} {cpu:8.2f} {wall:8.2f} {peak:8.0f}")


if __name__ == "__main__":
    main()
