"""Results as they come, handed on in the plan's order, whatever finishes first.

How this works: workers take trials from the plan in its order, and say so. A result waits until all that were begun
before it have been handed on, or turned out to have none; it is held only while a slower trial before it is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from evenhand.core.run import TrialResult

Tell = Callable[[TrialResult], None]


class InOrder:
    """Hands results to `tell` in the order in which their trials were begun."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._begun: deque[int] = deque()
        self._ended: dict[int, TrialResult | None] = {}

    def begin(self, index: int) -> None:
        """A trial is under way."""
        self._begun.append(index)

    def end(self, index: int, result: TrialResult | None) -> None:
        """A trial is over; None where it has no result, since the run ends before."""
        self._ended[index] = result
        while self._begun and self._begun[0] in self._ended:
            ready = self._ended.pop(self._begun.popleft())
            if ready is not None:
                self._tell(ready)

    def finish(self) -> None:
        """The run is over: what waits for trials that have no result is handed on."""
        while self._begun:
            ready = self._ended.pop(self._begun.popleft(), None)
            if ready is not None:
                self._tell(ready)
