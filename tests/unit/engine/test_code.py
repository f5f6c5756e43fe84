"""User code: off the loop, imported once, its prints kept, its failures named."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from evenhand.core.errors import CodeError
from evenhand.engine import code as code_module
from evenhand.engine.breadcrumbs import last_words
from evenhand.engine.capture import LIMIT, Sink, current
from evenhand.engine.code import CodeHost
from evenhand.engine.watchdog import watching


def write(folder: Path, name: str, text: str) -> Path:
    """A file with this text."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


async def test_a_plain_function_runs_off_the_event_loop(tmp_path: Path):
    """The loop goes on turning while it sleeps."""
    path = write(
        tmp_path,
        "slow.py",
        "import time, threading\ndef f(s):\n    time.sleep(s)\n    return threading.get_ident()\n",
    )
    host = CodeHost()
    with host.open():
        function = await host.load(path, "f")
        ticks = 0
        task = asyncio.create_task(host.call(function, 0.1, name="slow.py:f"))
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.01)
        assert await task != threading.get_ident()
    assert ticks >= 5


async def test_an_async_function_is_awaited_on_the_loop():
    """And so is what a plain function returns, where it can be awaited."""

    async def later(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    host = CodeHost()
    with host.open():
        assert await host.call(later, 1, name="later") == 2
        assert (
            await host.call(
                lambda x: later(x),  # noqa: PLW0108 (a plain function, that is the point)
                2,
                name="wrapped",
            )
            == 3
        )


async def test_a_file_is_imported_once_however_many_ask(tmp_path: Path):
    """Its module level runs once in a run."""
    text = """
        from pathlib import Path
        log = Path(__file__).with_suffix(".log")
        log.write_text(log.read_text() + "x" if log.exists() else "x")
        def f(): return 1
        def g(): return 2
    """
    path = write(tmp_path, "once.py", text)
    host = CodeHost()
    with host.open():
        await asyncio.gather(*(host.load(path, name) for name in ("f", "g", "f", "g")))
    assert path.with_suffix(".log").read_text() == "x"


async def test_two_folders_with_files_of_one_name_do_not_meet(tmp_path: Path):
    """Each has its own module, and its own neighbours on the path."""
    one = write(tmp_path / "one", "prompts.py", "def f(): return 'one'\n")
    two = write(tmp_path / "two", "prompts.py", "def f(): return 'two'\n")
    host = CodeHost()
    with host.open():
        found = [await host.call(await host.load(path, "f"), name="f") for path in (one, two)]
    assert found == ["one", "two"]


async def test_packages_of_one_name_in_two_folders_do_not_meet(tmp_path: Path):
    """With all that is in them; what is installed, or ours, is never set aside for a file of its name."""
    paths = []
    for name in ("one", "two"):
        write(tmp_path / name, "evenhand.py", "")
        write(tmp_path / name / "rules", "__init__.py", f"WHERE = '{name}'\n")
        write(tmp_path / name / "rules", "deep.py", f"DEEP = '{name}'\n")
        text = "import rules\nfrom rules.deep import DEEP\ndef f(): return rules.WHERE, DEEP\n"
        paths.append(write(tmp_path / name, "grader.py", text))
    ours = sys.modules["evenhand"]
    host = CodeHost()
    with host.open():
        found = [await host.call(await host.load(path, "f"), name="f") for path in paths]
    assert found == [("one", "one"), ("two", "two")]
    assert sys.modules["evenhand"] is ours


async def test_a_file_named_in_two_ways_is_one_file(tmp_path: Path):
    """It is imported once."""
    path = write(tmp_path / "graders", "g.py", "def f(): return 1\n")
    host = CodeHost()
    with host.open():
        assert await host.load(path, "f") is await host.load(
            tmp_path / "graders" / ".." / "graders" / "g.py", "f"
        )


async def test_a_method_of_a_class_can_be_named(tmp_path: Path):
    """`Class.method`, as promptfoo writes it."""
    path = write(tmp_path, "k.py", "class K:\n    @staticmethod\n    def m(x): return x * 2\n")
    host = CodeHost()
    with host.open():
        assert await host.call(await host.load(path, "K.m"), 4, name="K.m") == 8


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        (
            "def get_assert(): pass\n",
            "get_asert",
            "has no function 'get_asert'\n  Did you mean 'get_assert'?",
        ),
        ("import nothing_like_it\n", "f", "could not be imported: ModuleNotFoundError"),
        ("def f(:\n", "f", "grader.py:1: invalid syntax"),
        ("raise SystemExit(3)\n", "f", "SystemExit"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, text: str, name: str, says: str
):
    """What is wrong, and what there is instead."""
    path = write(tmp_path, "grader.py", text)
    host = CodeHost()
    with host.open(), pytest.raises(CodeError) as caught:
        await host.load(path, name)
    assert says in str(caught.value)
    assert "grader.py" in str(caught.value)


@pytest.mark.parametrize(
    "raised", ["ValueError('boom')", "SystemExit(1)", "KeyboardInterrupt()", "GeneratorExit()"]
)
async def test_whatever_user_code_raises_is_an_error_with_its_line(tmp_path: Path, raised: str):
    """Also what would otherwise end the process."""
    path = write(tmp_path, "bad.py", f"def f():\n    x = 1\n    raise {raised}\n")
    host = CodeHost()
    with host.open():
        function = await host.load(path, "f")
        with pytest.raises(CodeError) as caught:
            await host.call(function, name="bad.py:f")
    assert raised.partition("(")[0] in str(caught.value)
    assert "bad.py" in str(caught.value)
    assert ":3" in str(caught.value) or "line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("inner", "told"),
    [
        (
            "ConnectionRefusedError(111, 'Connection refused')",
            "(ConnectionRefusedError: [Errno 111]",
        ),
        ("ConnectionFailed('a.example cannot be reached')", "(a.example cannot be reached)"),
        ("ValueError('of its own')", "raised RuntimeError: Connection error."),
    ],
)
async def test_why_a_library_could_not_connect_is_told(tmp_path: Path, inner: str, told: str):
    """SDKs say "Connection error." and keep the address and the reason to themselves."""
    text = (
        "from evenhand.core.errors import ConnectionFailed\n"
        "def f():\n"
        "    try:\n"
        f"        raise {inner}\n"
        "    except Exception as error:\n"
        "        raise RuntimeError('Connection error.') from error\n"
    )
    host = CodeHost()
    with host.open():
        function = await host.load(write(tmp_path, "sdk.py", text), "f")
        with pytest.raises(CodeError) as caught:
            await host.call(function, name="f")
    assert told in caught.value.message


