"""Ends a run as soon as the trials that are there decide what it is for.

How this works: the decider puts the plan's trials into an order that was drawn before anything is known of them, and is
told every result. What it goes by is the results in that order, whatever finishes first, so that slow cases count like
fast ones. Once it has decided, the run begins nothing more; what is under way is finished, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from evenhand.core.plan import PlannedTrial
from evenhand.core.run import TrialResult


class Decider(Protocol):
    """Knows when enough is known."""

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials in the order in which they are run."""
        ...

    def add(self, result: TrialResult) -> None:
        """Takes in the result of a trial, in whatever order they come."""
        ...

    @property
    def decided(self) -> str:
        """What is decided, in words; empty as long as nothing is. Once decided, it stays."""
        ...

    def record(self) -> Mapping[str, Any]:
        """What is decided, for the run's file, as JSON has it."""
        ...
