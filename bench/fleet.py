"""What a fleet keeps while its workers and its driver die, how fast two workers are, and what a trial costs the driver.

    python bench/fleet.py                       # all parts, some ten minutes on two cores
    python bench/fleet.py chaos --rows 2000     # one part
    python bench/fleet.py chaos --ray           # on a Ray cluster of three nodes, with real processes
    python bench/fleet.py chaos --ray --rows 2400 --a-minute 600

chaos: a vendor takes 6,000 requests a minute, ten times the usual 600, so that 20,000 rows take minutes and not half an
hour. A worker (with --ray, a node) is killed every 10 s, one is stopped for longer than anybody waits and continued,
and the driver is killed twice and resumed. Then: lost results, calls that were paid for twice beside those in doubt,
the most that was sent in any 60 s, the share of the limit that was used while a driver lived, and whether all trials
came to the same as in one process.

cpu: trials with a scorer that keeps a core busy for 20 ms, with one worker and with two.

driver: CPU of the driver for each trial with one call, as the slope between two sizes; its threads alone, not its
workers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evenhand.store.runfile import RunFile

HERE = Path(__file__).resolve().parent
EVENHAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
QUIET = ("--no-progress", "--no-table", "--no-cache")
A_MINUTE = 6_000
LATENCY_S = 0.2
KILLED_EACH_S = 10.0
STOPPED_S = 24.0
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Vendor(asyncio.Protocol):
    """One connection to a vendor with a limit; what all of them took is in `Books`."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._seen = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while (end := self._seen.find(b"\r\n\r\n")) >= 0:
            head = self._seen[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._seen) < end + 4 + length:
                return
            body = self._seen[end + 4 : end + 4 + length]
            self._seen = self._seen[end + 4 + length :]
            answer = self._books.answer(json.loads(body)["messages"][-1]["content"])
            asyncio.get_running_loop().call_later(self._books.latency_s, self._write, answer)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


class Books:
    """What a vendor took and refused.

    Args:
        a_minute: Its limit, 0 for none. As at OpenAI, headers count the minute, and it is enforced by the second.
        latency_s: Before each answer.
    """

    def __init__(self, a_minute: int, latency_s: float) -> None:
        self.latency_s = latency_s
        self.taken: Counter[str] = Counter()
        self.sent_at: list[float] = []
        self.refused = 0
        self._rate = a_minute / 60
        self._room, self._at = self._rate, time.monotonic()
        self._left = float(a_minute)

    def answer(self, request: str) -> bytes:
        now = time.monotonic()
        self._room = min(self._rate, self._room + (now - self._at) * self._rate)
        self._left = min(60 * self._rate, self._left + (now - self._at) * self._rate)
        self._at = now
        self.sent_at.append(now)
        limits = b""
        if self._rate:
            taken = self._room >= 1
            self._room -= taken
            self._left -= taken
            full_in = 1000 * (60 * self._rate - self._left) / self._rate
            limits = b"x-ratelimit-limit-requests: %d\r\n" % (60 * self._rate)
            limits += b"x-ratelimit-remaining-requests: %d\r\n" % max(0, self._left)
            limits += b"x-ratelimit-reset-requests: %dms\r\n" % full_in
            if not taken:
                self.refused += 1
                body = b'{"error": {"message": "slow down", "type": "requests"}}'
                return _http(b"429 Too Many Requests", limits + b"retry-after: 1\r\n", body)
        self.taken[request] += 1
        words = f"a scripted answer to {request}"
        body = {
            "id": "bench",
            "object": "chat.completion",
            "model": "gpt-5-mini",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": words},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14},
        }
        return _http(b"200 OK", limits, json.dumps(body).encode())

    def most_in(self, seconds: float) -> int:
        """The most that was sent in any so many seconds."""
        most, first = 0, 0
        for last, at in enumerate(self.sent_at):
            while self.sent_at[first] <= at - seconds:
                first += 1
            most = max(most, last - first + 1)
        return most


