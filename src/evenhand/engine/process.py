"""The process that a run lives in: user code does not end it, and what it forks does not hold on to what is the run's.

How this works: while a run is under way, `os._exit` and `os.exec*` are ours. In the run's own process they are an error
of the trial whose code calls them, like `sys.exit`; where no trial is known (a thread of a library's, a file that is
being imported) the process does end, but says so, and never with 0. In a process that was forked they are Python's own:
`multiprocessing` ends its children with them. What ends the process without Python is the `guardian`'s business.

A forked child is a copy with all files open. It gives up those of the run: the lock, or else it would hold it as long
as it lives; the store's files; and where results are printed to, or else whoever reads them would wait for it. A file
is given up by opening /dev/null in its place, so that its number is not taken for another file. A child that returns
from the user's function would go on with the run: it ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import posix
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from evenhand.core.errors import CodeError
from evenhand.core.users_code import users_line
from evenhand.engine.breadcrumbs import Breadcrumbs
from evenhand.engine.guardian import NO_VERDICT, note_breadcrumbs, note_end
from evenhand.engine.trial import present

python_exit = os._exit

_ENDS = ("_exit", "execv", "execve")
"""The functions of `os` that end a process; the other `exec*` call these."""


class _Process:
    """What is known of the run's own process; the same object, changed, in a child."""

    users: int = 0
    """How many are inside `own_process`."""
    pid: int = 0
    child: bool = False
    crumbs: Breadcrumbs | None = None
    loop: asyncio.AbstractEventLoop | None = None
    loop_thread: int = 0


_process = _Process()
_given_up: set[int] = set()
_files: list[Path] = []


@contextlib.contextmanager
def own_process() -> Iterator[None]:
    """Inside, user code cannot end this process unseen, and what it forks gives up what is the run's."""
    _once()
    _process.users += 1
    _process.pid = os.getpid()
    for name, (_, ours) in _ends().items():
        setattr(os, name, ours)
        setattr(posix, name, ours)
    try:
        yield
    finally:
        _process.users -= 1
        if not _process.users:
            for name, (pythons, _) in _ends().items():
                setattr(os, name, pythons)
                setattr(posix, name, pythons)


@contextlib.contextmanager
def run_in_process(crumbs: Breadcrumbs | None, files: Iterable[Path]) -> Iterator[None]:
    """Guards a run on the running loop as `own_process` does, and notes how the process ended.

    Args:
        crumbs: Where to note how the process ended.
        files: The run's own, and those beside them whose names begin like theirs.
    """
    before = (_process.crumbs, _process.loop, _process.loop_thread, list(_files))
    path_before = note_breadcrumbs(str(crumbs.path) if crumbs is not None else "")
    _process.crumbs, _process.loop = crumbs, asyncio.get_running_loop()
    _process.loop_thread = threading.get_ident()
    _files.extend(files)
    try:
        with own_process():
            yield
    finally:
        _process.crumbs, _process.loop, _process.loop_thread, _files[:] = before
        note_breadcrumbs(path_before)


@contextlib.contextmanager
def not_for_children(*numbers: int) -> Iterator[None]:
    """Inside, a forked child does not keep these file numbers."""
    _given_up.update(numbers)
    try:
        yield
    finally:
        _given_up.difference_update(numbers)


def end_if_forked(name: str) -> None:
    """Ends a child that comes back from a function of the user's: the run goes on in the process that forked it."""
    if _process.child:
        _say(
            f"{name} forked a process that returned from it; it was ended, and the run continues without it"
        )
        python_exit(1)


@functools.cache
def _ends() -> dict[str, tuple[Callable[..., object], Callable[..., NoReturn]]]:
    """What ends a process: Python's own functions, and ours in their place."""
    return {name: (getattr(os, name), _end_of(name, getattr(os, name))) for name in _ENDS}


def _end_of(name: str, pythons: Callable[..., object]) -> Callable[..., NoReturn]:
    @functools.wraps(pythons)
    def end(*args: object, **named: object) -> NoReturn:
        if os.getpid() != _process.pid:
            pythons(*args, **named)
        first = next(iter((*args, *named.values())), "")
        call, place, trial = f"os.{name}({first!r})", users_line(), present.get()
        if trial is not None:
            trial.blame(CodeError(f"it called {call}", hint=place))
            raise SystemExit(first if isinstance(first, int) else NO_VERDICT)
        what = f"{place or 'a library'} called {call}"
        if _process.crumbs is not None:
            _process.crumbs.note_end(what)
        if not note_end(what):
            _say(f"ended without a verdict: {what}")
        python_exit(NO_VERDICT)

    return end


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"evenhand: {line}\n".encode("utf-8", "replace"))


@functools.cache
def _once() -> None:
    os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    if not _process.users or os.getpid() == _process.pid:
        return
    _process.child = True
    # A signal to the child would wake the loop of the run, which would take it for its own.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in {*_numbers_of(_files), *_given_up}:
        with contextlib.suppress(OSError):
            os.dup2(nowhere, number, inheritable=False)
    os.close(nowhere)
    if _process.loop is not None and threading.get_ident() == _process.loop_thread:
        # An async function forked: as soon as it waits for something, the child would go on with the run.
        _process.loop.call_soon(python_exit, 1)


def _numbers_of(files: Iterable[Path]) -> Iterator[int]:
    """The numbers under which these files are open, and those beside them whose names begin like theirs."""
    known: set[tuple[int, int]] = set()
    for file in files:
        for path in file.parent.glob(f"{file.name}*"):
            with contextlib.suppress(OSError):
                about = path.stat()
                known.add((about.st_dev, about.st_ino))
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 (numbers, and no files)
        with contextlib.suppress(OSError, ValueError):
            number = int(name)
            about = os.fstat(number)
            if number > 2 and (about.st_dev, about.st_ino) in known:
                yield number
