"""Threads and pools that a trial's code starts: what runs there belongs to the trial, as tasks of a loop do.

How this works: Python hands a context on to tasks and to `asyncio.to_thread`, and to no other thread. While a run is
under way, `Thread.start` and `ThreadPoolExecutor.submit` hand it on as well. What is submitted to a pool is always
its submitter's, whoever made the pool. A thread may outlive the trial that started it, and work for others by then: so
what it does after that trial is nobody's (see `lent`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import thread as _pool
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from evenhand.core.errors import CodeError
from evenhand.core.record import MutableRecord
from evenhand.engine.trial import LiveTrial, present

T = TypeVar("T")


class Loan(MutableRecord):
    """A thread that a trial has started. It may be at work for others once that trial is over.

    Attributes:
        trial: The trial.
        used: It has asked models for the trial.
    """

    trial: LiveTrial
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
        context.run(lent.set, Loan(trial))
        self.run = functools.partial(context.run, self.run)
    _start(self)


def _submit_for_trial(
    self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any
) -> Future[T]:
    if trial_here() is None:
        return _submit(self, fn, *args, **kwargs)
    return _submit(self, copy_context().run, fn, *args, **kwargs)
