"""Eval code that changes the process that it runs in: results are printed, and the exit code holds."""

from __future__ import annotations

import builtins
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.conftest import Folder

import evenhand
from evenhand.engine.python_names import NEEDED
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


REPLACING = """
import sys

from evenhand import EvalSet
from evenhand.engine.python_names import NEEDED

KINDS = {"function": lambda *_, **__: True, "none": None}
names = [(m, name) for m, names in NEEDED.items() for name in sorted(names & {*vars(sys.modules[m])})]
ids = [f"{module}.{name} {kind}" for module, name in names for kind in (*KINDS, "deleted")]
evals = EvalSet("replacing", data=[{"id": "before"}, *({"id": one} for one in ids), {"id": "after"}])


@evals.eval
async def one(case, expect):
    expect(True, "answers")
    if " " in case.id:
        name, kind = case.id.split()
        module, _, name = name.partition(".")
        place = vars(sys.modules[module])
        place.update({name: KINDS[kind]}) if kind in KINDS else place.pop(name)
"""


def test_a_replaced_name_that_the_run_needs_is_an_error_of_the_trial_that_replaced_it(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Each such name of builtins, asyncio, json and sqlite3, as a function, as None, and deleted; all else passes."""
    evals = folder(serve(), "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "replacing_evals.py").write_text(REPLACING)
    done = evals.run("run", "--no-progress", "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    trials = {trial["case"]: trial for trial in json.loads(done.stdout)["trials"]}
    assert len(trials) > 500
    for case, trial in trials.items():
        if " " in case:
            assert trial["outcome"] == "error", case
            assert f"one ({case}) replaced {case.split()[0]}, which" in trial["error"]["message"]
        else:
            assert trial["outcome"] == "pass", trial


def test_every_name_that_the_package_uses_is_watched() -> None:
    """Of builtins, but for those that only people call, asyncio, json and sqlite3."""
    used: dict[str, set[str]] = {module: set() for module in NEEDED}
    for file in Path(evenhand.__file__).parent.rglob("*.py"):
        for module, name in re.findall(r"\b(asyncio|json|sqlite3)\.(\w+)", file.read_text("utf-8")):
            if hasattr(sys.modules[module], name):
                used[module].add(name)
    assert used["asyncio"] - NEEDED["asyncio"] <= {"sleep", "__name__"}
    assert used["json"] <= NEEDED["json"]
    while_imported = {"sqlite_version", "register_adapter", "adapters", "PrepareProtocol"}
    assert used["sqlite3"] - NEEDED["sqlite3"] <= while_imported
    of_people = {"print", "input", "exit", "quit", "breakpoint", "help"}
    others = {"copyright", "credits", "license", "None", "True", "False"}
    public = {name for name in vars(builtins) if not name.startswith("_")}
    assert public - NEEDED["builtins"] <= of_people | others


WRITTEN_WELL = """
import asyncio, sys
from unittest import mock

from evenhand import EvalSet

evals = EvalSet("patching", data=[{"id": f"c{i}"} for i in range(20)])


@evals.eval
async def waits(case, expect):
    if case.id == "c0":
        with mock.patch("sqlite3.connect"):
            await asyncio.sleep(0.3)
    expect(True, "answers")


@evals.eval
def plain(case, expect):
    with mock.patch("builtins.input", lambda: "yes"):
        expect(input() == "yes", "answers")


@evals.eval
async def library(case, expect):
    import site_packages_of_mine
    expect(asyncio.Task is site_packages_of_mine.Task, "what a library does stays")
"""
A_LIBRARY = "import asyncio\nclass Task(asyncio.Task): pass\nasyncio.Task = Task\n"


def test_code_that_puts_names_back_and_libraries_that_replace_them_are_in_order(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Also if others end while one has a name patched, and waits."""
    evals = folder(serve(), "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "patching_evals.py").write_text(
        WRITTEN_WELL.replace(
            "import site_packages", "sys.path.append('site-packages'); import site_packages", 1
        )
    )
    (evals.path / "site-packages").mkdir()
    (evals.path / "site-packages" / "site_packages_of_mine.py").write_text(A_LIBRARY)
    done = evals.run("run", "--no-progress")
    assert done.returncode == 0, done.stdout + done.stderr


LATE = """
import asyncio, builtins, resource, sqlite3, time

from evenhand import EvalSet

evals = EvalSet("late", data=[{{"id": "a"}}, {{"id": "b"}}, {{"id": "c"}}])


@evals.eval
async def one(case, expect):
    expect(True, "answers")
    if case.id == "b":
        {statement}
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.3)
"""


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("builtins.isinstance = lambda *_: True", "one (b) replaced builtins.isinstance, which"),
        ("sqlite3.connect = None", "one (b) replaced sqlite3.connect, which"),
        (
            "resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
            "one (b) lowered the limit of open files, which",
        ),
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", "one (b) lowered the limit of open"),
    ],
)
def test_a_run_whose_code_takes_what_it_needs_has_no_verdict_and_says_whose_it_was(
    statement: str,
    told: str,
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Folder],
) -> None:
    """Also while the run goes on without it, and if nothing can be opened any more."""
    evals = folder(serve(), "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "late_evals.py").write_text(LATE.format(statement=statement))
    done = evals.run("run", "--no-progress", "--json", "-j", "1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert told in done.stdout + done.stderr
