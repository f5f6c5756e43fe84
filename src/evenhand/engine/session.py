"""What the trials of a run share while it is under way, and who ends it as soon as they decide what it is for.

How this works: a decider puts the plan's trials into an order that was drawn before anything is known of them, and is
told every result. What it goes by is the results in that order, whatever finishes first, so that slow cases count like
fast ones. Once it has decided, the run begins nothing more; what is under way is finished, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import RunStatus, TrialResult
from evenhand.core.shard_part import Part
from evenhand.engine.backing import CallBudget, CallLimits, RunJournal, SettleElsewhere
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost

if TYPE_CHECKING:
    from evenhand.engine.batches.lane import BatchLane


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


class Session(Record, frozen=True, kw_only=True):
    """One plan being run, by one process.

    Attributes:
        journal: Keeps what is sent, received and settled.
        concurrency: Trials under way at once.
        note: Told what should be known at once, a line at a time.
        decider: Ends the run as soon as enough is known; None for nobody.
        lane: Sends to vendors what they take in batches; None to ask everything live.
        part: Only these trials are run; None for all.
        elsewhere: Has trials settled by other processes; None to settle them here.
    """

    plan: Plan
    journal: RunJournal
    desk: CallDesk
    limits: CallLimits
    budget: CallBudget
    host: CodeHost
    concurrency: int
    note: Callable[[str], None]
    decider: Decider | None = None
    lane: BatchLane | None = None
    part: Part | None = None
    elsewhere: SettleElsewhere | None = None


class Ending(MutableRecord):
    """How a run ended, and why, where it did not settle all its trials."""

    status: RunStatus = "finished"
    message: str = ""
    signal: int = 0


def settled_again(trials: int, calls: int) -> str:
    """What to say of trials that had a verdict and were settled once more."""
    what = (
        "1 trial that comes after one in error was"
        if trials == 1
        else f"{trials:,} trials that come after one in error were"
    )
    if not calls:
        return f"{what} settled again from the replies in the run file; no call was paid for twice"
    new = "1 call" if calls == 1 else f"{calls:,} calls"
    return (
        f"{what} settled again; {new} of theirs had no stored answer, "
        "because an earlier answer has changed, and so went to the model"
    )
