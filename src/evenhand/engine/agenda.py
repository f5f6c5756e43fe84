"""Which trial is next: the plan's order, but for those that wait for others, and those that the run goes on without.

How this works: a trial that needs what earlier trials kept is set aside until they are settled, and goes before new
ones then. Trials wait only for earlier ones, so the first that is not settled never waits and nothing can stand still.
Only so many are set aside: after that nothing new is taken from the plan, so that it is walked in flat memory however
much of it is one long conversation. Once somebody debugs, a trial waits until all that are under way are over.

A key that is refused, an account without quota, a model that doesn't exist and a vendor that doesn't answer are matters
of the trials that need them. These are left without a result, for `evenhand resume`; all others go on. A variant that
has come to nothing so many times in a row isn't begun any more: its own code would run in vain.

Results are handed on in the plan's order, whatever finishes first. A result waits until all that were begun before it
have been handed on, or turned out to have none; it is held only while a slower trial before it is under way.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

from evenhand.core.errors import ProviderError, Unreachable
from evenhand.core.plan import PlannedTrial
from evenhand.core.run import TrialResult
from evenhand.engine.backing import RunJournal
from evenhand.engine.debugging import one_by_one
from evenhand.store.earlier import Settled

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


IN_A_ROW = 30
"""Cases may differ in the models that they need: fewer say little about the next one."""


class LeftTrials:
    """The trials that one walk through the plan has left.

    Attributes:
        calls: The calls that they made, which they make again if they are run again.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.begin()

    def begin(self) -> None:
        """Starts anew: the plan is walked again."""
        self._trials = Settled(self._size)
        self._in_a_row: Counter[int] = Counter()
        self._reasons: dict[str, str] = {}
        self.calls = 0

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def reasons(self) -> str:
        """Why trials were left: each reason once, the first one first."""
        return "\n".join(self._reasons.values())

    def add(self, planned: PlannedTrial, error: ProviderError | None = None) -> None:
        """Leaves a trial for this reason; None where it is left because of others."""
        self._trials.add(planned.index)
        if error is not None:
            self._in_a_row[planned.variant.index] += not _is_doubt(error)
            self._reasons.setdefault(error.message, str(error))

    def came_through(self, variant: int) -> None:
        """Notes that a trial of this variant has a result."""
        self._in_a_row.pop(variant, None)

    def skips(self, planned: PlannedTrial) -> bool:
        """Whether a trial isn't worth beginning: its variant comes to nothing, or a trial that it needs was left."""
        if self._in_a_row.get(planned.variant.index, 0) >= IN_A_ROW:
            return True
        return bool(planned.after) and any(index in self._trials for index in planned.after)


def _is_doubt(error: ProviderError) -> bool:
    """Whether other trials are to be tried at that account: it is they that tell."""
    return isinstance(error, Unreachable) and not error.for_good


KEPT = 5_000
"""Of so many trials, what they kept stays at hand; of others it is read from the run's file. Twice as many as may wait
there to be written."""


class KeptValues:
    """What the trials of a run kept, the newest at hand.

    Args:
        journal: Has those that are not.
    """

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal
        self._newest: OrderedDict[int, Any] = OrderedDict()

    def note(self, index: int, value: Any) -> None:
        """The trial at this place kept a value."""
        self._newest[index] = value
        if len(self._newest) > KEPT:
            self._newest.popitem(last=False)

    def of(self, index: int) -> Any:
        """What the trial at this place kept; None for nothing."""
        if index in self._newest:
            return self._newest[index]
        result = self._journal.result(index)
        if result is not None and result.kept is not None:
            self.note(index, result.kept)
        return None if result is None else result.kept


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
