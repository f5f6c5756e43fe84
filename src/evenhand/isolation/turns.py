"""Turns, first come first served, for what has room for so many at a time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import asynccontextmanager, contextmanager

from evenhand.engine.code import waiting


class Turns:
    """A queue that plain and async functions may stand in together, on any loop and thread.

    Args:
        room: How many may be inside at a time; None for any number.
    """

    def __init__(self, room: int | None) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._queue: deque[Future[None]] = deque()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Waits for a turn, and holds it inside. The thread is not counted as busy meanwhile."""
        turn = self._ask()
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
        turn = self._ask()
        try:
            if not turn.done():
                await asyncio.wrap_future(turn)
            yield
        finally:
            self._leave(turn)

    def _ask(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._lock:
            self._queue.append(turn)
            self._let_in()
        return turn

    def _leave(self, turn: Future[None]) -> None:
        with self._lock:
            self._queue.remove(turn)
            self._let_in()

    def _let_in(self) -> None:
        for turn in itertools.islice(self._queue, self._room):
            if not turn.done():
                with contextlib.suppress(InvalidStateError):  # cancelled just now: it will leave
                    turn.set_result(None)
