"""The event loop that a thread has for the user's plain functions."""

from __future__ import annotations

import asyncio


class ThreadLoop:
    """A loop for functions that wait with `asyncio.get_event_loop()`, as they can in the main thread of a program."""

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