def _http(status: bytes, headers: bytes, body: bytes) -> bytes:
    kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    return b"HTTP/1.1 " + status + b"\r\n" + kind + headers + b"\r\n" + body


@contextlib.contextmanager
def vendor(a_minute: int = 0, latency_s: float = 0.0) -> Iterator[tuple[Books, dict[str, str]]]:
    """A vendor that listens, and the environment that leads there."""
    books, loop, ready = Books(a_minute, latency_s), asyncio.new_event_loop(), threading.Event()
    urls: list[str] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        listening = loop.create_server(lambda: Vendor(books), "127.0.0.1", 0, backlog=1024)
        server = loop.run_until_complete(listening)
        urls.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        ready.set()
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait()
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "EVENHAND_"))}
    src = str(HERE.parent / "src")
    here = {"OPENAI_BASE_URL": urls[0], "OPENAI_API_KEY": "scripted", "PYTHONPATH": src}
    try:
        yield books, {**mine, **here, "PYTHONWARNINGS": "ignore"}
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def write_config(folder: Path, rows: int) -> None:
    """So many rows of one call each; a third of them fail."""
    tests = ({"vars": {"n": f"number {i}"}, "metadata": {"i": i}} for i in range(rows))
    (folder / "tests.jsonl").write_text("".join(json.dumps(test) + "\n" for test in tests))
    config = {
        "description": "fleet",
        "prompts": ["Say {{n}}"],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": "tests.jsonl",
        "defaultTest": {"assert": [{"type": "not-regex", "value": "[258]$"}]},
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))


