"""The run's event loop and its tasks, and what user code cannot do to them.

How this works: everything async of a run shares one loop, the user's code too. Tasks are made by a factory of ours.
Those of the run are `OwnTask`s: they know on which trial they are at work, and another trial's code cannot cancel them.
What a trial does to the task that it runs in is its own error, and is undone (see `by_users`). A task that user code
starts belongs to its trial, which waits for it, if it was given the trial's `expect`; all others are plain ones, and
the application's own business.

The loop does not stop because user code says `loop.stop()`, or because a task of the user's ends with SystemExit.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from asyncio import sleep
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from evenhand.core.errors import CodeError
from evenhand.core.users_code import users_line
from evenhand.engine.capture import in_user_code
from evenhand.engine.importing import refuse_green_threads
from evenhand.engine.outcome import task_error
from evenhand.engine.strays import holds
from evenhand.engine.time_limit import GRACE_S
from evenhand.engine.trial import LiveTrial, present

by_users: dict[asyncio.Task[object], int] = {}
"""How often each task was cancelled by the user's code that runs in it, as far as that was not taken back."""


def is_loop_here() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def cancelled_by_run() -> bool:
    """Whether the run cancelled the current task, rather than the user's code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > by_users.get(task, 0)


async def undo_own_cancel() -> bool:
    """Takes back what user code, which has just ended, did to the current task: whether that had still to come about.

    Raises:
        CancelledError: The run has cancelled it as well.
    """
    task = asyncio.current_task() if by_users else None
    if task is None or task not in by_users:
        return False
    pending = False
    try:
        await sleep(0)
    except asyncio.CancelledError:
        pending = True
    while task in by_users:
        task.uncancel()
    if task.cancelling():
        raise asyncio.CancelledError
    return pending


T = TypeVar("T")

left_behind: list[asyncio.Task[Any]] = []
"""Tasks that did not end though they were cancelled."""


class OwnTask(asyncio.Task[T]):
    """A task of the run's.

    Attributes:
        trial: The trial that it is at work on.
    """

    trial: LiveTrial | None = None

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancels it, unless code of another trial asks for that."""
        caller = present.get() if in_user_code() else None
        if caller is not None and caller is not self.trial:
            caller.blame(
                CodeError("it cancelled tasks of the run that are not its own", hint=users_line())
            )
            return False
        if caller is not None:
            by_users[self] = by_users.get(self, 0) + 1
        return super().cancel(msg)

    def uncancel(self) -> int:
        """Takes one cancellation back."""
        if by_users.get(self, 0) > 1:
            by_users[self] -= 1
        else:
            by_users.pop(self, None)
        return super().uncancel()


@contextlib.contextmanager
def own_tasks() -> Iterator[None]:
    """Inside, the running loop makes its tasks as this module says."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(_task)
    try:
        yield
    finally:
        loop.set_task_factory(before)


def _task(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
    trial = present.get()
    if trial is None or not in_user_code():
        own = OwnTask(work, loop=loop, **more)
        own.trial = trial
        return own
    if holds(work, trial):
        expecting = OwnTask(work, loop=loop, **more)
        expecting.trial = trial
        trial.started(expecting)
        return expecting
    task = asyncio.Task(work, loop=loop, **more)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    """Notes what would have ended the process, had the loop let it."""
    # `task.exception()` would count as looked at, and asyncio tells of the others.
    error = getattr(task, "_exception", None)
    trial = present.get()  # the callback's context is that of the code that started the task
    if isinstance(error, (SystemExit, KeyboardInterrupt)) and trial is not None:
        task.exception()
        trial.blame(task_error(task, error))


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop that user code cannot stop. Of uvloop's kind where that is installed: it halves what a call costs us."""
    try:
        from uvloop import Loop  # noqa: PLC0415 (not there on Windows)
    except ImportError:
        from asyncio import SelectorEventLoop as Loop  # noqa: PLC0415 (where there is no other)
    return _unstoppable(Loop)()


@functools.cache
def _unstoppable(kind: Any) -> Any:
    class Unstoppable(kind):
        def stop(self) -> None:
            trial = present.get() if in_user_code() else None
            if trial is None:
                super().stop()
            else:
                trial.blame(CodeError("it stopped the event loop of the run", hint=users_line()))

    return Unstoppable


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """What this coroutine returns, whatever ends the loop before it does but an interrupt.

    Raises:
        CodeError: Python's threads aren't its own, so that it would never end.
    """
    try:
        refuse_green_threads()
    except CodeError:
        work.close()
        raise
    with asyncio.Runner(loop_factory=new_loop) as runner:
        loop = runner.get_loop()
        loop.set_task_factory(_task)
        task = loop.create_task(work)
        while not task.done():
            try:
                runner.run(_awaited(task))
            except (SystemExit, RuntimeError):
                # A task of the user's ended with SystemExit, or the loop was stopped: neither is the end of the run.
                if loop.is_closed():
                    raise
        runner.run(_leave_the_rest())
        return task.result()


def clear_frames(error: BaseException) -> None:
    """Lets go of what the functions hold that an exception came through, but for those that caught it and go on.

    An exception that a future hands over comes from another task's function, which may work for other trials. Python
    closes a function that waits when its frame is cleared, before 3.13.
    """
    waiting = set(_waiting_frames()) if is_loop_here() else set[FrameType]()
    step = error.__traceback__
    while step is not None:
        if step.tb_frame not in waiting:
            with contextlib.suppress(RuntimeError):  # it is still running
                step.tb_frame.clear()
        step = step.tb_next


def _waiting_frames() -> Iterator[FrameType]:
    """The frames of all that the loop's tasks wait in, from each task's function on."""
    for task in asyncio.all_tasks():
        work: Any = task.get_coro()
        while work is not None:
            frame = getattr(work, "cr_frame", None) or getattr(work, "ag_frame", None)
            if frame is not None:
                yield frame
            work = getattr(work, "cr_await", None) or getattr(work, "ag_await", None)


def leave_behind(task: asyncio.Task[Any]) -> None:
    """Forgets a task that does not end, so that nobody waits for it when the loop is closed."""
    asyncio._unregister_task(task)  # noqa: SLF001 (documented, for those who make tasks of their own)
    task._log_destroy_pending = False  # noqa: SLF001  # pyright: ignore (asyncio's own way to say: this is known)
    left_behind.append(task)
    # Python would take it apart as it ends, and so run its code once more, without a loop and without an end.
    import ctypes  # noqa: PLC0415 (seldom)

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


async def _leave_the_rest() -> None:
    """Cancels all that is still under way on the loop, and leaves behind what goes on all the same."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=GRACE_S)
    for task in rest:
        if not task.done():
            leave_behind(task)
    if left_behind:  # closing what they hold cannot work, and would be told of
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)


async def _awaited(task: asyncio.Task[T]) -> T:
    return await task


def part(trial: LiveTrial, worker: asyncio.Task[None]) -> None:
    """Has a trial and what settled it name each other no more: only the cycle collector would find them."""
    trial.abandon = trial.task = None
    if isinstance(worker, OwnTask):
        worker.trial = None


class ThreadLoop:
    """A loop for functions that wait with `get_event_loop()`, as they can in the main thread of a program."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self) -> None:
        """Makes it the thread's: a function before may have closed it, or left none, as `asyncio.run` does."""
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def close(self) -> None:
        """Closes it, at the thread's end."""
        asyncio.set_event_loop(None)
        if self._loop is not None:
            self._loop.close()
