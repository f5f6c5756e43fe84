"""A debugger in the user's code has the terminal to itself, and time stands still while it is open.

How this works: Python's pdb, and whatever is made of it (ipdb), opens through `pdb.Pdb`, whose methods are ours while
user code may run. It is open from its first prompt until it goes on to the next breakpoint, is quit, or the call of the
user's code is over: nobody steps through Evenhand. Meanwhile what the call prints is shown, no progress is, and the
`clock` by which time limits go stands still. From the first prompt on, a run begins no trial before all others are
over; those that have reached a breakpoint wait for their turn. Without a terminal, to open one is an error.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.users_code import is_out, users_line
from evenhand.engine.capture import (
    call_under_way,
    current,
    debugged,
    outside_of_user_code,
    when_call_ends,
)
from evenhand.engine.tasks import is_loop_here
from evenhand.engine.time_limit import go_on, stands_still, stop
from evenhand.engine.trial import present

SKIPPED = frozenset({"asyncio", "asyncio.*", "concurrent.*", "threading"})
"""Modules that are never stepped into."""


class _State:
    """Who is debugging, if anybody; one for the process, as there is one terminal."""

    users: int = 0
    """How many are inside `debuggable`."""
    thread: int = 0
    """The thread that is at the prompt; 0 for none."""
    one_by_one: bool = False
    make_way: Callable[[], None] | None = None


_state = _State()
_turn = threading.Condition()


def one_by_one() -> bool:
    """Whether one trial is run at a time, as somebody has begun to debug."""
    return _state.one_by_one


def begin_one_by_one() -> None:
    """Has one trial run at a time, for as long as user code is `debuggable`."""
    _state.one_by_one = True


@contextlib.contextmanager
def giving_way(make_way: Callable[[], None] | None) -> Iterator[None]:
    """Inside, this is called before a debugger prints."""
    before, _state.make_way = _state.make_way, make_way
    try:
        yield
    finally:
        _state.make_way = before


@contextlib.contextmanager
def debuggable() -> Iterator[None]:
    """Inside, user code may open a debugger."""
    if not _state.users:
        _state.one_by_one = False
        if "pdb" in sys.modules:
            _adapt(sys.modules["pdb"])
        else:
            sys.meta_path.insert(0, _FINDER)
    _state.users += 1
    restore = _terminal_settings()
    try:
        yield
    finally:
        _state.users -= 1
        if not _state.users:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(_FINDER)
            if (
                stands_still()
            ):  # its thread is left behind, and with it what readline made of the terminal
                restore()


class _Finder:
    """Has pdb adapted when it is imported: most runs never do."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "pdb":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            run = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                _adapt(module)

            loader.exec_module = exec_module
        return spec


_FINDER = _Finder()


def _adapt(pdb: ModuleType) -> None:
    """Has its debugger give the terminal back and forth; outside of runs, it stays as it is."""
    kind: Any = pdb.Pdb
    make, interact = kind.__init__, kind.interaction
    if hasattr(make, "__wrapped__"):
        return

    @functools.wraps(make)
    def begin(self: Any, *args: Any, **named: Any) -> None:
        own = len(args) > 1 or named.get("stdin") or named.get("stdout")
        if not _state.users or own:  # one that talks over a socket, say, needs no terminal
            make(self, *args, **named)
            return
        _look_for_terminal()
        with outside_of_user_code():
            make(self, *args, **named)
        self.stdout = sys.__stdout__
        self.skip = {*(self.skip or ()), *SKIPPED}

    @functools.wraps(interact)
    def interaction(self: Any, *args: Any, **named: Any) -> None:
        if not _state.users:
            interact(self, *args, **named)
            return
        with _at_prompt(self):
            interact(self, *args, **named)

    kind.__init__, kind.interaction = begin, interaction
    kind.stop_here = _unless_out(kind.stop_here)
    kind.user_exception = _unless_out(kind.user_exception)


def _unless_out(method: Callable[..., Any]) -> Callable[..., Any]:
    """Has a debugger look only at what happens in the user's code, and in what that calls."""

    @functools.wraps(method)
    def within(self: Any, frame: FrameType, *args: Any) -> Any:
        return False if _state.users and is_out(frame) else method(self, frame, *args)

    return within


def _look_for_terminal() -> None:
    """Refuses a debugger that nobody could talk to."""
    if os.isatty(0) and os.isatty(1) and sys.__stdin__ is not None and sys.__stdout__ is not None:
        return
    place = users_line()
    error = CodeError(
        "it opened a debugger, and there is no terminal",
        hint=f"Run it on a terminal, without --workers: evenhand run -j 1. {place}".strip(),
    )
    trial = present.get()
    if trial is not None:
        trial.halt(error)  # whatever its code makes of what is raised here
    raise error


@contextlib.contextmanager
def _at_prompt(debugger: Any) -> Iterator[None]:
    """Inside, a debugger waits for commands."""
    if _state.thread == threading.get_ident():  # one that was opened at the prompt of another
        yield
        return
    call = call_under_way()
    begins = _take_turn(call)
    try:
        with _interruptible(), outside_of_user_code():
            if _state.make_way is not None:
                _state.make_way()
            sink = current.get()
            if begins and sink is not None:
                debugger.message(f"evenhand: case {sink.label} · c continues, q ends the trial")
            yield
    finally:
        # bdb has these when it goes on to the next breakpoint, or to no other.
        _leave_prompt(call, over=debugger.quitting or debugger.stoplineno == -1)
    if begins and call in debugged:
        when_call_ends(call, functools.partial(_leave_call, debugger, call))


def _take_turn(call: object) -> bool:
    """Waits until nobody else is debugging. Whether this call begins to."""
    # A call on the loop waits for no other, which may need the loop to go on, but while that is at the prompt.
    waits = not is_loop_here()
    with _turn:
        while _state.thread or (waits and debugged - {call}):
            _turn.wait()
        begins = call is not None and call not in debugged
        if begins:
            debugged.add(call)
        _state.thread, _state.one_by_one = threading.get_ident(), True
        stop()
        return begins


def _leave_prompt(call: object, *, over: bool) -> None:
    with _turn:
        _state.thread = 0
        if over:
            debugged.discard(call)
        if not debugged:
            go_on()
        _turn.notify_all()


def _leave_call(debugger: Any, call: object) -> None:
    """Ends the debugging of a call that is over, in its own thread."""
    if getattr(sys.gettrace(), "__self__", None) is debugger:
        debugger.set_continue()
        sys.settrace(None)
    with _turn:
        debugged.discard(call)
        if not debugged and not _state.thread:
            go_on()
        _turn.notify_all()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Inside, Ctrl-C is the debugger's, where it is in the main thread: it gets a KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGINT, before)


def _terminal_settings() -> Callable[[], None]:
    """What makes the terminal again what it is now."""
    import termios  # noqa: PLC0415 (not where nothing is run)

    try:
        settings = termios.tcgetattr(0)
    except termios.error:  # it is none
        return lambda: None

    def restore() -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, settings)

    return restore
