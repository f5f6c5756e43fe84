"""How a trial is put off: it needs an answer that is not there yet, and runs again from its start once it is."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

PATIENCE_S = 1.0
"""So long a trial that is put off is let ask for more."""


class Suspended(BaseException):
    """Ends a body that asked for what only a batch will answer.

    No `Exception`: what an application does about errors, asking another model for example, is not meant for this.
    """


async def put_off(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Lets tasks of a trial's code ask for what they need, too, and ends those that go on."""
    running = [task for task in tasks if not task.done()]
    if running:
        await asyncio.wait(running, timeout=PATIENCE_S)
    for task in tasks:
        if not task.done():
            task.cancel()
        elif not task.cancelled():
            task.exception()  # looked at: asyncio need not tell of it
