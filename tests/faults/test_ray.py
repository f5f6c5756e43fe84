"""A run on a Ray cluster of several nodes, one of which is taken away in the middle."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.faults.conftest import Folder, Trial, environment, settled, until

from evenhand.testing import FakeProvider

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed"
)
QUIET = ("--no-progress", "--no-table", "--no-cache")
ROWS = 60


@contextlib.contextmanager
def cluster(env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A cluster; its first line has its two addresses. The keys are set on its nodes, as users do."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("ray_nodes.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(env),
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class Shared(NamedTuple):
    """The provider, the cluster's address, that of Ray's client, and the process that takes nodes away."""

    fake: FakeProvider
    address: str
    client: str
    nodes: subprocess.Popen[str]


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    """A cluster for all tests; the last of them takes a node away."""
    with FakeProvider() as fake, cluster({**environment(fake), "KNOWN_THERE": "secret"}) as nodes:
        assert nodes.stdout is not None
        address, client = nodes.stdout.readline().split()
        yield Shared(fake, address, client, nodes)


def run_alone(fake: FakeProvider, evals: Folder) -> tuple[list[Trial], Counter[str]]:
    """What a run in one process comes to, and what it is billed. Nothing of it is left."""
    evals.write(ROWS)
    alone = evals.run("run", *QUIET, "--json")
    wanted, price = settled(json.loads(alone.stdout)), Counter(fake.ledger.counts)
    for path in (evals.home / "runs").glob("*"):
        path.unlink()
    fake.ledger.clear()
    return wanted, price


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_run_from_outside_the_cluster_is_that_of_one_process(
    shared: Shared,
    folder: Callable[..., Folder],
):
    """Through Ray's client: files, keys and calls as from a node; Ctrl-C finishes what is under way; and it goes on."""
    fake, address = shared.fake, shared.client
    fake.latency_ms = 100
    fake.ledger.clear()
    evals = folder(fake)
    wanted, price = run_alone(fake, evals)
    quiet = {"PYTHONWARNINGS": "ignore"}
    fleet = ("-j", "4", "--ray", address, "--workers", "2")
    for _ in range(3):  # on a busy machine, Ray gives its own server too little time to start
        process = evals.start("run", *QUIET, *fleet, env=quiet)
        until(lambda p=process: fake.ledger.total >= ROWS // 4 or p.poll() is not None, 60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=200)
        if "Starting Ray client server failed" not in err:
            break
    assert process.returncode == 130, err
    assert not evals.doubted()
    resumed = evals.run("resume", *QUIET, *fleet, env=quiet)
    assert resumed.returncode == 1, resumed.stderr
    assert settled(evals.document()) == wanted
    assert Counter(fake.ledger.counts) == price


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_what_a_node_lacks_is_said_before_anything_is_sent(
    shared: Shared,
    folder: Callable[..., Folder],
):
    """Another address of a model, a variable of a file, and a file of keys, which all stay on this machine.

    A file of variables that the node knows is not missed.
    """
    fake, address = shared.fake, shared.address
    evals = folder(fake)
    evals.write(3)
    (evals.path / "more.env").write_text("A_KEY_OF_OURS=secret\n")
    elsewhere = {
        name: url.replace("127.0.0.1", "localhost")
        for name, url in evals.env.items()
        if name in {"OPENAI_BASE_URL", "OPENAI_API_BASE_URL"}
    }
    quiet = {"PYTHONWARNINGS": "ignore"}
    asked_before = len(fake.requests)
    start = ("run", *QUIET, "--ray", address, "--workers", "1")
    far = evals.run(*start, env={**quiet, **elsewhere})
    assert "asks 127.0.0.1, and this machine localhost" in far.stderr
    without = evals.run(*start, "--env-file", "more.env", env=quiet)
    assert "lacks environment variables: A_KEY_OF_OURS" in without.stderr
    evals.write(3, defaultTest={"vars": {"keys": "file://more.env"}})
    unsent = evals.run(*start, env=quiet)
    assert "more.env" in unsent.stderr
    assert len(fake.requests) == asked_before
    evals.write(3)
    (evals.path / "known.env").write_text("KNOWN_THERE=secret\n")
    complete = evals.run(*start, "--env-file", "known.env", env=quiet)
    assert settled(evals.document())
    for done in (far, without, unsent):
        assert (done.returncode, "Nothing was sent." in done.stderr) == (2, True), done.stderr
    assert complete.returncode == 1, complete.stderr


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_workers_that_this_machine_has_no_room_for_are_refused_at_once(
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Folder],
):
    """A cluster that is started here never grows: nobody waits for it."""
    fake = serve()
    evals = folder(fake)
    evals.write(3)
    start = ("run", *QUIET, "--ray", "--cpus-per-trial", "999")
    done = evals.run(*start, env={"PYTHONWARNINGS": "ignore"})
    assert done.returncode == 2, done.stderr
    assert "room for 0 of 1 workers with 999 CPUs each" in done.stderr
    assert not fake.requests


@pytest.mark.timeout(600)
def test_a_node_that_is_taken_away_loses_nothing_and_nothing_is_paid_twice(
    shared: Shared,
    folder: Callable[..., Folder],
):
    """The folder is sent to the nodes; the run goes on with those that are left; all is as in one process."""
    fake = shared.fake
    fake.latency_ms = 300
    fake.ledger.clear()
    evals = folder(fake)
    wanted, price = run_alone(fake, evals)
    assert shared.nodes.stdin is not None
    start = ("run", *QUIET, "-j", "4", "--ray", shared.address, "--workers", "2")
    process = evals.start(*start, env={"PYTHONWARNINGS": "ignore"})
    until(lambda: fake.ledger.total >= ROWS // 4 or process.poll() is not None, 60)
    shared.nodes.stdin.write("kill\n")
    shared.nodes.stdin.flush()
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1, err
    assert "is gone" in err
    assert settled(evals.document()) == wanted
    assert Counter(fake.ledger.counts) - price - evals.doubted() == Counter()
    assert evals.doubted().total() <= 4
