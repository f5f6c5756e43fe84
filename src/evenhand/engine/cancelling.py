"""Who cancelled a task: the run, or the user's code that runs in it.

The tasks of a run count what its user's code does to them, in `by_user` (see `tasks`).
"""

from __future__ import annotations

import asyncio


def cancelled_by_run() -> bool:
    """Whether it is the run that cancelled the current task, rather than the user's code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > getattr(task, "by_user", 0)


async def undo_own_cancel() -> bool:
    """Takes back what user code, which has just ended, did to the current task: whether that had still to come about.

    Raises:
        CancelledError: The run has cancelled it as well.
    """
    task = asyncio.current_task()
    if task is None or not getattr(task, "by_user", 0):
        return False
    pending = False
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        pending = True
    while getattr(task, "by_user", 0):
        task.uncancel()
    if task.cancelling():
        raise asyncio.CancelledError
    return pending
