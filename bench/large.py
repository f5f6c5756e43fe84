"""What large runs take: memory and CPU time of each command, for each trial, beside a run of 10,000.

python bench/large.py [--sizes 10000 100000 1000000] [--home FOLDER] [--live]

Two runs of each size are written at once, without a vendor, and read by every command. With --live, runs over a
mock server are measured, too: one whole, and one that is killed half-way and resumed. A home that is given is kept, and
its runs are used again. A million trials take 4 GB of disk and about ten minutes on a quiet machine. It exits with 1
where something takes more memory than we hold ourselves to. `bench/viewer.py --cases 1000000 --variants 1` measures the
page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import EVENHAND, HERE, Took, measured, write_folder
from viewer_run import STARTED, write_run
from viewer_server import Viewer

MOST_MB = 250
QUIET = ["--no-progress", "--no-table", "-j", "100"]


class Table:
    """A line for each command and size, with the CPU time of a trial beside that in the smallest run."""

    def __init__(self) -> None:
        self.over = 0
        self._smallest: dict[str, float] = {}
        print(f"{'':34} {'trials':>10} {'CPU s':>8} {'µs/trial':>9} {'ratio':>6} {'peak MB':>8}")

    def add(self, what: str, trials: int, cpu_s: float, peak_mb: float) -> None:
        """One measurement."""
        each = cpu_s / trials * 1e6
        ratio = each / self._smallest.setdefault(what, each or 1.0)
        self.over += peak_mb > MOST_MB
        mark = "!" if peak_mb > MOST_MB else " "
        print(
            f"{mark} {what:<32} {trials:>10,} {cpu_s:8.1f} {each:9.1f} {ratio:6.2f} {peak_mb:8.0f}",
            flush=True,
        )

    def took(self, what: str, trials: int, took: Took) -> None:
        """The same of a process."""
        self.add(what, trials, took.cpu_s, took.peak_mb)


def reading(table: Table, home: Path, size: int) -> None:
    """What reads runs: `show`, `export`, `compare` and the viewer's server."""
    written = sorted((home / "runs").glob("*.db"))
    for seed in range(len(written) + 1, 3):
        written.append(write_run(home, size, 1, seed=seed, at=STARTED + 1000 * seed))
    env = {**os.environ, "EVENHAND_HOME": str(home)}
    first, second = (path.stem for path in written)
    commands = {
        "show": ["show", second],
        "export to csv": ["export", second, "--to", str(home / "out.csv")],
        "export to json": ["export", second, "--to", str(home / "out.json")],
        "compare": ["compare", first, second],
        "compare --json": ["compare", first, second, "--json"],
    }
    for what, command in commands.items():
        table.took(what, size, measured_any([*EVENHAND, *command], home, env))
        for out in home.glob("out.*"):
            out.unlink()
    viewer = Viewer(home)
    run = f"/api/runs/{second}"
    for what, path, sent in (
        ("view: the run's head", run, None),
        ("view: all cells", f"{run}/blocks", None),
        ("view: notes", f"{run}/notes", None),
        ("view: a search", f"{run}/search", {"text": "thirty days holds"}),
    ):
        before = viewer.cpu_s
        viewer.get(path, sent)
        table.add(what, size, viewer.cpu_s - before, viewer.megabytes("VmHWM"))
    viewer.close()


def measured_any(command: list[str], cwd: Path, env: dict[str, str]) -> Took:
    """Like `measured`, whatever the comparison comes to."""
    try:
        return measured(["/bin/sh", "-c", '"$@" || [ $? -eq 3 ]', "sh", *command], cwd, env)
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename} is not there") from error


def writing(table: Table, folder: Path, size: int) -> None:
    """What writes runs: `run`, and `resume` after a kill half-way."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        env = {**os.environ, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "bench"}
        for what in ("run", "resume"):
            place = folder / what
            place.mkdir()
            write_folder(place, size)
            command = [*EVENHAND, "run", "--no-cache", *QUIET]
            if what == "resume":
                halved(command, place, env, size)
                command = [*EVENHAND, "resume", *QUIET]
            trials = size if what == "run" else size // 2
            table.took(what, trials, measured(command, place, env))
    finally:
        server.kill()
        server.wait()


def halved(command: list[str], place: Path, env: dict[str, str], size: int) -> None:
    """Starts a run and kills it about half-way, by the size of its file."""
    with subprocess.Popen(command, cwd=place, env=env, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(0.2)
            files = (place / ".evenhand" / "runs").glob("*.db")
            if sum(path.stat().st_size for path in files) > size * 500:
                process.kill()


def main() -> None:
    """Measures everything, and prints one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--home", type=Path, help="keep the runs here, and use them again")
    parser.add_argument("--live", action="store_true", help="run and resume, too")
    options = parser.parse_args()
    table = Table()
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            home = (options.home or Path(folder)).absolute() / str(size)
            home.mkdir(parents=True, exist_ok=True)
            reading(table, home, size)
            if options.live:
                writing(table, Path(folder), size)
    sys.exit(table.over > 0)


if __name__ == "__main__":
    main()
