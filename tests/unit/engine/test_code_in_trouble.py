"""User code that hangs, exits, lies or vanishes."""

# ruff: noqa: T201 (user code prints)

from __future__ import annotations

import asyncio
import contextvars
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import pytest

from evenhand.core.errors import CodeError
from evenhand.engine import code as code_module
from evenhand.engine import watchdog
from evenhand.engine.breadcrumbs import last_words
from evenhand.engine.capture import Sink, captured, current, user_code
from evenhand.engine.code import CodeHost


@pytest.fixture
def write(tmp_path):
    """Writes a file of user code."""

    def written(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return written


@pytest.fixture
def gate():
    """An event that stuck functions wait for; set at the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


async def test_time_in_the_queue_is_not_the_functions_own(gate):
    """With one thread, the last of seven calls starts after its limit would have run out."""
    host = CodeHost(limit_s=0.25, threads=1)

    def slow():
        gate.wait(0.05)
        return "done"

    with host.open():
        found = await asyncio.gather(*(host.call(slow, name=f"slow {i}") for i in range(7)))
    assert found == ["done"] * 7


async def test_those_in_the_queue_are_run_when_the_one_before_them_is_stuck(gate):
    """A thread that is left behind is replaced, though nobody calls anew."""
    host = CodeHost(limit_s=0.03, threads=1)
    with host.open():
        stuck = asyncio.create_task(host.call(gate.wait, 5, name="stuck"))
        queued = [asyncio.create_task(host.call(lambda: 7, name="queued")) for _ in range(3)]
        with pytest.raises(CodeError, match=r"stuck took longer than 0\.03 s"):
            await stuck
        assert await asyncio.gather(*queued) == [7, 7, 7]


async def test_those_in_the_queue_are_told_when_no_thread_is_left(gate, monkeypatch):
    """Rather than waiting forever: one stuck thread is replaced here, two are not."""
    monkeypatch.setattr(code_module, "ABANDONED", 1)
    host = CodeHost(limit_s=0.02, threads=1)
    with host.open():
        said = await asyncio.gather(
            *(host.call(gate.wait, 5, name=f"call {i}") for i in range(3)), return_exceptions=True
        )
    assert "call 0 took longer" in str(said[0])
    assert "call 1 took longer" in str(said[1])
    assert "call 2 was not run: 1 functions are stuck" in str(said[2])


async def test_a_cancelled_call_in_the_queue_is_never_begun(gate):
    """Nobody waits for it any more."""
    ran = []
    host = CodeHost(threads=1)
    with host.open():
        first = asyncio.create_task(host.call(gate.wait, 5, name="first"))
        await asyncio.sleep(0)
        second = asyncio.create_task(host.call(ran.append, 1, name="second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.set()
        await first
        await host.call(ran.append, 2, name="third")
    assert ran == [2]


async def test_an_async_functions_own_time_out_is_not_taken_for_ours():
    """Whatever it waited for itself is its own affair, and is named as such."""

    async def impatient():
        raise TimeoutError("the database did not answer")

    host = CodeHost(limit_s=5)
    with pytest.raises(CodeError, match="impatient raised TimeoutError: the database"):
        await host.call(impatient, name="impatient")


@pytest.mark.parametrize("raised", [SystemExit(2), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_an_async_function_cannot_end_the_run(raised):
    """Neither by exiting, nor with an interrupt or a cancellation of its own."""

    async def leaves():
        await asyncio.sleep(0)
        raise raised

    with pytest.raises(CodeError, match=f"leaves raised {type(raised).__name__}"):
        await CodeHost().call(leaves, name="leaves")


async def test_a_run_that_stops_cancels_an_async_function():
    """That is no error of the function's."""
    started = asyncio.Event()

    async def waits():
        started.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(CodeHost().call(waits, name="waits"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_async_function_that_is_dropped_says_nothing():
    """When a loop is closed over it, it is closed with it, outside of its task."""
    waiting = CodeHost().call(asyncio.Event().wait, name="waits")

    async def begin():
        waiting.send(None)

    context = contextvars.copy_context()
    await asyncio.create_task(begin(), context=context)
    context.run(waiting.close)


async def test_an_async_function_that_does_not_take_its_arguments_is_named():
    """Like a plain one."""

    async def needs(one, two):
        return one, two

    with pytest.raises(CodeError, match=r"needs raised TypeError: .*'two'"):
        await CodeHost().call(needs, 1, name="needs")


async def test_an_error_of_our_own_passes_through_user_code_as_it_is():
    """It says already what is wrong."""
    error = CodeError("f.py has no function 'g'")

    async def later():
        raise error

    def now():
        raise error

    host = CodeHost()
    with host.open():
        for function in (later, now):
            with pytest.raises(CodeError) as caught:
                await host.call(function, name="x")
            assert caught.value is error


async def test_an_exception_that_cannot_say_what_it_is_is_called_by_its_class():
    """A broken __str__ does not leave the call waiting."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("never")

    def mute():
        raise Mute

    host = CodeHost(limit_s=2)
    with host.open(), pytest.raises(CodeError) as caught:
        await host.call(mute, name="mute")
    assert caught.value.message == "mute raised Mute"


async def test_an_error_deep_in_a_library_names_the_users_own_line(write):
    """The last frame that is the user's, not the library's."""
    library = write("site-packages/lib.py", "def fail():\n    raise ValueError('deep')\n")
    mine = write(
        "mine.py",
        """
        import sys
        def answer(lib):
            return lib()
        """,
    )
    host = CodeHost()
    with host.open():
        fail = await host.load(library, "fail")
        answer = await host.load(mine, "answer")
        with pytest.raises(CodeError) as caught:
            await host.call(answer, fail, name="mine.py:answer")
        assert caught.value.hint == f"{mine}:4: return lib()"
        with pytest.raises(CodeError) as caught:
            await host.call(fail, name="lib")
        assert caught.value.hint == ""


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("def f(:\n", "half.py:1: ", "def f(:"),
        ("import not_there_at_all\n", "ModuleNotFoundError", "pip install not_there_at_all"),
        ("1 / 0\n", "half.py could not be imported: ZeroDivisionError", "half.py:1: 1 / 0"),
        ("open('/not/there')\n", "could not be imported: FileNotFoundError", "half.py:1"),
        ("import sys; sys.exit(4)\n", "could not be imported: SystemExit: 4", "half.py:1"),
    ],
)
async def test_a_file_that_cannot_be_imported_says_why_each_time_it_is_asked(
    write, text, says, hint
):
    """It is tried once, and leaves no half module behind."""
    path = write("half.py", text)
    host = CodeHost()
    with host.open():
        for name in ("f", "g"):
            with pytest.raises(CodeError) as caught:
                await host.load(path, name)
            assert says in caught.value.message
            assert hint in caught.value.hint
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    assert str(path.resolve()) not in files


async def test_a_file_that_is_not_there_or_not_python_is_named(tmp_path, write):
    """Each in its own words."""
    host = CodeHost()
    with host.open():
        with pytest.raises(CodeError, match=r"gone\.py does not exist"):
            await host.load(tmp_path / "gone.py", "f")
        with pytest.raises(CodeError, match=r"notes\.txt cannot be imported"):
            await host.load(write("notes.txt", "hello"), "f")
    assert not [n for n in sys.modules if n.endswith("_gone")]


async def test_a_name_that_is_not_there_gets_the_nearest_or_all_there_are(write):
    """What is private, or no function, is not offered."""
    path = write("graders.py", "def get_assert(): ...\ndef _own(): ...\nNUMBER = 3\n")
    empty = write("empty.py", "")
    host = CodeHost()
    with host.open():
        with pytest.raises(CodeError, match=r"has no function 'get_asert'") as caught:
            await host.load(path, "get_asert")
        assert caught.value.hint == "Did you mean 'get_assert'?"
        with pytest.raises(CodeError) as caught:
            await host.load(path, "NUMBER")
        assert caught.value.hint == "It has: get_assert."
        with pytest.raises(CodeError) as caught:
            await host.load(empty, "x.y")
        assert caught.value.hint == "It has: no functions."


async def test_neighbours_of_one_name_in_two_folders_do_not_meet(write):
    """`import rules` finds the file beside the one that imports, in each folder."""
    files = []
    for folder in ("one", "two"):
        write(f"{folder}/rules_beside.py", f"NAME = '{folder}'\n")
        files.append(
            write(
                f"{folder}/prompts.py", "import rules_beside\ndef f(): return rules_beside.NAME\n"
            )
        )
    host = CodeHost()
    with host.open():
        functions = [await host.load(path, "f") for path in files]
        assert [await host.call(f, name="f") for f in functions] == ["one", "two"]
        assert await host.load(files[0], "f") is functions[0]
    sys.modules.pop("rules_beside", None)


async def test_notes_of_what_runs_are_written_by_thread_and_gone_at_the_end(tmp_path, gate, until):
    """While it runs the note names function and trial; an orderly end leaves no file."""
    crumbs = tmp_path / "running"
    host = CodeHost(breadcrumbs=crumbs)
    begun = threading.Event()

    def work():
        begun.set()
        gate.wait(5)

    with host.open():
        current.set(Sink("case 7"))
        task = asyncio.create_task(host.call(work, name="grader.py:get_assert"))
        await until(begun.is_set)
        assert [word.text for word in last_words(crumbs)] == ["grader.py:get_assert  case 7"]
        gate.set()
        await task
        assert last_words(crumbs) == []
    assert not crumbs.exists()
    host.crumbs.write(0, "too late")  # a thread that was left behind may still try


async def test_a_thread_that_comes_back_after_the_end_disturbs_nobody(gate):
    """Its answer is not waited for any more."""
    before = set(threading.enumerate())  # other tests leave such threads behind as well
    host = CodeHost(limit_s=0.02)
    with host.open(), pytest.raises(CodeError):
        await host.call(gate.wait, 30, name="late")
    (thread,) = set(threading.enumerate()) - before
    gate.set()
    thread.join(20)
    await asyncio.sleep(0)
    assert not thread.is_alive()


def test_a_thread_that_outlives_the_loop_disturbs_nobody(gate):
    """There is no loop left to tell."""
    host = CodeHost(limit_s=0.02)

    async def leave():
        with host.open(), pytest.raises(CodeError):
            await host.call(gate.wait, 5, name="late")

    before = set(threading.enumerate())
    asyncio.run(leave())
    (thread,) = set(threading.enumerate()) - before
    gate.set()
    thread.join(1)
    assert not thread.is_alive()


def test_only_user_code_is_kept_and_only_where_there_is_a_sink(capsys):
    """Everything else goes where it always went, errors too."""
    sink = Sink()
    with captured():
        print("ours")
        with user_code():
            print("nobody's")
            assert sys.stdout.isatty() is False
        token = current.set(sink)
        with user_code():
            print("kept")
            print("kept too", file=sys.stderr)
            assert sys.stdout.writable() or True
        print("ours again", file=sys.stderr, flush=True)
        current.reset(token)
        assert sys.stdout.encoding
    assert sink.text() == "kept\nkept too\n"
    out, err = capsys.readouterr()
    assert out == "ours\nnobody's\n"
    assert err == "ours again\n"


def test_the_proxy_answers_for_the_real_stream(capfd):
    """Libraries ask for the descriptor, and whether it is a terminal."""
    real = sys.stdout.fileno()
    with captured():
        assert sys.stdout.fileno() == real
        assert sys.stdout.isatty() is False


async def test_each_place_that_blocks_the_loop_is_named_once(monkeypatch):
    """With what of it is the user's own; a loop that turns is left alone."""
    monkeypatch.setattr(watchdog, "BEAT_S", 0.01)
    said = []
    heard = threading.Event()

    def report(text):
        said.append(text)
        heard.set()

    with watchdog.watching(report, patience_s=0.1):
        await asyncio.sleep(0.05)
        assert said == []
        heard.wait(2)  # blocks the loop, in a library's frame under this one
        await asyncio.sleep(0.03)
    assert len(said) == 1
    assert said[0].startswith("test_code_in_trouble.py:")
    assert "(test_each_place_that_blocks" in said[0]
    assert "held up all other trials for 0." in said[0]
    assert "does not await.\n  Make it a plain function" in said[0]


async def test_slow_lines_of_one_function_are_one_warning(monkeypatch):
    """It names the first; what mends one mends the others."""
    monkeypatch.setattr(watchdog, "BEAT_S", 0.01)
    said = []
    with watchdog.watching(said.append, patience_s=0.05):
        await asyncio.sleep(0.02)
        time.sleep(0.15)  # noqa: ASYNC251 (what the watchdog is for)
        await asyncio.sleep(0.02)
        time.sleep(0.15)  # noqa: ASYNC251 (what the watchdog is for)
        await asyncio.sleep(0.02)
        time.sleep(0.15)  # noqa: ASYNC251 (what the watchdog is for)
    assert len(said) == 1


def test_a_loop_that_stands_still_without_code_of_the_users_is_not_blamed_on_anybody():
    """A busy machine is nobody's mistake; nor is the script that started the run, further out than the loop."""

    def frame(file, line, name, back=None):
        code = SimpleNamespace(co_filename=file, co_name=name)
        return SimpleNamespace(f_code=code, f_lineno=line, f_back=back)

    script = frame("/bin/evenhand", 8, "<module>")
    door = frame(watchdog._DOOR, 9, "settle", script)
    below = frame("/usr/lib/python3/selectors.py", 9, "select", door)
    mine = frame("/evals/my_eval.py", 41, "answer", below)
    assert watchdog._place(frame("/x/site-packages/lib.py", 2, "f", below)) == ("", "")
    assert (
        watchdog._place(frame("/x/site-packages/lib.py", 2, "f", mine))[0]
        == "my_eval.py:41 (answer)"
    )
    assert watchdog._place(None) == ("", "")
    importing = frame("<frozen importlib._bootstrap>", 1, "_find_and_load", mine)
    assert watchdog._place(frame("/x/site-packages/lib.py", 2, "<module>", importing)) == ("", "")
