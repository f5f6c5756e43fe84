"""Code that Python can't leave: the time limit ends its trial all the same, and the run goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import Folder

from evenhand.testing import FakeProvider

pytestmark = pytest.mark.timeout(600)

HEAD = """
import asyncio, itertools, re, threading, time

from evenhand import EvalSet

lock = threading.Lock()
lock.acquire()


def swallow():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


WAYS = {
    "fine": lambda: None,
    "busy": lambda: [None for _ in iter(int, 1)],
    "lock": lambda: lock.acquire(),
    "regex": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
    "swallows": swallow,
    "in C": lambda: sum(itertools.count()),
    "sleeps": lambda: time.sleep(3600),
    "fine too": lambda: None,
}
"""
ASYNC = """
evals = EvalSet("loops", data=[{"id": name} for name in WAYS if name not in ("in C", "swallows")])


@evals.eval
async def waits(expect, case):
    await asyncio.sleep(0)
    WAYS[case.id]()
    expect(True, "comes back")
"""
PLAIN = """
evals = EvalSet("loops", data=[{"id": name} for name in ("fine", "regex", "in C", "sleeps", "fine too")])


@evals.eval
def plain(expect, case):
    WAYS[case.id]()
    expect(True, "comes back")
"""
TOGETHER = """
evals = EvalSet("loops", data=[{"id": name} for name in ("fine", "swallows", "fine too")])


@evals.eval
async def waits(expect, case):
    await asyncio.sleep(0.5)
    WAYS[case.id]()
    expect(True, "comes back")
"""


@pytest.fixture
def write(
    folder: Callable[..., Folder], serve: Callable[..., FakeProvider]
) -> Callable[[str], Folder]:
    """A folder with this eval set."""

    def written(text: str) -> Folder:
        made = folder(serve(), "project")
        (made.path / "loops_evals.py").write_text(HEAD + text)
        return made

    return written


def outcomes(evals: Folder) -> dict[str, str]:
    """Each case's outcome, or the error."""
    trials = evals.document()["trials"]
    return {t["case"]: t["error"]["message"] if t["error"] else t["outcome"] for t in trials}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("text", "number"), [(ASYNC, 6), (PLAIN, 5), (TOGETHER, 3)])
def test_a_time_limit_ends_the_trial_of_code_that_python_cannot_leave_and_the_run_goes_on(
    text: str, number: int, write: Callable[[str], Folder]
) -> None:
    """Loops in Python and C, locks and patterns, in plain and async evals; each names its line, and blames no other."""
    evals = write(text)
    done = evals.run("run", "--time-limit", "1", "--no-progress")
    assert done.returncode == 3, done.stderr
    results = outcomes(evals)
    assert len(results) == number
    assert results.pop("fine") == results.pop("fine too") == "pass"
    for case, message in results.items():
        assert "longer than 1 s" in message or "more than 1 s, at loops_evals.py:" in message, (
            case,
            message,
        )
        told = "Look for a loop without an end" in done.stderr or "ook for " in done.stdout
        assert told


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("numbers", "codes"), [((signal.SIGTERM,), (-15, 143)), ((signal.SIGINT,) * 2, (-2, 130))]
)
def test_a_run_that_code_holds_can_be_stopped_and_resumed_without_that_trial(
    numbers: tuple[int, ...], codes: tuple[int, ...], write: Callable[[str], Folder]
) -> None:
    """Though no handler of the run's can be called; the guardian is above."""
    evals = write(PLAIN)
    (evals.path / "loops_evals.py").write_text(
        HEAD + PLAIN.replace('"regex", ', "").replace('"sleeps", ', "")
    )
    process = evals.start("run", "--no-progress")
    while not list(evals.home.glob("runs/*.db")):
        time.sleep(0.05)
    time.sleep(3)
    for number in numbers:
        process.send_signal(number)
        time.sleep(1)
    _, err = process.communicate(timeout=60)
    assert process.returncode in codes, err
    assert "loops_evals.py:" in err
    assert evals.run("resume", "--no-progress").returncode == 3
    results = outcomes(evals)
    assert results.pop("fine") == results.pop("fine too") == "pass"
    assert "blocked the whole run" in results["in C"]


NO_MORE_PROCESSES = """
import os, resource, signal, sys, time

from evenhand.engine import guardian


def tell(line):
    print(line, flush=True)
    if os.getuid() == 0:  # for root, there is no limit
        os.setuid(54321)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


guardian.guard(tell)
if guardian.is_guarded():
    guardian.note_breadcrumbs(sys.argv[1])
    with guardian.may_be_held(60), guardian.another_may_go_on():
        guardian.is_held()
        os.kill(os.getppid(), signal.SIGCONT)  # it looks at once, before its clock strikes
        time.sleep(60)
time.sleep(3 * guardian.LOOK_S)
assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
print("went on without", flush=True)
"""


def test_a_run_goes_on_without_a_guardian_where_there_may_be_no_second_process(
    tmp_path: Path,
) -> None:
    """The clock by which the first one was guarded strikes no more."""
    done = subprocess.run(
        [sys.executable, "-c", NO_MORE_PROCESSES, tmp_path / "crumbs"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "the run goes on" in done.stdout
    assert done.stdout.endswith("went on without\n")
