"""Turns, first come first served, for what has room for so many at a time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, contextmanager

from evenhand.engine.code import THREADS, waiting

PLAIN = THREADS - 1
"""How many plain trials may be under way on a database: if all but one wait for its locks, that one has a thread."""


class Turns:
    """A queue that plain and async functions may stand in together, on any loop and thread.

    Args:
        room: How many may be inside at a time; infinite for any number.
    """

    def __init__(self, room: float) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._queue: deque[tuple[Future[None], float]] = deque()

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[None]:
        """Waits for a turn, and holds it inside. The thread is not counted as busy meanwhile.

        Args:
            alone: Wants the whole room for itself.
        """
        turn = self._ask(self._room if alone else 1)
        try:
            if not turn.done():
                with waiting():
                    turn.result()
            yield
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def awaited(self) -> AsyncIterator[None]:
        """Waits for a turn, and holds it inside."""
        turn = self._ask(1)
        try:
            if not turn.done():
                await asyncio.wrap_future(turn)
            yield
        finally:
            self._leave(turn)

    def _ask(self, size: float) -> Future[None]:
        turn: Future[None] = Future()
        with self._lock:
            self._queue.append((turn, size))
            self._let_in()
        return turn

    def _leave(self, turn: Future[None]) -> None:
        with self._lock:
            self._queue = deque(entry for entry in self._queue if entry[0] is not turn)
            self._let_in()

    def _let_in(self) -> None:
        left = self._room
        for turn, size in self._queue:
            if size > left:
                return
            left -= size
            if not turn.done():
                with contextlib.suppress(InvalidStateError):  # cancelled just now: it will leave
                    turn.set_result(None)
