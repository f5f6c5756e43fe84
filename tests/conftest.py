"""What holds for every test: this machine's network alone, no developer's environment, the same examples every time."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings
from tests import warm
from tests.runs import make_run, summaries_run

__all__ = ["make_run", "summaries_run"]

settings.register_profile(
    "evenhand", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("evenhand")

HERE = frozenset({"localhost", "", None})


def _only_here(event: str, details: tuple[object, ...]) -> None:
    """Refuses to connect to, or look up, any other machine.

    An audit hook: it sees every socket of Python's, but not uvloop's own.
    """
    if event == "socket.connect":
        address = details[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = details[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host in HERE:
        return
    try:
        near = ip_address(str(host)).is_loopback
    except ValueError:
        near = str(host).endswith(".invalid")  # a name that never resolves
    if not near:
        raise AssertionError(f"a test wants to reach {host}: tests talk to this machine only")


def _undo_nohup() -> None:
    """Starts what tests start with the usual signals, also where pytest itself runs in the background.

    A process inherits what is ignored, and not what is handled: so pytest goes on without heeding them.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


MEMORY = Path("/dev/shm")
ENOUGH = 2 << 30
"""Bytes that the temporary files of all tests fit into, with those of Ray and of browsers."""


def _keep_temporary_files_in_memory() -> None:
    """Spares tests the wait for a disk: each of thousands of runs asks for it a dozen times.

    Where there is little memory for files, or programs may not be started there, they stay where they are.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return
    state = os.statvfs(MEMORY)
    if state.f_bavail * state.f_frsize >= ENOUGH and not state.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # Python has looked for it once


def pytest_configure(config: pytest.Config) -> None:
    """Guards the network, starts commands warm, and forgets the developer's keys, addresses and folders."""
    _keep_temporary_files_in_memory()
    # Pytest compiles each module of a package with a plugin in a way of its own, for the sake of its asserts.
    config.pluginmanager.rewrite_hook._must_rewrite.discard("evenhand")
    config.pluginmanager.rewrite_hook._marked_for_rewrite_cache.clear()
    sys.addaudithook(_only_here)
    _undo_nohup()
    warm.install()
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "EVENHAND_", "PROMPTFOO_")):
            del os.environ[name]


@pytest.fixture
def home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the runs of sets that the test's own file defines in its folder, and not beside that file."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / ".evenhand"))


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a unit test that leaves runs beside its file."""
    folder = request.path.parent / ".evenhand"
    before = "unit" not in request.path.parts or folder.exists()
    yield
    assert before or not folder.exists(), (
        f"{folder} was made: run(…, home=tmp_path), or use the fixture home_of_its_own"
    )


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts commands cold, for a test of what happens while they start."""
    monkeypatch.setattr("subprocess.Popen._execute_child", warm.execute_cold)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """With `-n auto`, twice as many workers as cores; with `-n logical`, as many.

    About half of the time, a test with a process, a disk or a server waits. A unit test hardly does, and each worker
    imports all of them first, which takes some 20 seconds of a core in a fresh checkout.
    """
    cores = os.cpu_count() or 1
    return cores if config.option.numprocesses == "logical" else 2 * cores


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Looks for no garbage while tests are imported, nor among what they make: nearly all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Forgets what a test's evals imported, and the folders in which they looked for it.

    Each later run in this process would go through all of them.
    """
    path, modules = sys.path.copy(), sys.modules.keys() | set()
    try:
        return (yield)
    finally:
        sys.path[:] = path
        temporary = f"{tempfile.gettempdir()}{os.sep}"
        for name in sys.modules.keys() - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if isinstance(file, str) and file.startswith(temporary):
                del sys.modules[name]


test_files: dict[str, ModuleType] = {}
"""The modules of all tests, by their names."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Takes the modules of tests out of those that are imported: each counts as a user's own code.

    So every run would read and digest hundreds of files that have nothing to do with it.
    """
    for item in session.items:
        if isinstance(item, pytest.Function):
            name = item.module.__name__
            test_files[name] = item.module
            sys.modules.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Has a test's own module imported while the test runs."""
    name = item.module.__name__ if isinstance(item, pytest.Function) else ""
    if name in test_files:
        sys.modules[name] = test_files[name]
    try:
        return (yield)
    finally:
        sys.modules.pop(name, None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says which tests are thorough, and puts files that allow themselves more time first.

    No core waits then for the last one of them at the end.
    """
    _keep_the_first(items)
    longest: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        longest[item.path] = max(longest.get(item.path, 0), mark.args[0] if mark else 0)
    items.sort(key=lambda item: -longest[item.path])


def _keep_the_first(items: list[pytest.Item]) -> None:
    """Leaves the mark of `thorough(after=n)` to the cases after the first n of its test."""
    counts: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("thorough")
        if mark is None or "after" not in mark.kwargs:
            continue
        test = item.nodeid.partition("[")[0]
        counts[test] += 1
        if counts[test] <= mark.kwargs["after"]:
            item.own_markers[:] = [m for m in item.own_markers if m.name != "thorough"]
