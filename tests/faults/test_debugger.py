"""A debugger in the user's code, on a real terminal and without one."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Sequence

import pytest
from tests.faults.conftest import COMMAND, Folder

from evenhand.testing import FakeProvider

EVALS = """
import asyncio, pdb

from evenhand import EvalSet

evals = EvalSet("stopped", data=[{"id": "a"}, {"id": "b"}, {"id": "c"}])


def is_short(output):
    if output == "b":
        pdb.set_trace()
    return len(output) == 1


@evals.fixture
def name(case):
    if case.id == "a":
        breakpoint()
    yield case.id


@evals.eval
async def waits(expect, name):
    if name == "c":
        breakpoint()
    await asyncio.sleep(0.01)
    print("in waits", name)
    expect(name, is_short)


@evals.eval
def plain(expect, case):
    try:
        if case.id != "b":
            breakpoint()
    except Exception:
        pass
    print("in plain", case.id)
    expect(True, "is there")
"""
PLAIN = f"stopped_evals.py:{EVALS.splitlines().index('def plain(expect, case):') + 1}"
PROMPT = b"(Pdb) "
PAUSE_S = 1.2
"""Longer than the time limit."""


@pytest.fixture
def evals(folder: Callable[..., Folder], serve: Callable[..., FakeProvider]) -> Folder:
    """A folder with an eval set that opens debuggers."""
    made = folder(serve(), "project")
    (made.path / "stopped_evals.py").write_text(EVALS)
    return made


def on_terminal(folder: Folder, args: Sequence[str], keys: Callable[[int], str]) -> tuple[int, str]:
    """Runs a command on a terminal, and answers each prompt of a debugger's: its exit code, and what was to be seen."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        cwd=folder.path,
        env={**folder.env, "TERM": "xterm"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        preexec_fn=os.setsid,  # noqa: PLW1509 (this process has one thread)
    )
    os.close(follower)
    seen, prompts, end = b"", 0, time.monotonic() + 100
    while True:
        assert time.monotonic() < end, seen.decode()
        if select.select([leader], [], [], 0.5)[0]:
            try:
                seen += os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
        while seen.count(PROMPT) > prompts:
            prompts += 1
            os.write(leader, keys(prompts).encode())
    os.close(leader)
    return process.wait(), seen.decode().replace("\r\n", "\n")


def test_on_a_terminal_a_debugger_has_it_to_itself_and_time_stands_still(evals: Folder) -> None:
    """In a fixture, a grader, a plain and an async eval: one at a time, and the run goes on. Quitting is an error."""

    def keys(number: int) -> str:
        if number == 1:
            time.sleep(PAUSE_S)
        return "q\n" if number == 1 else "n\n" if number % 2 else "p 6 * 7\nc\n"

    code, seen = on_terminal(evals, ["run", "--no-cache", "--time-limit", "1"], keys)
    assert code == 3, seen  # what was quit is an error
    sessions = seen.split("evenhand: case ")[1:]
    assert len(sessions) >= 5, seen
    for session in sessions:
        assert re.match(
            r"\w+ · c continues, q ends the trial\n> \S+stopped_evals\.py\(\d+\)", session
        ), seen
    drawn = seen.partition("evenhand: case")[2].rpartition(PROMPT.decode())[0]
    assert not re.search(r"(?m)^\(Pdb\) [^\n]*\d/6", drawn), seen
    assert "\n42\n" in seen
    trials = evals.document()["trials"]
    errors = [t["error"]["message"] for t in trials if t["outcome"] == "error"]
    assert len(errors) == 1, errors
    assert "was given up in the debugger" in errors[0]
    assert [t["outcome"] for t in trials].count("pass") == 5


def test_stepping_shows_what_is_printed_and_ends_with_the_users_function(evals: Folder) -> None:
    """Nobody steps through Evenhand, or into the next trial."""
    args = ["run", PLAIN, "--no-cache", "--no-table", "-j", "1"]
    code, seen = on_terminal(evals, args, lambda _: "s\n")
    assert code == 0, seen
    assert "\nin plain a\n" in seen
    assert "in plain b" not in seen  # no debugger was opened in it
    assert not re.search(r"> \S*/evenhand/\S+\.py\(", seen), seen


@pytest.mark.parametrize("command", [[], ["-j", "1"], ["--workers", "2"]])
def test_without_a_terminal_a_debugger_is_an_error_of_its_trial_that_says_what_to_do(
    command: list[str], evals: Folder
) -> None:
    """Also where stdin is never closed, and where the code catches whatever is raised."""
    done = evals.run("run", "--no-progress", *command, stdin=subprocess.PIPE)
    assert done.returncode == 3, done.stderr
    assert "it opened a debugger, and there is no terminal" in done.stdout
    assert "evenhand run -j 1" in done.stdout
    outcomes = [trial["outcome"] for trial in evals.document()["trials"]]
    assert outcomes.count("error") == 5
    assert outcomes.count("pass") == 1


@pytest.mark.thorough
def test_a_breakpoint_that_is_switched_off_is_none(evals: Folder) -> None:
    """As everywhere in Python."""
    done = evals.run("run", PLAIN, env={"PYTHONBREAKPOINT": "0"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_breakpoint_in_a_file_as_it_is_imported_needs_a_terminal_too(evals: Folder) -> None:
    """Nothing is sent; and nobody waits for an answer that can't come."""
    (evals.path / "stopped_evals.py").write_text(f"breakpoint()\n{EVALS}")
    done = evals.run("run", stdin=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("stopped_evals.py:1: it opened a debugger"), done.stderr
