"""Which trial is next: the plan's order, but for those that wait for others.

How this works: a trial that needs what earlier trials kept is set aside until they are settled, and goes before new
ones then. Trials wait only for earlier ones, so the first that is not settled never waits and nothing can stand still.
Only so many are set aside: after that nothing new is taken from the plan, so that it is walked in flat memory however
much of it is one long conversation. Once somebody debugs, a trial waits until all that are under way are over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from evenhand.core.plan import PlannedTrial
from evenhand.engine.debugging import one_by_one

ASIDE = 1_000


class Agenda:
    """Hands out trials, each once."""

    def __init__(self, planned_trials: Iterator[PlannedTrial]) -> None:
        self._planned = planned_trials
        self._ready: deque[PlannedTrial] = deque()
        self._open: set[int] = set()
        self._aside: dict[int, list[PlannedTrial]] = {}
        self._waiting = 0
        self._callers: list[asyncio.Future[None]] = []
        self._ended = False

    async def next(self) -> PlannedTrial | None:
        """The next trial, once there is one that need not wait; None when there will be no more."""
        while not self._ended:
            if one_by_one() and len(self._open) > self._waiting + len(self._ready):
                await self._woken()
                continue
            if self._ready:
                return self._ready.popleft()
            if self._waiting < ASIDE:
                planned = next(self._planned, None)
                if planned is not None:
                    self._open.add(planned.index)
                    if not planned.after or not self._set_aside(planned):
                        return planned
                    continue
            if not self._waiting:
                return None
            await self._woken()
        return None

    def end(self) -> None:
        """Hands out no more: whoever waits for a trial is told that there is none."""
        self._ended = True
        self._wake()

    def done(self, planned: PlannedTrial) -> None:
        """Lets those go on that waited for this one, settled or not."""
        self._open.discard(planned.index)
        for follower in self._aside.pop(planned.index, ()):
            self._waiting -= 1
            if not self._set_aside(follower):
                self._ready.append(follower)
        self._wake()

    async def _woken(self) -> None:
        caller: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._callers.append(caller)
        await caller

    def _wake(self) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_result(None)
        self._callers.clear()

    def _set_aside(self, planned: PlannedTrial) -> bool:
        for index in planned.after:
            if index in self._open:
                self._aside.setdefault(index, []).append(planned)
                self._waiting += 1
                return True
        return False
