"""What Evenhand itself costs: start-up, time for each trial, and memory, beside a bare client of the same kind.

    python bench/run.py                 # 1,000 trials, three rounds, a minute
    python bench/run.py --rows 10000 --rounds 5

A mock server in a process of its own answers at once. Each figure is the median of the rounds; rounds of everything
are interleaved, so that a noisy machine is noisy to all alike. CPU time is steadier than wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
EVENHAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


@dataclass
class Took:
    """What a process took: seconds on the clock and of CPU, and its largest size in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measured(command: list[str], cwd: Path, env: dict[str, str]) -> Took:
    """Runs a command to its end. Its exit code may say that trials failed."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        output = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}: {output.decode()}")
    peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Took(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, peak)


def write_folder(folder: Path, rows: int) -> None:
    """A folder of so many rows, each with one model call and one `contains`: as a config, and as an eval set."""
    config = {
        "prompts": ["Say {{n}}"],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": "tests.jsonl",
        "defaultTest": {"assert": [{"type": "contains", "value": "scripted"}]},
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    with (folder / "tests.jsonl").open("w", encoding="utf-8") as file:
        for i in range(rows):
            file.write(json.dumps({"vars": {"n": f"number {i}"}}) + "\n")
    (folder / "evals").mkdir()
    (folder / "evals" / "bench_evals.py").write_text(EVALS, "utf-8")


EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Contains

asking = EvalSet("asking", data=Dataset.read("../tests.jsonl"), over={"model": ["openai:chat:gpt-5-mini"]})


@asking.eval
async def says_it(case: Case, model: Model, expect: Expect) -> None:
    reply = await model.generate(f"Say {case.vars['n']}")
    expect(reply.text, Contains("scripted"))


plain = EvalSet("plain", data=Dataset.read("../tests.jsonl"))


@plain.eval
async def three_expectations(case: Case, expect: Expect) -> None:
    text = case.vars["n"]
    expect(text, Contains("number"))
    expect(len(text), at_most=100, label="characters")
    expect(text.isascii(), "is plain")
"""


def main() -> None:
    """Measures everything, and prints one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-j", "--concurrency", type=int, default=100)
    options = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py")], stdout=subprocess.PIPE, text=True
    )
    folder = Path(tempfile.mkdtemp(prefix="evenhand-bench-"))
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        table(options.rows, options.rounds, options.concurrency, folder, url)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)


def table(rows: int, rounds: int, concurrency: int, folder: Path, url: str) -> None:
    """The measurements, round by round, and their medians."""
    write_folder(folder, rows)
    env = {**os.environ, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "bench"}
    quiet = ["--no-progress", "--no-table", "-j", str(concurrency)]

    def run(*more: str) -> Callable[[], Took]:
        return lambda: measured([*EVENHAND, "run", *quiet, *more], folder, env)

    def python(code: str) -> Callable[[], Took]:
        return lambda: measured([sys.executable, "-c", code], folder, env)

    client = [sys.executable, str(HERE / "client.py"), url, str(rows), str(concurrency)]
    run()()  # fills the cache, and lets Python write its bytecode
    jobs: dict[str, tuple[int, Callable[[], Took]]] = {
        "python -c pass": (0, python("pass")),
        "import evenhand": (0, python("import evenhand")),
        "evenhand --version": (0, lambda: measured([*EVENHAND, "--version"], folder, env)),
        "evenhand check": (0, lambda: measured([*EVENHAND, "check"], folder, env)),
        "bare client": (rows, lambda: measured(client, folder, env)),
        "evenhand run": (rows, run("--no-cache")),
        "evenhand run, from the cache": (rows, run()),
        "the same as an eval set": (rows, run("--no-cache", "-k", "asking", "evals")),
        "three expectations, no call": (rows, run("-k", "plain", "evals")),
        "import EvalSet, Expect, Case": (
            0,
            python("from evenhand import EvalSet, Expect, Case"),
        ),
    }
    took: dict[str, list[Took]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, (_, job) in jobs.items():
            took[name].append(job())
    print(f"{'':30} {'wall s':>8} {'CPU s':>8} {'ms/trial':>9} {'peak MB':>8}")
    for name, (trials, _) in jobs.items():
        times = took[name]
        wall, cpu, peak = (
            statistics.median(values)
            for values in zip(*((t.wall_s, t.cpu_s, t.peak_mb) for t in times), strict=True)
        )
        each = f"{cpu / trials * 1000:9.3f}" if trials else f"{'':9}"
        print(f"{name:30} {wall:8.2f} {cpu:8.2f} {each} {peak:8.0f}")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * concurrency:
        print(f"(only {soft} files may be open at once: `ulimit -n 4096` for a fair run)")


if __name__ == "__main__":
    main()
