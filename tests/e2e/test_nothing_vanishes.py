"""What an eval expects is settled or said to be lost, whatever its code forgets, leaves behind or does to the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

HEAD = """
import asyncio, ctypes, functools, multiprocessing, os, re, sys, threading, time, weakref
from evenhand import EvalSet
from evenhand.core.score import Score
from evenhand.scorers.text import Contains

evals = EvalSet("v")


async def check(reply, expect):
    expect(False, "checked")


class Holder:
    def __init__(self, expect):
        self.expect = expect

    async def later(self):
        await asyncio.sleep(0.05)
        self.expect(False, "later")


class Long:
    def score(self, output, trial):
        return Score(3.0)


class CancelsItself:
    async def score(self, output, trial):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)


async def numbers():
    yield 1


@evals.fixture
async def endless():
    yield 1
    while True:
        try:
            await asyncio.sleep(0.1)
        except BaseException:
            pass


@evals.fixture
def forgetful(expect):
    check("x", expect)
    return 1


@evals.fixture
def forgetful_later(expect):
    yield 1
    check("x", expect)


@evals.eval
"""


def evenhand(
    *args: str, cwd: Path, **env: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """`evenhand` with these arguments and `--json`, and its document."""
    kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    clean = {name: value for name, value in os.environ.items() if name in kept}
    done = subprocess.run(
        [*COMMAND, *args, "--json", "--no-progress"],
        cwd=cwd,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, json.loads(done.stdout) if done.stdout.startswith("{") else {}


def ran(source: str, folder: Path, *args: str, **env: str) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code, the trials and what was printed to stderr, of an eval set with this eval."""
    (folder / "v_evals.py").write_text(HEAD.lstrip("\n") + source, "utf-8")
    done, document = evenhand("run", "v_evals.py", *args, cwd=folder, **env)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, document.get("trials", []), done.stderr


def problem(trial: dict[str, Any]) -> str:
    """Why a trial has no verdict: all its errors, with what to do."""
    broken = [o for o in trial["outcomes"] if o["outcome"] == "error"]
    return "\n".join(
        [str(trial["error"]), *(f"{o['name']}: {o['reason']} {o.get('hint')}" for o in broken)]
    )


