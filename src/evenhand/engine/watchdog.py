"""Names the code that blocks the event loop, and breaks into what does so for longer than it may.

How this works: the loop notes the time twice a second; a thread looks at the note. When it is more than a second old,
the thread reads the stack of the loop's thread and reports the innermost frame of the user's own code, once for each
function. Where there is none, nothing is said: the machine is busy, and there is nothing that the user could do. Nor is
anything said of an import, which happens once.

What takes longer than the time limit is broken into. A signal interrupts what the main thread does, a loop in Python, a
lock, a read, and some loops in C. Its handler raises in the user's code if the function under way has had its time, and
else does nothing: it may come again. It never raises in our own code, which might leave something half done. Where that
doesn't help, the guardian is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from evenhand.core.users_code import is_out
from evenhand.engine.guardian import beat, is_guarded, is_held, may_be_held
from evenhand.engine.holding import BREAK, DUMP
from evenhand.engine.time_limit import GRACE_S, clock, is_time_up

BEAT_S = 0.25
PATIENCE_S = 1.0
_HERE = str(Path(__file__).parents[1])
_DOOR = str(Path(__file__).with_name("door.py"))


@contextlib.contextmanager
def watching(
    report: Callable[[str], None], patience_s: float = PATIENCE_S, limit_s: float = math.inf
) -> Iterator[None]:
    """Inside, whatever keeps the running loop from turning is reported.

    Args:
        report: Called from another thread, with e.g. `my_eval.py:41 (answer) held up all other trials for 2.3 s: …`.
        patience_s: How long the loop may stand still.
        limit_s: After that, what keeps it is broken into.
    """
    loop = asyncio.get_running_loop()
    beaten = [clock()]
    stop = threading.Event()
    handle: list[asyncio.TimerHandle] = []

    def turn() -> None:
        beaten[0] = clock()
        handle[:] = [loop.call_later(BEAT_S, turn)]

    turn()
    watcher = threading.Thread(
        target=_watch,
        args=(threading.get_ident(), beaten, stop, report, patience_s, limit_s),
        name="evenhand-watchdog",
        daemon=True,
    )
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        handle[0].cancel()


def _watch(
    ident: int,
    beaten: list[float],
    stop: threading.Event,
    report: Callable[[str], None],
    patience_s: float,
    limit_s: float,
) -> None:
    known: set[str] = set()
    while not stop.wait(BEAT_S):
        late = clock() - beaten[0]
        beat()
        if late < patience_s + BEAT_S:
            continue
        place, function = _place(sys._current_frames().get(ident))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] (documented)
        if place and function not in known:
            known.add(function)
            report(
                f"{place} held up all other trials for {late:.1f} s: it is async and does not await.\n"
                "  Make it a plain function, or run what takes so long in asyncio.to_thread(…)."
            )
        if place and late > limit_s:
            break_into(ident)
        if place and late > limit_s + GRACE_S:
            is_held()


def _place(frame: FrameType | None) -> tuple[str, str]:
    """The line and the function of the user's innermost frame.

    Both are empty where the loop stands still for another reason, such as a busy machine or an import.
    """
    while frame is not None:
        name = frame.f_code.co_filename
        # What is further out than the door started the loop, and waits for it.
        if name == _DOOR or name.startswith("<frozen importlib"):
            return "", ""
        library = (
            name.startswith((_HERE, "<frozen", "<string>"))  # the last: classes that libraries make
            or "site-packages" in name
            or "/lib/python" in name
        )
        if not library:
            function = frame.f_code.co_name
            return f"{Path(name).name}:{frame.f_lineno} ({function})", f"{name} {function}"
        frame = frame.f_back
    return "", ""


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
    before = signal.signal(BREAK, _raise)
    try:
        if crumbs is None or not is_guarded():
            yield
            return
        with crumbs.with_suffix(".stack").open("w") as file:
            faulthandler.register(DUMP, file, all_threads=True)
            try:
                with may_be_held(limit_s):
                    yield
            finally:
                faulthandler.unregister(DUMP)
    finally:
        signal.signal(BREAK, before)


def break_into(thread: int) -> None:
    """Ends what a function of the user's does in the thread of the loop, if its time is up."""
    if thread == threading.main_thread().ident and signal.getsignal(BREAK) is _raise:
        signal.pthread_kill(thread, BREAK)


def _raise(number: int, frame: FrameType | None) -> None:
    del number
    if is_time_up() and not is_out(frame):
        raise TimeUp
