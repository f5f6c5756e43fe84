"""What a trial's code starts beside itself: threads and pools, which go on for it, and coroutines it never awaits.

How this works: Python hands a context on to tasks and to `asyncio.to_thread`, and to no other thread. While a run is
under way, `Thread.start` and `ThreadPoolExecutor.submit` hand it on as well. What is submitted to a pool is always
its submitter's, whoever made the pool. A thread may outlive the trial that started it, and work for others by then: so
what it does after that trial is nobody's (see `lent`). What a thread that is left running expects must not vanish.

Python calls `warnings._warn_unawaited_coroutine` for each coroutine that goes without ever having been run. While a run
is under way that function is ours: a coroutine that the user's code made is a problem of its trial, as whatever it
would have expected was never expected. The trial is the one whose `expect` the coroutine holds; else the one for which
code is running, as a coroutine goes when the function that made it ends. Python can tell where it was made
(`cr_origin`), once the user's code has begun to run (see `python_names.users_call`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import linecache
import os
import sys
import threading
import time
import warnings
from asyncio import sleep
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import thread as _pool
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import CoroutineType, FunctionType, MethodType
from typing import Any, TypeVar, cast

from evenhand.core.errors import CodeError
from evenhand.core.expect import Recorder
from evenhand.core.record import MutableRecord
from evenhand.core.users_code import is_users
from evenhand.engine.time_limit import GRACE_S
from evenhand.engine.trial import LiveTrial, present

DEPTH = 3
LOOKED_AT = 200
"""Objects that are looked at in search of a trial's `expect`: data may hold millions."""

_WARN = "_warn_unawaited_coroutine"
T = TypeVar("T")


class Loan(MutableRecord):
    """A thread that a trial has started. It may be at work for others once that trial is over.

    Attributes:
        used: It has asked models for the trial.
    """

    trial: LiveTrial
    thread: threading.Thread | None = None
    used: bool = False


lent: ContextVar[Loan | None] = ContextVar("evenhand_lent", default=None)
"""The thread that code runs in, where its trial has started it."""

_lock = threading.Lock()
_runs = 0
_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit


def trial_here() -> LiveTrial | None:
    """The trial for which code is running, also in a thread that it has started; None for none."""
    trial, loan = present.get(), lent.get()
    return loan.trial if trial is None and loan is not None else trial


def is_elsewhere(trial: LiveTrial) -> bool:
    """Whether code is no longer at work for its context's trial: its thread outlived that, or its process was forked.

    What the thread asked before may have been others' as well, so the trial has no verdict then.
    """
    if trial.home is not None and trial.home.process != os.getpid():
        return True
    loan = lent.get()
    if loan is None:
        return False
    if not trial.over:
        loan.used = True
        return False
    if loan.used:
        trial.blame(
            CodeError(
                "a thread that it started goes on asking models for others: which of its calls were the trial's is "
                "not known",
                hint="Start the thread before the run, and hand it the context of whoever asks.",
            )
        )
        loan.used = False
    return True


@contextlib.contextmanager
def trials_carried() -> Iterator[None]:
    """Inside, threads and pools go on for the trial that starts them."""
    global _runs  # noqa: PLW0603 (several runs may be under way, and end in any order)
    with _lock:
        _runs += 1
        if _runs == 1:
            threading.Thread.start = _start_for_trial
            ThreadPoolExecutor.submit = _submit_for_trial
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs and threading.Thread.start is _start_for_trial:
                threading.Thread.start = _start
            if not _runs and ThreadPoolExecutor.submit is _submit_for_trial:
                ThreadPoolExecutor.submit = _submit


def _start_for_trial(self: threading.Thread) -> None:
    # A pool's own threads are handed each job with its context, and the run's belong to no trial.
    ours = self.name.startswith("evenhand-")
    of_pool = getattr(self, "_target", None) is getattr(_pool, "_worker", None)
    trial = trial_here()
    if trial is not None and not (ours or of_pool):
        context = copy_context()
        context.run(present.set, None)  # it is none of the run's tasks
        context.run(lent.set, Loan(trial, self))
        self.run = functools.partial(context.run, self.run)
    _start(self)


def _submit_for_trial(
    self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any
) -> Future[T]:
    if trial_here() is None:
        return _submit(self, fn, *args, **kwargs)
    return _submit(self, copy_context().run, fn, *args, **kwargs)


@contextlib.contextmanager
def strays_told(*, warn: bool = False) -> Iterator[None]:
    """Inside, coroutines of the user's that are never awaited are problems of their trials.

    Args:
        warn: Have Python warn of them as well; all that runs inside is the user's code.
    """
    python = cast(
        "Callable[[CoroutineType[Any, Any, Any]], None] | None", getattr(warnings, _WARN, None)
    )
    if python is None:  # an interpreter with other internals: it warns, and that is all
        yield
        return
    # The phase that came last is the last key. Both callbacks are C: in one of ours, Ctrl-C would raise, which Python
    # could only print ("Exception ignored in …") and lose.
    phases: dict[str, object] = {}
    collect = (phases.pop, phases.__setitem__)

    def told(coro: CoroutineType[Any, Any, Any]) -> None:
        place = _made_at(coro)
        collecting = next(reversed(phases), "stop") == "start"
        trial = _holder(coro) or (None if collecting else present.get())
        if trial is None or not place:
            python(coro)
            return
        trial.blame(_unawaited(coro, place))
        if warn:
            python(coro)

    depth = sys.get_coroutine_origin_tracking_depth()
    if warn:
        sys.set_coroutine_origin_tracking_depth(max(depth, 1))
    setattr(warnings, _WARN, told)
    gc.callbacks.extend(collect)
    try:
        yield
    finally:
        for callback in collect:
            with contextlib.suppress(ValueError):  # user code has emptied it
                gc.callbacks.remove(callback)
        setattr(warnings, _WARN, python)
        sys.set_coroutine_origin_tracking_depth(depth)