LOST = {
    "a helper that is not awaited": (
        'async def one(expect):\n    expect(True, "ok")\n    check("x", expect)\n',
        "check() was never awaited",
    ),
    "a helper that is not awaited, in a plain eval": (
        'def one(expect):\n    expect(True, "ok")\n    check("x", expect)\n',
        "check() was never awaited",
    ),
    "a coroutine that is kept": (
        'async def one(expect):\n    expect(True, "ok")\n    evals.kept = check("x", expect)\n',
        "check() was never awaited",
    ),
    "a coroutine in a circle": (
        'async def one(expect):\n    expect(True, "ok")\n    found = []\n    found += [found, check("x", expect)]\n',
        "check() was never awaited",
    ),
    "expect.now that is not awaited": (
        'async def one(expect):\n    expect(True, "ok")\n    say = expect.now\n    say("x", Contains("y"))\n',
        "now() was never awaited",
    ),
    "a fixture that awaits nothing": (
        'def one(expect, forgetful):\n    expect(True, "ok")\n',
        "check() was never awaited",
    ),
    "a tear-down that awaits nothing": (
        'def one(expect, forgetful_later):\n    expect(True, "ok")\n',
        "check() was never awaited",
    ),
    "a coroutine that is used as its result": (
        'async def one(expect):\n    reply = check("x", expect)\n    expect(reply.text == "", "ok")\n',
        "check() was never awaited",
    ),
    "a task that raises": (
        (
            "async def one(expect):\n"
            "    async def bg():\n        await asyncio.sleep(0.05)\n        raise ValueError(expect)\n"
            '    expect(True, "ok")\n    asyncio.create_task(bg())\n'
        ),
        "the task bg raised ValueError",
    ),
    "a thread that expects late": (
        (
            "def one(expect):\n"
            '    def bg():\n        time.sleep(0.4)\n        expect(False, "late")\n'
            '    expect(True, "ok")\n    threading.Thread(target=bg).start()\n'
        ),
        "expected after the trial had ended: late",
    ),
    "a label in place of a scorer": (
        'def one(expect):\n    expect("rude", "is polite and says goodbye")\n',
        'Passes("is polite and says goodbye")',
    ),
    "a list in place of a condition": (
        'def one(expect):\n    expect([1], "has one")\n',
        "nothing decides 'has one'",
    ),
    "a lambda": ('def one(expect):\n    expect(lambda: False, "x")\n', "a lambda is a function"),
    "a function": ('def one(expect):\n    expect(check, "x")\n', "check is a function"),
    "a coroutine in place of a condition": (
        'async def one(expect):\n    expect(check("x", expect), "x")\n',
        "check was not awaited",
    ),
    "a coroutine in place of an output": (
        'async def one(expect):\n    expect(check("x", expect), Contains("x"))\n',
        "check was not awaited",
    ),
    "a task in place of an output": (
        'async def one(expect):\n    expect(asyncio.ensure_future(asyncio.sleep(0)), "x")\n',
        "was not awaited",
    ),
    "a generator": (
        'def one(expect):\n    expect((n for n in [1]), "x")\n',
        "is a generator",
    ),
    "an async generator": (
        'def one(expect):\n    expect(numbers(), Contains("1"))\n',
        "is a generator",
    ),
    "a block that is never entered": (
        'def one(expect):\n    expect(True, "ok")\n    expect.that("holds")\n',
        "expect.that('holds') was never run",
    ),
    "a number without a verdict": (
        'def one(expect):\n    expect("x", Long())\n',
        "gave 3 without a verdict",
    ),
    "cancelling all tasks": (
        (
            'async def one(expect):\n    expect(True, "ok")\n    [t.cancel() for t in asyncio.all_tasks()]\n'
            "    await asyncio.sleep(0)\n"
        ),
        "cancelled tasks of the run",
    ),
    "cancelling all tasks, later": (
        (
            'async def one(expect):\n    expect(True, "ok")\n'
            "    asyncio.get_running_loop().call_later(\n"
            "        0.02, lambda: [t.cancel() for t in asyncio.all_tasks()])\n    await asyncio.sleep(0.1)\n"
        ),
        "cancelled tasks of the run",
    ),
    "cancelling itself": (
        'async def one(expect):\n    expect(True, "ok")\n    asyncio.current_task().cancel()\n',
        "cancelled the task that it runs in",
    ),
    "cancelling itself, and waiting": (
        (
            'async def one(expect):\n    expect(True, "ok")\n    asyncio.current_task().cancel()\n'
            "    await asyncio.sleep(1)\n"
        ),
        "one raised CancelledError",
    ),
    "a scorer that cancels its task": (
        'async def one(expect):\n    expect("x", CancelsItself())\n',
        "cancel",
    ),
    "stopping the loop": (
        'async def one(expect):\n    expect(True, "ok")\n    asyncio.get_running_loop().stop()\n',
        "stopped the event loop",
    ),
    "sys.exit in a task": (
        (
            "async def one(expect):\n    async def bg():\n        sys.exit(3)\n"
            '    expect(True, "ok")\n    asyncio.create_task(bg())\n    await asyncio.sleep(0.1)\n'
        ),
        "the task bg raised SystemExit: 3",
    ),
    "os._exit": (
        'def one(expect):\n    expect(True, "ok")\n    os._exit(0)\n',
        "called os._exit(0)",
    ),
    "os._exit on the loop": (
        'async def one(expect):\n    expect(True, "ok")\n    os._exit(0)\n',
        "called os._exit(0)",
    ),
    "os._exit, caught": (
        (
            'def one(expect):\n    expect(True, "ok")\n'
            "    try:\n        os._exit(0)\n    except BaseException:\n        pass\n"
        ),
        "called os._exit(0)",
    ),
    "a task that swallows its cancellation": (
        (
            "async def one(expect):\n    async def bg():\n        while True:\n"
            "            try:\n                await asyncio.sleep(0.1)\n"
            "            except BaseException:\n                expect\n"
            '    expect(True, "ok")\n    asyncio.create_task(bg())\n'
        ),
        "bg, left running by the eval, took longer",
    ),
    "a tear-down that swallows its cancellation": (
        'def one(expect, endless):\n    expect(True, "ok")\n',
        "tear-down of endless took longer than 1.5 s, went on though it was cancelled",
    ),
    "swallowing its cancellation": (
        (
            'async def one(expect):\n    expect(True, "ok")\n    while True:\n'
            "        try:\n            await asyncio.sleep(0.1)\n        except BaseException:\n            pass\n"
        ),
        "went on though it was cancelled",
    ),
}

