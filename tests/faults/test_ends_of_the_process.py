"""Code that ends the process that it runs in, in whatever way: never an exit code of 0, and `resume` has a verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Script

pytestmark = pytest.mark.timeout(600)

HEAD = (
    "import atexit, ctypes, os, posix, signal, sys, threading, time\n"
    "from os import _exit as early_exit, execv as early_execv\n"
)
WAYS = {
    "execv": "os.execv('/bin/true', ['true'])",
    "execve": "os.execve('/bin/true', ['true'], {})",
    "execlp": "os.execlp('true', 'true')",
    "execvp": "os.execvp('true', ['true'])",
    "execvpe": "os.execvpe('true', ['true'], dict(os.environ))",
    "posix.execv": "posix.execv('/bin/true', ['true'])",
    "an execv that was imported before": "early_execv('/bin/true', ['true'])",
    "exec of what fails": "ctypes.CDLL(None).execv(b'/bin/false', (ctypes.c_char_p * 2)(b'false', None))",
    "the C library's execv": "ctypes.CDLL(None).execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None))",
    "the C library's exit": "ctypes.CDLL(None).exit(0)",
    "the C library's exit, with 1": "ctypes.CDLL(None).exit(1)",
    "the C library's _exit": "ctypes.CDLL(None)._exit(0)",
    "the C library's _Exit": "ctypes.CDLL(None)._Exit(0)",
    "the C library's quick_exit": "ctypes.CDLL(None).quick_exit(0)",
    "with the interpreter's lock": "ctypes.PyDLL(None)._exit(0)",
    "a system call": "ctypes.CDLL(None).syscall({'x86_64': 231}.get(os.uname().machine, 94), 0)",
    "an _exit that was imported before": "early_exit(0)",
    "posix._exit": "posix._exit(0)",
    "an audit hook": (
        "sys.addaudithook(lambda e, a: ctypes.CDLL(None)._exit(0) if e == 'open' else None); open(__file__)"
    ),
    "a thread": "t = threading.Thread(target=lambda: ctypes.CDLL(None)._exit(0)); t.start(); t.join()",
    "exec in a thread": (
        "t = threading.Thread(target=lambda: os.execv('/bin/true', ['true'])); t.start(); t.join()"
    ),
    "a finalizer": "type('D', (), {'__del__': lambda self: ctypes.CDLL(None)._exit(0)})()",
    "a fork whose parent ends": "os.fork(); ctypes.CDLL(None)._exit(0)",
    "an alarm": "signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(60)",
    "abort": "os.abort()",
}
LATE = {
    "a handler of atexit": "atexit.register(lambda: early_exit(0))",
    "C in a handler of atexit": "atexit.register(lambda: ctypes.CDLL(None)._exit(0))",
    "exec in a handler of atexit": "atexit.register(lambda: os.execv('/bin/true', ['true']))",
    "an audit hook after the run": (
        "sys.addaudithook(lambda e, a: early_exit(0) if e == 'sqlite3.connect' else None)"
    ),
}
QUIET = ("--no-progress", "--no-table")


PLACES = ("fixture", "tear-down", "async", "scorer", "import")


def evals(way: str, place: str) -> str:
    """Eval code of four cases, of which `c0` alone passes, with this statement in this place."""
    here = {one: way if one == place else "pass" for one in ("trial", "async", *PLACES)}
    thing = ", thing" * (place in ("fixture", "tear-down"))
    ends = "expect('x', Leaves())" if place == "scorer" else here["trial"]
    return f"""{HEAD}
from evenhand import EvalSet, Score

{here["import"]}
evals = EvalSet("a", data=[{{"id": f"c{{i}}"}} for i in range(4)])


class Leaves:
    def score(self, output, trial):
        {here["scorer"]}
        return Score(1.0, True)


@evals.fixture
def thing():
    {here["fixture"]}
    yield 1
    {here["tear-down"]}


@evals.eval
{"async " * (place == "async")}def e(case, expect{thing}):
    if case.id == "c2":
        {here["async"]}
        {ends}
    expect(case.id == "c0", "is c0")
"""


@pytest.fixture
def project(serve: Callable[..., FakeProvider], folder: Callable[..., Folder]) -> Folder:
    """A folder of evals, to be written by the test."""
    project = folder(serve(), "project")
    (project.path / "evals").mkdir()
    return project


def _write(project: Folder, text: str) -> None:
    (project.path / "evals" / "a_evals.py").write_text(text)


def _has_a_verdict(project: Folder) -> None:
    resumed = project.run("resume", *QUIET)
    document = project.document()
    assert document["run"]["status"] == "finished", resumed.stderr
    assert document["verdict"] in ("failed", "undecided")
    assert resumed.returncode in (1, 3)
    outcomes = {trial["case"]: trial["outcome"] for trial in document["trials"]}
    assert len(outcomes) == 4
    assert outcomes["c2"] != "pass"


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_ending_the_process_makes_a_run_exit_with_0(way: str, project: Folder) -> None:
    """It is an error of its trial at once; or the command says what was running, and `resume` has a verdict."""
    _write(project, evals(WAYS[way], "trial"))
    done = project.run("run", *QUIET)
    assert done.returncode not in (0, 2), done.stdout
    if "1 error" not in done.stdout:
        assert "ended without a verdict" in done.stderr or done.returncode < 0
        assert "e c2" in done.stderr
    _has_a_verdict(project)


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["the C library's _exit", "an execv that was imported before"])
def test_wherever_the_process_is_ended_from_there_is_no_0(
    way: str, place: str, project: Folder
) -> None:
    """A file that is being imported is named; there is no run yet to resume."""
    _write(project, evals(WAYS[way], place))
    done = project.run("run", *QUIET, "--json")
    assert done.returncode in (1, 3), done.stderr
    if place == "import":
        assert (done.returncode, done.stdout) == (3, "")
        assert "a_evals.py" in done.stderr
        return
    if not done.stdout:
        words = {
            "fixture": "fixture thing",
            "tear-down": "tear-down of thing",
            "scorer": "Leaves c2",
        }
        assert words.get(place, "e c2") in done.stderr
    _has_a_verdict(project)


@pytest.mark.parametrize("way", LATE)
def test_what_ends_the_process_after_the_run_does_not_change_its_exit_code(
    way: str, project: Folder
) -> None:
    """Results are printed; where the report is cut off, there is no verdict."""
    _write(project, evals(LATE[way], "trial"))
    done = project.run("run", *QUIET)
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert project.document()["totals"]["trials"] == 4


SOMETIMES = """
import ctypes, os
from evenhand import EvalSet, Score

