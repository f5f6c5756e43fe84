"""Eval code that changes the process that it runs in: results are printed, and the exit code holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.faults.conftest import Folder

from evenhand.testing import FakeProvider

CODE = """
import os, sys, tempfile, threading, time

from evenhand import EvalSet
from evenhand.scorers import Contains

evals = EvalSet("wayward", data=[{{"id": "a"}}, {{"id": "b"}}])


@evals.eval
async def one(case, expect):
    expect("ref", Contains("ref"))
    if case.id == "b":
        {statement}
"""
GONE = "there = tempfile.mkdtemp(); os.chdir(there); os.rmdir(there)"
THREAD = "threading.Thread(target=time.sleep, args=(3,), name='sleeper').start()"


@pytest.mark.parametrize(
    ("statement", "code", "told"),
    [
        (GONE, 0, "2 of 2 passed"),
        ("os.chdir('/')", 0, "2 of 2 passed"),
        ("sys.setrecursionlimit(100)", 0, "2 of 2 passed"),
        ("raise GeneratorExit", 3, "one raised GeneratorExit"),
        ("import gc; gc.callbacks.clear()", 0, "2 of 2 passed"),
        ("import atexit; atexit.register(lambda: os._exit(0)); raise ValueError", 3, "1 of 2"),
        ("sys.exit = lambda *_: None; raise ValueError", 3, "1 of 2"),
        (THREAD, 0, "waiting for a thread that your code left running: sleeper"),
    ],
)
def test_code_that_changes_its_process_costs_no_result_of_the_run(
    statement: str,
    code: int,
    told: str,
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Folder],
) -> None:
    """Files on the command line are written where it was started."""
    evals = folder(serve(), "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "wayward_evals.py").write_text(CODE.format(statement=statement))
    done = evals.run("run", "--no-progress", "-o", "out.json")
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stdout + done.stderr
    assert (evals.path / "out.json").is_file()
    assert len(evals.document()["trials"]) == 2


SLEEPLESS = """
import asyncio, time

from evenhand import EvalSet

evals = EvalSet("sleepless", data=[{"id": "a"}, {"id": "b"}])


async def at_once(*_):
    return None


@evals.eval
async def one(case, expect):
    asyncio.sleep = at_once  # so that an application's retries take no time
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.3)
    expect(True, "answers")
"""


def test_code_that_replaces_asyncio_sleep_does_not_stop_the_run(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The run waits with the sleep that was there before, also to show how far it is."""
    evals = folder(serve(), "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "sleepless_evals.py").write_text(SLEEPLESS)
    done = evals.run("run", "--no-table")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 passed" in done.stdout
