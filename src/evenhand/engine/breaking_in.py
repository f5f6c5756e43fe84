"""Breaks into code of the user's that keeps the event loop from turning for longer than it may.

How this works: a signal interrupts what the main thread does, a loop in Python, a lock, a read, and some loops in C.
Its handler raises in the user's code if the function under way has had its time, and else does nothing: it may come
again. It never raises in our own code, which might leave something half done.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from evenhand.engine.guardian import is_guarded, may_be_held
from evenhand.engine.holding import break_signal, dump_signal
from evenhand.engine.place import is_out
from evenhand.engine.time_limit import is_time_up


class TimeUp(BaseException):
    """Raised in code that does not let the loop turn. Not an Exception: the code may catch those, and go on."""


@contextlib.contextmanager
def can_be_broken_into(limit_s: float, crumbs: Path | None) -> Iterator[None]:
    """Inside, `break_into` works, and the guardian looks whether anything turns. Does nothing outside the main thread.

    Args:
        limit_s: Seconds that a call of the user's code may take.
        crumbs: The breadcrumbs of the run; None for none.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGRTMIN"):
        yield
        return
    before = signal.signal(break_signal(), _raise)
    try:
        if crumbs is None or not is_guarded():
            yield
            return
        with crumbs.with_suffix(".stack").open("w") as file:
            faulthandler.register(dump_signal(), file, all_threads=True)
            try:
                with may_be_held(limit_s):
                    yield
            finally:
                faulthandler.unregister(dump_signal())
    finally:
        signal.signal(break_signal(), before)


def break_into(thread: int) -> None:
    """Ends what a function of the user's does in the thread of the loop, if its time is up."""
    if thread == threading.main_thread().ident and signal.getsignal(break_signal()) is _raise:
        signal.pthread_kill(thread, break_signal())


def _raise(number: int, frame: FrameType | None) -> None:
    del number
    if is_time_up() and not is_out(frame):
        raise TimeUp