def finished(folder: Path, env: dict[str, str], *words: str) -> None:
    """Runs a command to its end; some trials fail."""
    done = subprocess.run(
        [*EVENHAND, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} exited with {done.returncode}: {done.stderr}")


def results_of(folder: Path) -> tuple[str, int, Counter[str]]:
    """A hash of what its only run's trials came to, how many are settled, and the calls that are in doubt."""
    (path,) = (folder / ".evenhand" / "runs").glob("*.db")
    hashed, many = hashlib.sha256(), 0
    with RunFile.open(path) as run:
        for trial in run.trials():
            came_to = (trial.index, trial.case, trial.outcome, trial.score, trial.output)
            hashed.update(repr((*came_to, trial.reason, trial.outcomes)).encode())
            many += 1
        identities = [json.loads(call.start.identity)["body"] for call in run.in_doubt()]
    doubted = Counter(str(body["messages"][-1]["content"]) for body in identities)
    return hashed.hexdigest(), many, doubted


def workers_of(pid: int) -> list[int]:
    """The processes of this machine that a driver has work for it."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [c for c in map(int, children) if b"evenhand.wings.fleet" in _command(c)]
    return []


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Nodes:
    """A Ray cluster of three nodes, in a process of its own; a killed one is replaced."""

    def __init__(self, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "nodes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def kill(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


def keep_nodes() -> None:
    """A cluster; says its address, and for each line kills a node and adds one."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster  # noqa: PLC0415 (after its settings)

    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        if nodes:
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        while len(nodes) < 3:
            with contextlib.suppress(Exception):  # a busy machine takes longer than Ray's 30 s
                nodes.append(cluster.add_node(num_cpus=1))
    cluster.shutdown()


def chaos(rows: int, a_minute: int, *, ray: bool) -> None:
    """Everything dies, and nothing is lost."""
    with tempfile.TemporaryDirectory() as name, vendor() as (price, env):
        alone = Path(name)
        write_config(alone, rows)
        finished(alone, env, "run", *QUIET)
        expected, _, _ = results_of(alone)
    with tempfile.TemporaryDirectory() as name, vendor(a_minute, LATENCY_S) as (books, env):
        folder = Path(name)
        write_config(folder, rows)
        died = endured(folder, env, books, rows, ray=ray)
        came_to, settled, doubted = results_of(folder)
    twice = sum((books.taken - price.taken - doubted).values())
    used = books.taken.total() / (died.lived_s * a_minute / 60)
    most = books.most_in(60)
    print(f"{rows:,} rows, {a_minute:,} requests a minute, {'nodes' if ray else 'workers'}: 3")
    print(f"killed: {died.workers} workers, {died.drivers} drivers; stopped and continued: 1")
    print(f"results lost: {rows - settled}; the same as in one process: {came_to == expected}")
    print(f"finished calls paid for twice: {twice}; in doubt: {doubted.total()}")
    print(f"most sent in any 60 s: {most:,} ({most / a_minute:.1%}); refused: {books.refused}")
    print(f"of the limit used: {used:.1%} of {died.lived_s:.0f} s in which a driver had workers")


@dataclass
class Endured:
    """What died on the way, and how long calls could be sent.

    Attributes:
        lived_s: From the first call of each driver to its last one, together.
    """

    lived_s: float = 0.0
    workers: int = 0
    drivers: int = 0


def endured(folder: Path, env: dict[str, str], books: Books, rows: int, *, ray: bool) -> Endured:
    """Runs to the end through all that dies."""
    nodes = Nodes(env) if ray else None
    fleet = ("-j", "60", "--workers", "3", *(("--ray", nodes.address) if nodes else ()))
    endured = Endured()
    zombies = Zombies()
    words: tuple[str, ...] = ("run",)
    try:
        while True:
            with (folder / "stderr").open("w") as err:
                process = subprocess.Popen(
                    [*EVENHAND, *words, *QUIET, *fleet],
                    cwd=folder,
                    env=env,
                    stdout=subprocess.DEVNULL,
                    stderr=err,
                )
            before = len(books.sent_at)
            while process.poll() is None and len(books.sent_at) == before:
                time.sleep(0.05)
            if len(books.sent_at) > before:
                _disturbed(process, nodes, books, rows, endured, zombies)
                endured.lived_s += books.sent_at[-1] - books.sent_at[before]
            if process.wait() in (0, 1):
                return endured
            if process.returncode != -signal.SIGKILL:
                complaints = (folder / "stderr").read_text()
                raise SystemExit(f"the run ended with {process.returncode}: {complaints}")
            words = ("resume",)
            time.sleep(2)  # the workers of the dead driver end by themselves
    finally:
        zombies.wake()
        if nodes:
            nodes.close()


@dataclass
class Zombies:
    """One worker that is stopped for a while."""

    at_share: float = 0.3
    pid: int = 0
    until: float = 0.0

    def stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        self.at_share, self.pid, self.until = 2.0, pid, time.monotonic() + STOPPED_S

    def wake(self) -> None:
        if self.pid:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGCONT)
            self.pid = 0


def _disturbed(
    process: subprocess.Popen[bytes],
    nodes: Nodes | None,
    books: Books,
    rows: int,
    endured: Endured,
    zombies: Zombies,
) -> None:
    """Until a driver ends, or is killed."""
    kill_at = time.monotonic() + KILLED_EACH_S
    while process.poll() is None:
        time.sleep(0.05)
        now, share = time.monotonic(), len(books.taken) / rows
        if now > zombies.until:
            zombies.wake()
        if endured.drivers < 2 and share > (endured.drivers + 1) / 3:
            process.kill()
            endured.drivers += 1
            return
        if now < kill_at:
            continue
        kill_at = now + KILLED_EACH_S
        victims = ray_workers() if nodes else workers_of(process.pid)
        if share > zombies.at_share and victims:
            zombies.stop(victims[0])
        elif nodes:
            nodes.kill()
            endured.workers += 1
        elif victims:
            os.kill(victims[-1], signal.SIGKILL)
            endured.workers += 1


def ray_workers() -> list[int]:
    """The processes of actors of ours."""
    pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in pids if _command(pid).startswith(b"ray::Actor")]


