"""Who cancelled a task: the run, or the user's code that runs in it.

What a trial's code does to the task that it runs in is its own error, and has to be undone: the task goes on to the
next trial. `tasks` notes such cancellations here.
"""

from __future__ import annotations

import asyncio
from asyncio import sleep

by_users: dict[asyncio.Task[object], int] = {}
"""How often each task was cancelled by the user's code that runs in it, as far as that was not taken back."""


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
