"""Which trial is next: the plan's order, but for those that wait for others.

How this works: a step that needs what earlier trials kept is set aside until they are settled, and goes before new
ones then. Steps wait only for earlier ones, so the first that is not settled never waits and nothing can stand still.
Only so many are set aside: after that nothing new is taken from the plan, so that it is walked in flat memory however
much of it is one long conversation.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from evenhand.core.plan import Step

ASIDE = 1_000


class Agenda:
    """Hands out steps, each once."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self._ready: deque[Step] = deque()
        self._open: set[int] = set()
        self._aside: dict[int, list[Step]] = {}
        self._waiting = 0
        self._callers: list[asyncio.Future[None]] = []
        self._ended = False

    async def next(self) -> Step | None:
        """The next step, once there is one that need not wait; None when there will be no more."""
        while not self._ended:
            if self._ready:
                return self._ready.popleft()
            if self._waiting < ASIDE:
                step = next(self._steps, None)
                if step is not None:
                    self._open.add(step.index)
                    if not step.after or not self._set_aside(step):
                        return step
                    continue
            if not self._waiting:
                return None
            caller: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._callers.append(caller)
            await caller
        return None

    def end(self) -> None:
        """Hands out no more: whoever waits for a step is told that there is none."""
        self._ended = True
        self._wake()

    def done(self, step: Step) -> None:
        """Lets those go on that waited for this one, settled or not."""
        self._open.discard(step.index)
        for follower in self._aside.pop(step.index, ()):
            self._waiting -= 1
            if not self._set_aside(follower):
                self._ready.append(follower)
        self._wake()

    def _wake(self) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_result(None)
        self._callers.clear()

    def _set_aside(self, step: Step) -> bool:
        for index in step.after:
            if index in self._open:
                self._aside.setdefault(index, []).append(step)
                self._waiting += 1
                return True
        return False
