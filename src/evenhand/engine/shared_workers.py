"""Tasks and threads that one trial starts and that ask models for others, too.

How this works: what a trial's code starts asks in its name. Whom a task works for, nobody can see. But a worker that
serves several trials gives itself away: it is still there when the function that started it has returned, and another
trial of the same eval has asked nothing while it did. Then it isn't known whose its calls were. Two such workers at the
same time are no shared ones: each trial has its own, and one that asks nothing does so by itself, e.g. as a cache has
its answer. As the second may be the last trial's, the first is only suspected until the run ends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet

from evenhand.core.case import Case
from evenhand.core.errors import CodeError
from evenhand.core.record import MutableRecord
from evenhand.core.variant import Variant

Asker = asyncio.Task[object] | threading.Thread
"""What has asked a model for a trial."""


class Asked(MutableRecord):
    """When something asked first and last, by `time.monotonic`."""

    first_s: float
    last_s: float


class Askers:
    """What has asked models for one trial, on the run's own loop and in threads that the trial has started."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: WeakKeyDictionary[Asker, Asked] = WeakKeyDictionary()

    def __contains__(self, asker: object) -> bool:
        return asker in self._asked

    def add(self, asker: Asker) -> None:
        """Notes that this is about to ask."""
        now = time.monotonic()
        self._asked.setdefault(asker, Asked(now, now)).last_s = now

    def left(self) -> Mapping[Asker, Asked]:
        """The askers that are still there, but for the task that wants to know."""
        here = asyncio.current_task()
        items = [*self._asked.items()]
        return {one: times for one, times in items if one is not here and _is_there(one)}


def _is_there(asker: Asker) -> bool:
    return asker.is_alive() if isinstance(asker, threading.Thread) else not asker.done()


class Starter(Protocol):
    """A trial, as far as it matters here."""

    @property
    def case(self) -> Case: ...

    @property
    def variant(self) -> Variant: ...

    @property
    def fresh(self) -> bool:
        """Whether the trial has asked nothing."""
        ...

    def blame(self, problem: CodeError) -> None:
        """Keeps it from a verdict, also once it is settled."""
        ...


class _Quiet(MutableRecord):
    """A trial that asked nothing, from when until when."""

    began_s: float
    ended_s: float
    case: str


class _Left(MutableRecord):
    """A trial that left something running, which asked last then."""

    last_s: float
    trial: Starter


class SharedWorkers:
    """Finds them, in one run. Of each variant the latest trials are enough: those before them overlap with fewer."""

    def __init__(self) -> None:
        self._quiet: dict[int, _Quiet] = {}
        self._left: dict[int, _Left] = {}
        self._there: dict[int, WeakSet[Asker]] = {}
        self._suspects: dict[int, dict[Starter, str]] = {}
        self._each: set[int] = set()

    def returned(self, trial: Starter, askers: Askers | None, began_s: float) -> None:
        """A trial's function has returned, and what it asked has been answered.

        Args:
            askers: What has asked for it; None for nothing.
        """
        at, case = trial.variant.index, trial.case.id
        if at in self._each:
            return
        left = askers.left() if askers is not None else {}
        worker = self._left.get(at)
        if left:
            there = self._there.setdefault(at, WeakSet())
            overlaps = worker is not None and worker.last_s >= began_s
            if overlaps or any(map(_is_there, there)):
                self._each.add(at)
                self._suspects.pop(at, None)
                return
            there.update(left)
            first_s = min(one.first_s for one in left.values())
            last_s = max(one.last_s for one in left.values())
            quiet = self._quiet.get(at)
            if quiet is not None and quiet.ended_s >= first_s and last_s >= quiet.began_s:
                self._suspect(trial, quiet.case)
            self._left[at] = _Left(last_s, trial)
        elif trial.fresh:
            if worker is not None and worker.last_s >= began_s:
                self._suspect(worker.trial, case)
            self._quiet[at] = _Quiet(began_s, time.monotonic(), case)

    def _suspect(self, trial: Starter, quiet: str) -> None:
        self._suspects.setdefault(trial.variant.index, {}).setdefault(trial, quiet)

    def over(self) -> None:
        """All trials have returned: keeps those from a verdict whose workers were the only ones."""
        for suspects in self._suspects.values():
            for trial, quiet in suspects.items():
                trial.blame(_shared(quiet))
        self._suspects.clear()


def _shared(case: str) -> CodeError:
    return CodeError(
        f"a task or thread that it started asks models, perhaps for other trials: {case} asked none meanwhile",
        hint="Wait in the eval for what it starts. Start what works for several trials before the run, and have each "
        "trial ask models by itself.",
    )