async def test_a_function_that_takes_too_long_is_given_up_and_named():
    """Its neighbours go on, in another thread."""
    stop = threading.Event()
    host = CodeHost(limit_s=0.05, threads=1)
    with host.open():
        with pytest.raises(CodeError, match=r"slow\.py:f"):
            await host.call(lambda: stop.wait(5), name="slow.py:f")
        assert await host.call(lambda: 7, name="quick", limit_s=2) == 7
    stop.set()


async def test_an_async_function_that_takes_too_long_is_given_up_and_named():
    """The same limit holds for those."""
    host = CodeHost(limit_s=0.02)
    with host.open(), pytest.raises(CodeError, match="sleeper"):
        await host.call(asyncio.sleep, 5, name="sleeper")


async def test_stuck_functions_are_not_piled_up_for_ever(monkeypatch: pytest.MonkeyPatch):
    """After a number of them, no more are begun."""
    monkeypatch.setattr(code_module, "ABANDONED", 2)
    stop = threading.Event()
    host = CodeHost(limit_s=0.02, threads=1)
    with host.open():
        for _ in range(2):
            with pytest.raises(CodeError):
                await host.call(lambda: stop.wait(5), name="stuck")
        with pytest.raises(CodeError, match="was not run"):
            await host.call(lambda: 1, name="next")
    stop.set()


