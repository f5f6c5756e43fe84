"""Turns, first come first served, for what has room for so many at a time.

How this works: a trial may hold several turns, each in a queue of its own, and two trials that take them in different
orders would wait for each other forever. Only one that holds a turn and asks for another can bring that about. So
when it does, and has to wait, it is seen whether all that it waits for can come to its end; if not, it is not let wait.
It gives way: what is prepared for it is undone, and prepared anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from weakref import WeakSet

from evenhand.core.errors import CodeError
from evenhand.doors.isolation.trial_resources import holder
from evenhand.engine.code import THREADS, waiting
from evenhand.engine.time_limit import waiting_on_loop

PLAIN = THREADS - 1
"""How many plain trials may be under way on a database: if all but one wait for its locks, that one has a thread."""

_lock = threading.RLock()
"""For all queues. The collector may close a forgotten fixture, which leaves its queue, while this is held."""


class Crossed(CodeError):
    """Two trials hold what the other one waits for, and this one gives way."""


@dataclass(eq=False, slots=True)
class _Turn:
    trial: object
    size: float
    let_in: Future[None] = field(default_factory=Future["None"])


class Turns:
    """A queue that plain and async functions may stand in together, on any loop and thread.

    Args:
        room: How many may be inside at a time; infinite for any number.
    """

    def __init__(self, room: float) -> None:
        self._room = room
        self._queue: deque[_Turn] = deque()
        with _lock:
            _all.add(self)

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[None]:
        """Waits for a turn, and holds it inside. The thread is not counted as busy meanwhile.

        Args:
            alone: Wants the whole room for itself.

        Raises:
            Crossed: It would wait forever.
            CodeError: Its trial was given up before its turn came.
        """
        turn = self._ask(self._room if alone else 1)
        try:
            if not turn.let_in.done():
                with waiting(turn.let_in.cancel):
                    _wait(turn)
            yield
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def awaited(self) -> AsyncIterator[None]:
        """Waits for a turn, and holds it inside.

        Raises:
            Crossed: It would wait forever.
        """
        turn = self._ask(1)
        try:
            if not turn.let_in.done():
                with waiting_on_loop():
                    await asyncio.wrap_future(turn.let_in)
            yield
        finally:
            self._leave(turn)

    def _ask(self, size: float) -> _Turn:
        turn = _Turn(holder(), size)
        with _lock:
            self._queue.append(turn)
            self._let_in()
            if not turn.let_in.done() and _never_comes(turn):
                self._leave(turn)
                raise Crossed(
                    "two trials would wait for each other's databases forever",
                    hint="Open them in fixtures, or in the same order everywhere.",
                )
        return turn

    def _leave(self, turn: _Turn) -> None:
        with _lock:
            self._queue = deque(entry for entry in self._queue if entry is not turn)
            self._let_in()

    def _let_in(self) -> None:
        for turn in self.inside(set()):
            if not turn.let_in.done():
                with contextlib.suppress(InvalidStateError):  # cancelled just now: it will leave
                    turn.let_in.set_result(None)

    def entries(self) -> list[_Turn]:
        """All turns of the queue: those inside, and those that wait."""
        return list(self._queue)

    def inside(self, over: set[int]) -> list[_Turn]:
        """The turns that have come once these trials (by their `id`) are over: the first ones with room for them."""
        left, admitted = self._room, list[_Turn]()
        for turn in self._queue:
            if id(turn.trial) in over:
                continue
            if turn.size > left:
                break
            left -= turn.size
            admitted.append(turn)
        return admitted


_all: WeakSet[Turns] = WeakSet()


def _wait(turn: _Turn) -> None:
    try:
        turn.let_in.result()
    except CancelledError:
        raise CodeError("it was given up while it waited for its turn at a database") from None


def _never_comes(asked: _Turn) -> bool:
    """Whether a turn waits for trials that wait for its own.

    Trials that wait for nothing come to their end; then those that waited for them do; and so on. A trial that is left
    over waits forever.
    """
    queues = list(_all)
    held = [turn for queue in queues for turn in queue.entries() if turn.trial is asked.trial]
    if len(held) == 1:  # whoever holds nothing keeps nobody waiting
        return False
    over = set[int]()
    while True:
        waits, there = set[int](), set[int]()
        for queue in queues:
            entries = {id(turn.trial) for turn in queue.entries()} - over
            inside = queue.inside(over)
            there |= entries
            waits |= {id(t.trial) for t in queue.entries() if t not in inside} - over
        if there == waits:
            return id(asked.trial) in waits
        over |= there - waits
