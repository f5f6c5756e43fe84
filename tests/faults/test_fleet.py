"""A run on several processes: whatever dies, nothing is lost and no reply that came home is paid for again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import force_setattr
from tests.faults.conftest import COMMAND, Folder, settled, until

from evenhand.cli.run_request import Asked
from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.engine import door
from evenhand.render.document import write_document
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.wings.fleet.commands.fleet_settings import far_plan
from evenhand.wings.fleet.driver import Fleet
from evenhand.wings.fleet.processes import Processes

pytestmark = pytest.mark.timeout(900)  # many short processes
QUIET = ("--no-progress", "--no-table")
MODEL = {"id": "openai:chat:gpt-4o-mini", "config": {"cost": 0.0001, "max_tokens": 50}}
JUDGE = {**MODEL, "id": "openai:chat:judge"}
CONFIG = {
    "providers": [MODEL, {**MODEL, "id": "openai:chat:gpt-4o"}],
    "defaultTest": {
        "assert": [
            {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE},
            {"type": "select-best", "value": "is better", "provider": JUDGE},
        ]
    },
}
VERDICT = {"reason": "so", "pass": True, "score": 1}
ROWS = 16

Serve = Callable[..., FakeProvider]
Make = Callable[..., Folder]
Alone = tuple[list[Any], Counter[str]]


def children_of(pid: str) -> list[str]:
    """The processes that a process has started, and theirs."""
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in own for one in (child, *children_of(child))]


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The workers that a driver has started, which is the guardian's child."""
    workers: list[int] = []
    for pid in children_of(str(process.pid)):
        with contextlib.suppress(OSError):
            if b"evenhand.wings.fleet" in Path(f"/proc/{pid}/cmdline").read_bytes():
                workers.append(int(pid))
    return workers


def prepared(serve: Serve, folder: Make, latency_ms: float = 20) -> tuple[FakeProvider, Folder]:
    """A folder of contests and judges, and what answers them."""
    fake = serve(Script([Rule(model="judge", reply=VERDICT)]), latency_ms=latency_ms)
    evals = folder(fake)
    evals.write(ROWS, **CONFIG)
    return fake, evals


def document_of(evals: Folder) -> dict[str, Any]:
    """The only run."""
    (path,) = (evals.home / "runs").glob("*.db")
    with RunFile.open(path) as run, io.StringIO() as out:
        write_document(run, out)
        return json.loads(out.getvalue())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], Counter[str]]:
    """What one process makes of it, and what that costs."""
    path = tmp_path_factory.mktemp("alone")
    with FakeProvider(Script([Rule(model="judge", reply=VERDICT)])) as fake:
        evals = Folder(path, {**os.environ, **fake.env()})
        evals.write(ROWS, **CONFIG)
        done = evals.run("run", *QUIET, "--no-cache")
        assert done.returncode == 1, done.stderr
        return settled(document_of(evals)), Counter(fake.ledger.counts)


def check(fake: FakeProvider, evals: Folder, wanted: list[Any], price: Counter[str]) -> None:
    """Nothing lost, nothing else, and nothing paid for twice but what nobody knows the end of."""
    assert settled(document_of(evals)) == wanted
    assert Counter(fake.ledger.counts) - price - evals.doubted() == Counter()
    assert price - Counter(fake.ledger.counts) == Counter()


