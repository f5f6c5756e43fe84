"""Tests in several processes, which fork once all tests are imported: `--forks 3` starts three for each core.

Workers of pytest-xdist each import all tests first, which takes some 15 seconds of a core, and 25 in a fresh checkout.
These share what the first process has imported. Each takes the next file of tests as soon as it is done with one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import selectors
import signal
import socket
import struct
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from tempfile import TemporaryFile
from typing import Any, NoReturn

import pytest
from _pytest.capture import FDCapture

SIZE = struct.Struct("!Q")
Tests = deque[list[pytest.Item]]


def send(there: socket.socket, message: object) -> None:
    """Sends a message, after its size."""
    packed = pickle.dumps(message)
    there.sendall(SIZE.pack(len(packed)) + packed)


def receive(there: socket.socket) -> Any:
    """The next message; EOFError once the other process is gone."""

    def whole(size: int) -> bytes:
        read = b""
        while len(read) < size:
            part = there.recv(size - len(read))
            if not part:
                raise EOFError
            read += part
        return read

    try:
        return pickle.loads(whole(SIZE.unpack(whole(SIZE.size))[0]))
    except ConnectionError:
        raise EOFError from None


@dataclass
class Fork:
    """A process that runs tests, as the first process sees it: what it was given, and the test that it is at."""

    pid: int
    there: socket.socket
    left: deque[pytest.Item] = field(default_factory=deque[pytest.Item])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--forks`."""
    parser.addoption(
        "--forks", type=int, default=0, help="run tests in so many processes for each core"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs the tests in forks, where there are to be any."""
    option = session.config.option
    if not option.forks or option.collectonly or session.testsfailed:
        return None
    files = groupby(session.items, lambda item: item.path)
    waiting: Tests = deque(list(items) for _, items in files)
    session.config._tmp_path_factory.getbasetemp()  # pyright: ignore (one for all of them)
    gc.freeze()  # what all share stays where it is
    forks: dict[int, Fork] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for number in range(min(option.forks * (os.cpu_count() or 1), len(waiting))):
                begin(session, number, forks, selector)
            while forks:
                for key, _ in selector.select():
                    listen(session, key.data, waiting, forks, selector)
        finally:
            gc.unfreeze()
            for pid in forks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    if waiting and not session.shouldfail:
        session.shouldfail = f"no process is left to run {waiting[0][0].path.name}"
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    return True


def begin(
    session: pytest.Session, number: int, forks: dict[int, Fork], selector: selectors.BaseSelector
) -> None:
    """Starts one more process."""
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        here.close()
        for fork in forks.values():
            fork.there.close()
        run(session, number, there)
    there.close()
    forks[pid] = Fork(pid, here)
    selector.register(here, selectors.EVENT_READ, (number, forks[pid]))


def listen(
    session: pytest.Session,
    place: tuple[int, Fork],
    waiting: Tests,
    forks: dict[int, Fork],
    selector: selectors.BaseSelector,
) -> None:
    """Answers a process that wants more tests, hands on what it reports, and replaces it where it has died."""
    number, fork = place
    hook = session.config.hook
    try:
        kind, message = receive(fork.there)
    except EOFError:
        selector.unregister(fork.there)
        fork.there.close()
        del forks[fork.pid]
        _, status = os.waitpid(fork.pid, 0)
        if fork.left and not session.shouldfail:
            died = fork.left.popleft()
            why = f"the process of this test has ended with {os.waitstatus_to_exitcode(status)}"
            report = pytest.TestReport(died.nodeid, died.location, {}, "failed", why, "call")
            hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=died.nodeid, location=died.location)
            if fork.left:
                waiting.appendleft(list(fork.left))
            if waiting:
                begin(session, number, forks, selector)
        return
    if kind == "more":
        over = session.shouldstop or session.shouldfail or not waiting
        tests = [] if over else waiting.popleft()
        fork.left.extend(tests)
        send(fork.there, [session.items.index(item) for item in tests])
    elif kind == "report":
        report = hook.pytest_report_from_serializable(config=session.config, data=message)
        hook.pytest_runtest_logreport(report=report)
    else:
        item = fork.left.popleft()
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


class Reports:
    """Hands on what is reported of tests in a fork."""

    def __init__(self, config: pytest.Config, there: socket.socket) -> None:
        self.config, self.there = config, there

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One report."""
        to_data = self.config.hook.pytest_report_to_serializable
        send(self.there, ("report", to_data(config=self.config, report=report)))


def given(session: pytest.Session, there: socket.socket) -> Iterator[pytest.Item]:
    """The tests that a fork is given; the next file is asked for before the last test of one is run."""
    while True:
        send(there, ("more", None))
        numbers = receive(there)
        if not numbers:
            return
        yield from (session.items[number] for number in numbers)


def capture_apart(config: pytest.Config) -> None:
    """Captures what is written into files of this process's own, by the same streams: modules may have kept those."""
    capture = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for stream in (capture.out, capture.err):
        if isinstance(stream, FDCapture):
            with TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno(), inheritable=False)


def run(session: pytest.Session, number: int, there: socket.socket) -> NoReturn:
    """What a fork does: runs the tests that it is given, and reports."""
    code = 1
    try:
        config = session.config
        capture_apart(config)
        terminal = config.pluginmanager.getplugin("terminalreporter")
        terminal._tw._file = io.StringIO()
        factory = config._tmp_path_factory  # pyright: ignore (as pytest-xdist does)
        factory._basetemp = factory.getbasetemp() / f"fork{number}-{os.getpid()}"
        factory._basetemp.mkdir(mode=0o700)
        config.pluginmanager.register(Reports(config, there))
        tests = given(session, there)
        item = next(tests, None)
        while item is not None:
            following = next(tests, None)
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            send(there, ("end", None))
            item = None if session.shouldfail or session.shouldstop else following
        code = 0
    except (EOFError, ConnectionError):  # the first process is gone
        pass
    except BaseException:  # noqa: BLE001 (whatever it is, it is told)
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)
