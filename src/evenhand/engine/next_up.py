"""The calls that are written down before they may be sent, so that nothing is left to do once they may.

How this works: the intent to send a call is durable before the call is sent, which takes as long as the disk does.
Where an account lets only so many calls through, a place would stay free for that long after each answer: with answers
of 100 ms, a tenth of the time. So the next calls are written down while they wait for a place. They are few: of a run
that is killed meanwhile, nobody can say whether they were sent.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable


class NextUp:
    """The calls to an account that are next, by priority, then in order of arrival.

    Args:
        most: How many may be written down before they may be sent; one always may.
    """

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._ready = 0
        self._arrivals = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    def __len__(self) -> int:
        """How many wait to be among the next ones."""
        return len(self._waiting)

    async def come(self, priority: int) -> None:
        """Waits until a call is among the next ones. Whoever comes has to go."""
        if not self._waiting and self._ready < max(1, self._most()):
            self._ready += 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (priority, self._arrivals, future))
        self._let_up()
        try:
            await future
        except BaseException:
            if not future.cancel() and not future.cancelled():  # it had its place already
                self.go()
            raise

    def go(self) -> None:
        """The call may be sent now, or never will be."""
        self._ready -= 1
        self._let_up()

    def _let_up(self) -> None:
        while self._waiting and self._ready < max(1, self._most()):
            *_, future = heapq.heappop(self._waiting)
            if not future.done():
                self._ready += 1
                future.set_result(None)