BUSY = """
import time
from evenhand import Case, Dataset, EvalSet, Expect

evals = EvalSet("busy", data=Dataset([Case(id=str(i), input=i) for i in range({rows})]))


def keeps_a_core_busy(output: int) -> bool:
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    return True


@evals.eval
async def is_slow(case: Case, expect: Expect) -> None:
    expect(case.input, keeps_a_core_busy)
"""


def cpu(rows: int, rounds: int) -> None:
    """One worker and two: on the clock, and by the CPU of the busiest worker, which no neighbour disturbs."""
    took: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, seconds in took.items():
            few, many = (_busy(r, workers) for r in (rows // 4, rows))
            seconds.append((many[0] - few[0], many[1] - few[1]))
    one, two = (
        [statistics.median(column) for column in zip(*took[workers], strict=True)]
        for workers in took
    )
    each = 1000 / (rows - rows // 4)
    print(
        f"20 ms of CPU for each trial, on the clock: {one[0] * each:.1f} ms with 1 worker,"
        f" {two[0] * each:.1f} with 2: {one[0] / two[0]:.2f} times as fast"
    )
    print(
        f"the busiest worker's CPU: {one[1] * each:.1f} ms with 1, {two[1] * each:.1f} with 2:"
        f" {one[1] / two[1]:.2f} times as fast on cores of their own"
    )


def _busy(rows: int, workers: int) -> tuple[float, float]:
    """Seconds on the clock, and of CPU in the busiest worker."""
    with tempfile.TemporaryDirectory() as name, vendor() as (_, env):
        (Path(name) / "busy_evals.py").write_text(BUSY.format(rows=rows))
        started = time.monotonic()
        words = ["run", *QUIET, "-j", "8", "--workers", str(workers)]
        process = subprocess.Popen(
            [*EVENHAND, *words],
            cwd=name,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        used: dict[int, float] = {}
        while process.poll() is None:
            for pid in workers_of(process.pid):
                used[pid] = max(used.get(pid, 0.0), cpu_of(pid))
            time.sleep(0.02)
        return time.monotonic() - started, max(used.values())


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used; 0 for one that is gone."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S
    return 0.0


def driver(rounds: int, *, ray: bool) -> None:
    """The driver's CPU for each trial with one call."""
    few, many = 1_000, 5_000
    for words in (["--workers", "2"], *([["--ray", "--workers", "2"]] if ray else [])):
        slopes: list[float] = []
        for _ in range(rounds):
            used = [_driver_cpu(rows, *words) for rows in (few, many)]
            slopes.append((used[1] - used[0]) / (many - few) * 1000)
        each = statistics.median(slopes)
        a_second = f"{1000 / each:,.0f} trials/s on a core"
        print(f"{' '.join(words)}: {each:.2f} ms of the driver's CPU for each trial: {a_second}")


def _driver_cpu(rows: int, *words: str) -> float:
    with tempfile.TemporaryDirectory() as name, vendor() as (_, env):
        write_config(Path(name), rows)
        process = subprocess.Popen(
            [*EVENHAND, "run", *QUIET, *words],
            cwd=name,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        used = 0.0
        while process.poll() is None:
            used = max(used, cpu_of(process.pid))
            time.sleep(0.02)
        if process.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
        return used


def main() -> None:
    parts: dict[str, Callable[[Any], None]] = {
        "chaos": lambda a: chaos(a.rows, a.a_minute, ray=a.ray),
        "cpu": lambda a: cpu(400, a.rounds),
        "driver": lambda a: driver(a.rounds, ray=a.ray),
    }
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=[*parts, "nodes"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--a-minute", type=int, default=A_MINUTE)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ray", action="store_true")
    arguments = parser.parse_args()
    if arguments.part == "nodes":
        keep_nodes()
        return
    for name, run in parts.items():
        if arguments.part in (None, name):
            run(arguments)


if __name__ == "__main__":
    main()