@pytest.mark.thorough(after=1)
def test_a_run_on_several_processes_is_that_of_one(serve: Serve, folder: Make, alone: Alone):
    """Contests, judges, repeats and all; each worker has done some of it; and the cache is one."""
    fake, evals = prepared(serve, folder)
    wanted, price = alone
    done = evals.run("run", *QUIET, "--no-cache", "--workers", "2", "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert settled(document) == wanted
    assert Counter(fake.ledger.counts) == price
    assert document["totals"]["calls"] == price.total()
    fake.ledger.clear()
    again = evals.run("run", *QUIET, "--workers", "2", "--json")
    assert settled(json.loads(again.stdout)) == wanted
    assert fake.ledger.total == len(price), "each request once, whoever asks"


def test_a_worker_that_is_killed_loses_nothing(serve: Serve, folder: Make, alone: Alone):
    """At the worst of times: while its calls are under way."""
    fake, evals = prepared(serve, folder, latency_ms=60)
    wanted, price = alone
    process = evals.start("run", *QUIET, "--no-cache", "-j", "8", "--workers", "2")
    until(lambda: fake.ledger.total >= price.total() // 4 and len(workers_of(process)) == 2)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1, err
    assert err.count("is gone") == 1, err
    check(fake, evals, wanted, price)
    assert evals.doubted().total() <= 8


def test_a_driver_that_is_killed_is_gone_on_with(serve: Serve, folder: Make, alone: Alone):
    """By another fleet; the workers of the dead one end by themselves and send nothing more."""
    fake, evals = prepared(serve, folder, latency_ms=60)
    wanted, price = alone
    process = evals.start("run", *QUIET, "--no-cache", "-j", "8", "--workers", "2")
    until(lambda: fake.ledger.total >= price.total() // 3)
    workers = workers_of(process)
    process.kill()
    process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    asked = len(fake.requests)
    resumed = evals.run("resume", *QUIET, "--no-cache", "--workers", "2")
    assert resumed.returncode == 1, resumed.stderr
    assert len(fake.requests) > asked
    check(fake, evals, wanted, price)


def test_ctrl_c_finishes_what_is_under_way(serve: Serve, folder: Make, alone: Alone):
    """As without a fleet: exit code 130, no call in doubt, and `resume` goes on."""
    fake, evals = prepared(serve, folder, latency_ms=60)
    wanted, price = alone
    process = evals.start("run", *QUIET, "--no-cache", "-j", "8", "--workers", "2")
    until(lambda: fake.ledger.total >= price.total() // 4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert not evals.doubted()
    evals.run("resume", *QUIET, "--no-cache", "--workers", "2")
    check(fake, evals, wanted, price)
    assert Counter(fake.ledger.counts) == price


def test_a_budget_holds_for_all_workers_together(serve: Serve, folder: Make):
    """And ends the run with 4."""
    fake, evals = prepared(serve, folder)
    done = evals.run("run", *QUIET, "--no-cache", "--max-cost", "0.2", "--workers", "2", "--json")
    assert done.returncode == 4, done.stderr
    with RunFile.open(next((evals.home / "runs").glob("*.db"))) as run:
        spent = run.spend()
    assert spent.cost_usd is not None
    assert 0 < spent.cost_usd <= 0.2
    assert not spent.in_doubt
    assert 0 < fake.ledger.total < 4 * ROWS


def test_a_key_that_is_refused_stops_the_fleet(serve: Serve, folder: Make):
    """With the words and the exit code of one process; and soon."""
    fake = serve(Script(), latency_ms=5, api_key="right")
    evals = folder(fake)
    evals.write(ROWS)
    env = {"OPENAI_API_KEY": "wrong"}
    fleet = evals.run("run", *QUIET, "--no-cache", "--workers", "2", env=env)
    assert fleet.returncode == 3
    assert "invalid api key" in fleet.stdout + fleet.stderr
    assert fake.ledger.total == 0


def asked_of(folder: Path) -> Asked:
    """What `evenhand run` asks for there."""
    return Asked(paths=(str(folder),), selection=Selection(), over=Overrides())


def record_of(folder: Path) -> dict[str, Any]:
    """What its workers are told."""
    return {"asked": asked_of(folder).record(), "version": "0.1.0", "folder": ""}


@pytest.mark.thorough
def test_a_worker_that_was_given_up_counts_for_nothing_when_it_comes_back(
    serve: Serve, folder: Make, monkeypatch: pytest.MonkeyPatch, alone: Alone
):
    """Stopped for longer than anybody waits, and continued: its calls and results are refused."""
    fake, evals = prepared(serve, folder, latency_ms=60)
    wanted, price = alone
    for name, value in evals.env.items():
        monkeypatch.setenv(name, value)
    cluster = Processes()
    kill = cluster_kills(cluster)
    fleet = Fleet(
        cluster=cluster, workers=2, build=far_plan, record=record_of(evals.path), patience_s=60
    )
    notes: list[str] = []
    done: list[door.Finished] = []
    settings = door.Settings(home=evals.home, cache=False, concurrency=8, elsewhere=fleet)
    plan = asked_of(evals.path).plan()
    thread = threading.Thread(
        target=lambda: done.append(door.run(plan, settings, note=notes.append))
    )
    thread.start()
    until(lambda: fake.ledger.total >= price.total() // 4)
    force_setattr(fleet, "patience_s", 5)  # those that start may take longer than that
    until(lambda: fake.ledger.total >= price.total() // 3)  # counted from the next message on
    zombie = cluster.links[0].process
    os.kill(zombie.pid, signal.SIGSTOP)
    until(lambda: any("no sign of life" in note for note in notes), 100)
    force_setattr(fleet, "patience_s", 60)
    os.kill(zombie.pid, signal.SIGCONT)
    thread.join(200)
    kill()
    assert done[0].ending.status == "finished"
    check(fake, evals, wanted, price)


def cluster_kills(cluster: Processes) -> Callable[[], None]:
    """Sees to it that a zombie is not killed when it is given up: it is to come back."""
    start = cluster.start

    async def started(order: Any) -> Any:
        link = await start(order)
        link.kill = lambda: None  # pyright: ignore (a partition keeps the kill from arriving)
        return link

    cluster.start = started  # pyright: ignore (the same, on a bad network)

    def kill() -> None:
        for link in cluster.links:
            link.process.kill()

    async def close() -> None:
        kill()

    cluster.close = close  # pyright: ignore (the same)
    return kill


def test_a_worker_that_reads_other_files_is_refused_before_anything_is_sent(
    serve: Serve, folder: Make, monkeypatch: pytest.MonkeyPatch
):
    """And no run is kept."""
    fake, evals = prepared(serve, folder)
    other = folder(fake, "other")
    other.write(ROWS - 1, **CONFIG)
    for name, value in evals.env.items():
        monkeypatch.setenv(name, value)
    fleet = Fleet(cluster=Processes(), workers=1, build=far_plan, record=record_of(other.path))
    with pytest.raises(UsageError, match="has another plan"):
        door.run(asked_of(evals.path).plan(), door.Settings(home=evals.home, elsewhere=fleet))
    assert not fake.requests
    assert not list(evals.home.glob("runs/*.db"))


def test_a_turn_has_what_came_before_it_whichever_workers_settled_that(tmp_path: Path):
    """Thirty conversations of three turns on three workers, whose prompts hold all turns before."""
    config = {
        "prompts": ["{% for turn in _conversation %}{{turn.output}}, {% endfor %}{{q}}"],
        "providers": ["echo"],
        "tests": [
            {"vars": {"q": f"{talk}{turn}"}, "metadata": {"conversationId": f"talk {talk}"}}
            for talk in range(30)
            for turn in "abc"
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    ran = subprocess.run(
        [*COMMAND, "run", "--workers", "3", "--json", "--no-progress"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    outputs = [trial["output"] for trial in json.loads(ran.stdout)["trials"]]
    assert outputs == [
        output for i in range(30) for output in (f"{i}a", f"{i}a, {i}b", f"{i}a, {i}a, {i}b, {i}c")
    ]