OTHER = '\n\n@evals.eval\nasync def two(expect):\n    await asyncio.sleep(0.02)\n    expect(True, "ok")\n'


@pytest.mark.thorough(after=12)
@pytest.mark.parametrize("name", LOST)
def test_what_would_vanish_is_an_error_of_its_trial_in_words(name: str, tmp_path: Path):
    """Its trial has no verdict, and its neighbour keeps its own."""
    source, says = LOST[name]
    code, trials, _ = ran(source + OTHER, tmp_path, "--time-limit", "1.5")
    assert code == 3
    assert [trial["outcome"] for trial in trials] == ["error", "pass"]
    assert says in problem(trials[0])


@pytest.mark.parametrize(
    "source",
    [
        (
            "async def one(expect):\n"
            '    async def bg():\n        await asyncio.sleep(0.05)\n        expect(False, "late")\n'
            '    expect(True, "ok")\n    asyncio.create_task(bg())\n'
        ),
        'async def one(expect):\n    expect(True, "ok")\n    asyncio.create_task(Holder(expect).later())\n',
        (
            'async def one(expect):\n    expect(True, "ok")\n'
            '    asyncio.create_task(functools.partial(check, expect=expect)("x"))\n'
        ),
    ],
)
def test_a_task_that_expects_is_waited_for(source: str, tmp_path: Path):
    """What it finds counts, though nobody awaits it, and another trial cannot cancel it."""
    meddler = (
        '\n\n@evals.eval\nasync def two(expect):\n    expect(True, "ok")\n'
        "    [t.cancel() for t in asyncio.all_tasks()]\n"
    )
    code, trials, _ = ran(source + meddler, tmp_path)
    assert [trial["outcome"] for trial in trials] == ["fail", "error"]
    assert code == 1


def test_an_eval_that_expects_nothing_does_not_pass(tmp_path: Path):
    """It has no verdict, and says so with its place."""
    code, trials, _ = ran(
        "def one(expect):\n    for word in []:\n        expect(word, '')\n", tmp_path
    )
    assert (code, trials[0]["outcome"]) == (3, "not_applicable")


FINE = """
async def one(expect):
    expect(True, "ok")
    expect(re.search("a", "abc"), "has an a")
    async with asyncio.timeout(1):
        await asyncio.sleep(0.01)
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1)
    except TimeoutError:
        expect(True, "timed out")
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0.01))
    await asyncio.gather(asyncio.sleep(0), asyncio.to_thread(time.sleep, 0.01))
    with expect.that("blocks"):
        assert True
    sleeper = asyncio.create_task(asyncio.sleep(60))
    sleeper.cancel()
    asyncio.create_task(asyncio.sleep(60))
    return asyncio.sleep(0, "done")


@evals.eval
def two(expect):
    context = multiprocessing.get_context("fork")
    process = context.Process(target=time.sleep, args=(0.01,))
    process.start()
    process.join()
    expect(process.exitcode == 0, "a child ends as ever")
    with context.Pool(2) as pool:  # ends its children by a signal, which is none to the run
        expect(pool.map(abs, [-1, -2]) == [1, 2], "a pool")
    expect(asyncio.run(asyncio.sleep(0, 3)) == 3, "a loop of its own")
"""


def test_what_is_awaited_cancelled_and_forked_in_order_is_no_problem(tmp_path: Path):
    """Timeouts, task groups, children and tasks of the application's own are its business."""
    code, trials, said = ran(FINE, tmp_path)
    assert (code, [t["outcome"] for t in trials]) == (0, ["pass", "pass"]), (trials, said)
    assert trials[0]["output"] == "done"