def tell_of_the_unawaited() -> None:
    """Finds the coroutines that were never run and are still held by something, if only by each other.

    Called at the end of a run.
    """
    for thing in gc.get_objects():
        if type(thing) is not CoroutineType:
            continue
        coro = cast("CoroutineType[Any, Any, Any]", thing)
        if inspect.getcoroutinestate(coro) != inspect.CORO_CREATED:
            continue
        trial, place = _holder(coro), _made_at(coro)
        if trial is not None and place:
            trial.blame(_unawaited(coro, place))
            coro.close()


async def threads_over(known: Collection[threading.Thread]) -> None:
    """Waits GRACE_S at most for threads that user code left running and that can still expect something.

    Called at the end of a run. That one goes on then is a problem of its trial.

    Args:
        known: Those that were there before, and are none of its trials'.
    """
    end = time.monotonic() + GRACE_S
    waited: dict[int, tuple[threading.Thread, LiveTrial]] = {}
    for thread in threading.enumerate():
        ours = thread in known or thread.name.startswith("evenhand-")
        trial = None if ours else _thread_of(thread)
        if trial is not None and trial.over:
            waited[id(thread)] = thread, trial
    for thread, trial in waited.values():
        # Nothing tells when a thread of others ends.
        while thread.is_alive() and time.monotonic() < end:  # noqa: ASYNC110 (see above)
            await sleep(0.01)
        if thread.is_alive():
            trial.blame(
                CodeError(
                    f"the thread {thread.name} was still running when the run ended: what it expects is not known",
                    hint="Join it before the function returns.",
                )
            )


def _thread_of(thread: threading.Thread) -> LiveTrial | None:
    """The trial whose `expect` is within reach of what a thread is running."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] (documented)
    while frame is not None:
        trial = _within(frame.f_locals.values())
        if trial is not None:
            return trial
        frame = frame.f_back
    return None


def holds(thing: object, trial: LiveTrial) -> bool:
    """Whether what a coroutine was given leads to the trial's `expect`."""
    return _holder(thing) is trial


def _holder(coro: object) -> LiveTrial | None:
    """The trial whose `expect` this coroutine was given, in an argument or in a variable of where it stands."""
    frame = getattr(coro, "cr_frame", None)
    return None if frame is None else _within(frame.f_locals.values())


def _within(values: Iterable[object]) -> LiveTrial | None:
    """The trial of the first `expect` that these values lead to."""
    waiting: list[tuple[object, int]] = [(value, 0) for value in values]
    for looked_at, (value, depth) in enumerate(waiting):
        if isinstance(value, (Recorder, LiveTrial)):
            trial = value.trial if isinstance(value, Recorder) else value
            return trial if isinstance(trial, LiveTrial) else None
        if looked_at >= LOOKED_AT:
            break
        if depth < DEPTH:
            waiting += [(inner, depth + 1) for inner in _inside(value)]
    return None


def _inside(value: object) -> list[object]:
    """What can be reached through a value, without running any code of the user's."""
    if isinstance(value, (str, bytes, int, float, type)) or value is None:
        return []
    if type(value) in (list, tuple, set, frozenset):
        return list(cast("list[object]", value))[:LOOKED_AT]
    if type(value) is dict:
        return list(cast("dict[object, object]", value).values())[:LOOKED_AT]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        return [content for cell in cells if (content := _content(cell)) is not None]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, CoroutineType):
        frame = value.cr_frame
        return [] if frame is None else list(frame.f_locals.values())
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return list(own.values())[:LOOKED_AT] if type(own) is dict else []


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None


def _made_at(coro: CoroutineType[Any, Any, Any]) -> str:
    """Where the user's code made a coroutine, as `file:line`; empty for one that it did not make, and is not of it."""
    origin = coro.cr_origin
    if origin and is_users(origin[0][0]):
        return f"{origin[0][0]}:{origin[0][1]}"
    code = coro.cr_code
    return f"{code.co_filename}:{code.co_firstlineno}" if is_users(code.co_filename) else ""


def _unawaited(coro: CoroutineType[Any, Any, Any], place: str) -> CodeError:
    name = coro.__qualname__.rpartition("<locals>.")[2]
    file, _, number = place.rpartition(":")
    line = linecache.getline(file, int(number)).strip()
    return CodeError(
        f"{Path(file).name}:{number}: {name}() was never awaited: nothing in it has run",
        hint=f"Write await in front of the call, in an async def. {place}: {line}".rstrip(": "),
    )