async def test_functions_that_come_back_late_are_not_counted_as_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Slow is not stuck: once their threads are free again, so is their place, and their slot for last words."""
    monkeypatch.setattr(code_module, "ABANDONED", 2)
    host = CodeHost(limit_s=0.02, threads=1, breadcrumbs=tmp_path / "crumbs")
    with host.open():
        for _ in range(3):
            stop = threading.Event()
            for _ in range(2):
                with pytest.raises(CodeError, match="took longer"):
                    await host.call(stop.wait, 5, name="slow")
            stop.set()
            while host._abandoned:
                await asyncio.sleep(0.005)
            assert await host.call(lambda: 7, name="quick", limit_s=2) == 7
        assert len(host._workers) == 1


async def test_prints_go_to_the_trial_they_were_made_for(capsys: pytest.CaptureFixture[str]):
    """In threads and in tasks alike; what is not user code prints as always."""
    host = CodeHost()
    sinks = [Sink(), Sink()]

    async def trial(i: int) -> None:
        current.set(sinks[i])
        await host.call(lambda: print(f"from {i}"), name="p")  # noqa: T201 (what user code does)
        await host.call(_prints, i, name="q")

    with host.open():
        await asyncio.gather(trial(0), trial(1))
        print("ours")  # noqa: T201 (what we do)
    assert sinks[0].text() == "from 0\nasync 0\n"
    assert sinks[1].text() == "from 1\nasync 1\n"
    assert capsys.readouterr().out == "ours\n"


async def _prints(i: int) -> None:
    print(f"async {i}")  # noqa: T201 (what user code does)


def test_a_sink_keeps_the_first_kilobytes_and_counts_the_rest():
    """A chatty grader fills no run file."""
    sink = Sink()
    sink.write("x" * (LIMIT - 1))
    sink.write("yyy")
    assert sink.text().startswith("x" * (LIMIT - 1) + "y")
    assert "2 characters more" in sink.text()
    assert Sink().text() == ""


def test_a_function_that_takes_the_process_down_is_known_afterwards(tmp_path: Path):
    """The note it left says which it was; a run that ended in order leaves none."""
    crumbs = tmp_path / "run.running"
    script = f"""
import asyncio, os
from pathlib import Path
from evenhand.engine.code import CodeHost
async def main():
    host = CodeHost(breadcrumbs=Path({str(crumbs)!r}))
    with host.open():
        await host.call(lambda: 1, name="fine")
        await host.call(lambda: os._exit(9), name="grader.py:get_assert")
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == 9
    assert [word.text.split()[0] for word in last_words(crumbs)] == ["grader.py:get_assert"]
    assert last_words(tmp_path / "none") == []


async def test_code_that_a_library_makes_from_text_is_nobodys_that_blocks():
    """As named tuples and dataclasses do when they are imported: the frame of the user's that waits for it is named."""
    said: list[str] = []
    with watching(said.append, patience_s=0.1):
        await asyncio.sleep(0)
        exec(compile("time.sleep(1.0)", "<string>", "exec"))  # as such libraries do
        await asyncio.sleep(0.05)
    assert len(said) == 1
    assert "test_code.py" in said[0]


async def test_what_blocks_the_loop_is_named():
    """With the file and the line of the user's own frame."""
    said: list[str] = []
    with watching(said.append, patience_s=0.1):
        await asyncio.sleep(0)
        time.sleep(1.0)  # noqa: ASYNC251 (what the watchdog is for)
        await asyncio.sleep(0.05)
    assert len(said) == 1
    assert "held up all other trials" in said[0]
    assert "test_code.py" in said[0]


@pytest.mark.parametrize(
    "body",
    [
        "    return asyncio.get_event_loop().run_until_complete(later(x))\n",
        "    loop = asyncio.get_event_loop()\n    loop.run_until_complete(later(x))\n    loop.close()\n    return 2\n",
        "    asyncio.run(later(x))\n    return x + 1\n",
    ],
)
async def test_plain_functions_may_wait_with_the_event_loop_of_their_thread(
    body: str, tmp_path: Path
):
    """Plain functions may wait with the event loop of their thread, whatever the one before did to it."""
    begins = "import asyncio\nasync def later(x): return x + 1\ndef f(x):\n"
    closes = write(tmp_path, "closes.py", begins + body)
    waits = "    return asyncio.get_event_loop().run_until_complete(later(x))\n"
    after = write(tmp_path, "waits.py", begins + waits)
    host = CodeHost(threads=1)
    with host.open():
        for path in (closes, after):
            function = await host.load(path, "f")
            assert await host.call(function, 1, name="f") == 2
