"""Something under way that several may wait for: it is done once, and ends when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Flight(Generic[T]):
    """What is under way, and how many wait for it."""

    __slots__ = ("task", "waiters")

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiters = 0

    async def landed(self) -> T:
        """The reply of the call. When all who wait are cancelled, so is the call; it is over when this returns."""
        self.waiters += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.waiters == 1 and not self.task.done():
                self.task.cancel()
                await asyncio.wait([self.task])
            raise
        finally:
            self.waiters -= 1