evals = EvalSet("a", data=[{"id": f"c{i}"} for i in range(4)])


class Leaves:
    def score(self, output, trial):
        if os.environ.get("LEAVES"):
            ctypes.CDLL(None)._exit(0)
        return Score(1.0, True)


@evals.eval
def e(case, expect):
    expect("x", Leaves())
    return "x"
"""


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("command", ["gate", "regrade", "watch"])
def test_other_commands_than_run_do_not_exit_with_0_either(command: str, project: Folder) -> None:
    """`watch` goes on, and says that there was no run."""
    _write(project, SOMETIMES)
    assert project.run("run", *QUIET).returncode == 0
    made = project.run("baseline", "latest", "--to", "b.evn")
    assert made.returncode == 0, made.stderr
    if command == "watch":
        process = project.start("watch", env={"LEAVES": "1"})
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert "not run (exit code 3)" in out
        return
    words = {
        "gate": ("gate", "--baseline", "b.evn", "--all", "--margin", "0.03"),
        "regrade": ("regrade", "latest", "--with", "."),
    }[command]
    done = project.run(*words, env={"LEAVES": "1"})
    assert done.returncode == 3, done.stdout + done.stderr


TESTS = """
import pytest
{head}
from evenhand.scorers import Contains

{at_import}

@pytest.fixture
def bot(expect):
    {in_fixture}
    return expect


def test_bad(expect):
    expect("hello", Contains("zzz"))


def test_leaves({argument}):
    {argument}("hello", Contains("hello"))
    {in_test}
"""
IN_PYTEST = ["execv", "an execv that was imported before", "the C library's exit", "a system call"]
IN_PYTEST += ["the C library's _exit", "a thread", *LATE]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("way", "place"),
    [
        *((way, "test") for way in IN_PYTEST),
        *product(
            ["execv", "the C library's _exit", "exec in a handler of atexit"], ["fixture", "import"]
        ),
    ],
)
def test_no_way_of_ending_the_process_makes_pytest_exit_with_0(
    way: str, place: str, tmp_path: Path
) -> None:
    """A test has failed before; the guardian says which one was running. Three ways are tried in each place."""
    here = {
        one: {**WAYS, **LATE}[way] if one == place else "pass"
        for one in ("test", "fixture", "import")
    }
    text = TESTS.format(
        head=HEAD,
        at_import=here["import"],
        in_fixture=here["fixture"],
        in_test=here["test"],
        argument="bot" if place == "fixture" else "expect",
    )
    (tmp_path / "test_bot.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-Wignore",
    ]
    done = subprocess.run(  # noqa: PLW1510 (its exit code is what is tested)
        [*command, "test_bot.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert "test_bot.py" in done.stderr if done.returncode == 3 else "test_bad" in done.stdout


# The guardian is not noticed otherwise


def _under_way(project: Folder, fake: FakeProvider, **more: object) -> subprocess.Popen[str]:
    fake.latency_ms = 300
    project.write(60)
    process = project.start("run", *QUIET, "-j", "5", "--no-cache", **more)
    until(lambda: fake.ledger.total >= 5)
    return process


def test_a_signal_to_the_whole_group_counts_once(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """As `timeout` and service managers send it: calls under way are finished, and not given up."""
    fake = serve(Script())
    project = folder(fake)
    process = _under_way(project, fake, start_new_session=True)
    os.killpg(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 143, err
    assert "finishing" in err
    assert "stopping now" not in err


def test_a_run_ends_with_its_guardian(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Killed with SIGKILL, it asks nothing more, and lets its file go."""
    fake = serve(Script())
    project = folder(fake)
    process = _under_way(project, fake)
    process.kill()
    process.wait()
    time.sleep(0.2)
    total = fake.ledger.total
    time.sleep(1)
    assert fake.ledger.total == total
    fake.latency_ms = 0
    assert project.run("resume", *QUIET).returncode == 1


def test_a_run_that_is_stopped_stops_its_guardian(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """A shell sees a stopped job, as after Ctrl-Z, and can have it go on."""
    fake = serve(Script())
    project = folder(fake)
    process = _under_way(project, fake, process_group=0)
    process.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    time.sleep(0.5)  # what was on its way arrives
    total = fake.ledger.total
    time.sleep(1)
    assert fake.ledger.total == total
    fake.latency_ms = 0
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert fake.ledger.total == 60
