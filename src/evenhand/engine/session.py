"""What the trials of a run share while it is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenhand.core.plan import Plan
from evenhand.core.record import Record
from evenhand.core.shard_part import Part
from evenhand.engine.backing import CallBudget, CallLimits, RunJournal, SettleElsewhere
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost
from evenhand.engine.deciding import Decider

if TYPE_CHECKING:
    from evenhand.engine.batches.lane import BatchLane


class Session(Record, frozen=True, kw_only=True):
    """One plan being run, by one process.

    Attributes:
        plan: What is run.
        journal: Keeps what is sent, received and settled.
        desk: Answers the calls.
        limits: The accounts.
        budget: What may be spent.
        host: Runs the user's functions.
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