@pytest.mark.parametrize("how", ["def", "async def"])
def test_a_forked_child_that_comes_back_ends_and_holds_nothing_of_the_run(how: str, tmp_path: Path):
    """It does not go on with the run, and whoever reads stdout does not wait for one that lives on."""
    source = (
        f'{how} one(expect):\n    expect(True, "ok")\n'
        "    pid = os.fork()\n    if pid:\n        os.waitpid(pid, 0)\n\n\n"
        '@evals.eval\ndef two(expect):\n    expect(True, "ok")\n'
        "    if os.fork() == 0:\n        os.close(1), os.close(2), time.sleep(60), os._exit(0)\n"
    )
    code, trials, said = ran(source, tmp_path)
    assert (code, [t["outcome"] for t in trials]) == (0, ["pass", "pass"]), said
    assert "forked a process that returned" in said


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ("threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(60)", "os._exit(0)"),
        ("ctypes.string_at(0)", "Segmentation fault"),
        ("os.abort()", "Aborted"),
    ],
)
@pytest.mark.parametrize("how", ["def", "async def"])
def test_what_took_the_process_down_is_set_aside_on_resume(
    ends: str, says: str, how: str, tmp_path: Path
):
    """The process does not end with 0; resume names the trial, does not run it, and settles the rest."""
    source = f'{how} one(expect):\n    expect(True, "ok")\n    {ends}\n' + OTHER
    code, trials, _ = ran(source, tmp_path, "-j", "1")
    assert code not in (0, 1)
    assert not trials
    done, document = evenhand("resume", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    first, second = document["trials"]
    assert (first["outcome"], second["outcome"]) == ("error", "pass")
    assert says in problem(first)
    assert "one" in problem(first)


def test_a_trial_that_is_running_when_a_run_is_killed_is_not_blamed_at_once(tmp_path: Path):
    """Whoever kills a run does not mean it; but after three deaths without a word it is set aside."""
    source = 'def one(expect):\n    expect(True, "ok")\n    os.kill(os.getpid(), 9)\n' + OTHER
    code, _, _ = ran(source, tmp_path, "-j", "1")
    codes = [code, *(evenhand("resume", cwd=tmp_path)[0].returncode for _ in range(3))]
    assert codes == [-9, -9, -9, 3]


def test_a_trial_is_not_blamed_for_what_is_collected_as_garbage_while_it_runs(tmp_path: Path):
    """Without an `expect`, nobody knows any more whose it was."""
    code, trials, _ = ran(
        "async def one(expect):\n"
        '    circle = []\n    circle += [circle, idle()]\n    expect(True, "ok")\n'
        "@evals.eval\nasync def two(expect):\n"
        '    gc.collect()\n    expect(True, "ok")\n'
        "async def idle():\n    pass\n"
        "import gc\ngc.disable()\n",
        tmp_path,
        "-j1",
    )
    assert (code, [trial["outcome"] for trial in trials]) == (0, ["pass", "pass"])


def test_an_eval_file_that_ends_the_process_while_it_is_imported_is_told(tmp_path: Path):
    """There is no trial to blame, and no verdict."""
    (tmp_path / "v_evals.py").write_text("import os\nos._exit(0)\n")
    done, _ = evenhand("run", "v_evals.py", cwd=tmp_path)
    assert done.returncode == 3
    assert "v_evals.py:2 called os._exit(0)" in done.stderr


CONFIG = """
prompts: [hello]
providers: [echo]
tests:
  - assert: [{type: python, value: "file://grade.py"}]
"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("    check()\n    return True\n", "check() was never awaited"),
        ("    return {'pass': check(), 'score': 1, 'reason': 'r'}\n", "check"),
        ("    return lambda: True\n", "returned"),
        ("    os._exit(0)\n", "called os._exit(0)"),
        ("    sys.exit(0)\n", "SystemExit"),
        ("    pid = os.fork()\n    if pid: os.waitpid(pid, 0)\n    return 'x'\n", "returned"),
    ],
)
@pytest.mark.parametrize("how", ["def", "async def"])
def test_a_grader_that_forgets_to_await_or_leaves_has_no_verdict(
    body: str, says: str, how: str, tmp_path: Path
):
    """Of a promptfoo folder, as of an eval set."""
    head = "import os, sys\nasync def check(): return False\n"
    (tmp_path / "grade.py").write_text(f"{head}{how} get_assert(output, context):\n{body}")
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    done, document = evenhand("run", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert says in problem(document["trials"][0])


@pytest.mark.thorough
def test_a_provider_that_swallows_its_cancellation_is_left_behind(tmp_path: Path):
    """The time limit holds, and the run ends."""
    (tmp_path / "bot.py").write_text(
        "import asyncio\nasync def call_api(prompt, options, context):\n    while True:\n"
        "        try: await asyncio.sleep(0.1)\n        except BaseException: pass\n"
    )
    config = "prompts: [hello]\nproviders: ['python:bot.py']\ntests: [{vars: {a: 1}}]\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    done, document = evenhand("run", "--time-limit", "1", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "went on though it was cancelled" in problem(document["trials"][0])
