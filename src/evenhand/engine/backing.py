"""What stands behind the trials of a run: a journal, a cache, the limits of accounts, and a budget.

In one process these are the run file's one writer, the cache's file, what is learned of each account, and the money
that is left. A worker of a fleet has the same at a distance: what it asks for is done where the run file is, and it is
told when it is done. The engine is the same in both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from evenhand.core.errors import ProviderError
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.provider import RateLimits
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import CallEnd, CallStart, ToolRecord, TrialResult
from evenhand.engine.budget import Budget, Reservation
from evenhand.engine.pace import Permit
from evenhand.engine.rate_limits import Limits, NextUp
from evenhand.engine.trial import LiveTrial
from evenhand.store.cache import Cache, CachedReply
from evenhand.store.journal import Journal


class Places(Protocol):
    """Some of the places in a plan."""

    def __contains__(self, index: int, /) -> bool: ...

    def __len__(self) -> int: ...


class RunJournal(Protocol):
    """Keeps what a run sends, receives and comes to. `store.journal.Journal` writes the run file."""

    @property
    def resumed(self) -> bool:
        """Whether an earlier session may have recorded answers."""
        ...

    def settled(self) -> Places:
        """The trials that need no more work."""
        ...

    def recorded(self, trial: int, key: str, nth: int) -> CallEnd | None:
        """The reply that was received before to the n-th such request of this trial."""
        ...

    def compared(self, trials: Sequence[int], key: str, nth: int) -> CallEnd | None:
        """The reply received before to the n-th such request of any of these trials, compared with each other."""
        ...

    def answered(self, key: str, draw: str) -> CallEnd | None:
        """The reply that was received before to this draw of the request, for whichever trial."""
        ...

    def result(self, index: int) -> TrialResult | None:
        """The result of this trial, as far as it is kept."""
        ...

    def tool(self, trial: int, key: str, nth: int) -> ToolRecord | None:
        """What the n-th such call of a tool in this trial came to before."""
        ...

    async def turn(self) -> None:
        """From here on, what this session recorded is found like what earlier ones did."""
        ...

    def stale(self, index: int, after: Sequence[int]) -> bool:
        """Whether this trial rests on one, of those that it comes after, that has another result by now."""
        ...

    def again(self, index: int) -> None:
        """A trial that has a verdict is to be settled once more."""
        ...

    def follow(self, index: int, after: Sequence[int]) -> None:
        """A trial is to be settled after these."""
        ...

    async def begin(self, start: CallStart) -> int:
        """Makes the intent to send a call durable, and names the call."""
        ...

    def end(self, call: int, end: CallEnd) -> Awaitable[None]:
        """Makes what became of a call durable."""
        ...

    def drop(self, call: int, attempts: int, wasted: int) -> None:
        """A call was given up while nothing of it was under way."""
        ...

    def note(self, start: CallStart, end: CallEnd) -> None:
        """Records a call that cost nothing, when there is time."""
        ...

    def note_tool(self, record: ToolRecord) -> None:
        """Records a call of a tool, when there is time. Any thread may."""
        ...

    def note_code(self, name: str, code: str) -> None:
        """Adds a part to `RunMeta.code`, when there is time."""
        ...

    def note_unrecorded(self, call: str) -> None:
        """Counts a call of a recording client's that belongs to no trial. Any thread may."""
        ...

    async def settle(self, result: TrialResult) -> TrialResult:
        """Records a result, and returns it as it is kept."""
        ...


class Answers(Protocol):
    """Answers across runs. `store.cache.Cache` keeps them in a file."""

    def get(self, key: str, draw: str) -> CachedReply | None:
        """The answer to this request, this draw of it; None when there is none."""
        ...

    def put(
        self,
        key: str,
        draw: str,
        identity: bytes,
        body: bytes,
        latency_s: float | None,
        first_byte_s: float | None = None,
    ) -> None:
        """Keeps an answer."""
        ...

    def forget(self, key: str, draw: str) -> None:
        """Takes an answer out again."""
        ...


class CallAccount(Protocol):
    """Lets calls through to an account. `engine.rate_limits.Account` learns how many."""

    @property
    def next_up(self) -> NextUp:
        """The calls that are written down before they are let through."""
        ...

    async def acquire(self, priority: int, tokens: int, model: str = "") -> Permit:
        """Waits until a call may be sent. Every permit has to be given back: released, withdrawn or forgotten."""
        ...

    async def passable(self, permit: Permit) -> None:
        """Waits while the account is closed, if it has closed since the permit was given."""
        ...

    def release(
        self, permit: Permit, error: ProviderError | None, rates: RateLimits | None, tokens: int
    ) -> None:
        """Gives the permit back, with what became of the call."""
        ...

    def withdraw(self, permit: Permit) -> None:
        """Gives the permit back, with what was debited for it: nothing was sent."""
        ...

    def forget(self, permit: Permit) -> None:
        """Gives the permit back: nobody will know what became of the call."""
        ...

    def fail(self, error: ProviderError) -> None:
        """Nothing is sent to this account any more."""
        ...

    def retry_in(self, error: ProviderError, attempts: int, seconds: float) -> float | None:
        """Seconds to pause before trying again; None to give up."""
        ...


class CallLimits(Protocol):
    """The accounts of a run."""

    def account(self, name: str) -> CallAccount:
        """The account of this name."""
        ...

    def insist(self) -> bool:
        """Has calls that were left at an account that answers others asked again, for the last time; False for none."""
        ...

    def waiting(self) -> str:
        """What holds the run up, for people; empty for nothing."""
        ...


class CallBudget(Protocol):
    """What a run may spend. `engine.budget.Budget` counts it."""

    @property
    def spent_usd(self) -> float:
        """What was spent so far, as far as it is known here."""
        ...

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        ...

    async def when_free(
        self, bound_usd: float | None, provider: str, hidden_usd: float = 0.0
    ) -> Reservation:
        """Sets money aside for a call, once there is enough."""
        ...

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Books what the call cost; None for its worst price."""
        ...


class TrialSource(Protocol):
    """Hands out trials, each once. `engine.agenda.Agenda` goes by the plan's order."""

    async def next(self) -> PlannedTrial | None:
        """The next trial, once there is one; None when there will be no more."""
        ...

    def done(self, planned: PlannedTrial) -> None:
        """A trial is over, settled or not."""
        ...

    def end(self) -> None:
        """Hands out no more."""
        ...


class SettleElsewhere(Protocol):
    """Has a trial settled in another process."""

    async def __call__(self, trial: LiveTrial) -> TrialResult:
        """The result of the trial, settled in another process.

        Raises:
            ProviderError: A fatal one: the trial is left.
            BudgetStop: The budget is spent: the run has to stop.
            StoreError: Nothing can be written any more, or nobody is left to settle trials: the run has to stop.
        """
        ...


class CallCounts(MutableRecord):
    """What the run's calls came to so far, for the progress line."""

    calls: int = 0
    cached: int = 0
    in_flight: int = 0
    wasted: int = 0


class Backing(Record, frozen=True, kw_only=True):
    """What stands behind a run, in the process that keeps its file.

    Attributes:
        cache: Answers across runs; None for none.
        counts: For the progress line.
        note: Told what should be known at once, a line at a time.
    """

    journal: Journal
    cache: Cache | None
    limits: Limits
    budget: Budget
    counts: CallCounts
    note: Callable[[str], None]


class Terms(Record, frozen=True):
    """How trials are settled elsewhere.

    Attributes:
        concurrency: Trials under way at once, everywhere.
        limited: There is a budget.
        cached: There is a cache.
        attempts: How often a call is sent at most; None for as often as always.
        time_limit_s: For one call of a user's function; None for what the plan says.
    """

    concurrency: int
    limited: bool
    cached: bool
    attempts: int | None
    time_limit_s: float | None


class Crew(SettleElsewhere, Protocol):
    """The processes that settle a run's trials, once they have the plan."""

    def use(self, backing: Backing) -> None:
        """From here on trials are settled, with this behind them."""
        ...

    async def over(self) -> None:
        """No more trials come: waits for what is still to be written."""
        ...


class Elsewhere(Protocol):
    """Other processes that settle trials."""

    @property
    def workers(self) -> int:
        """How many there are."""
        ...

    @property
    def seats(self) -> int | None:
        """Trials that each has under way at most; None for any number."""
        ...

    def started(self, plan: Plan, terms: Terms) -> AbstractAsyncContextManager[Crew]:
        """Inside, they have the plan. Nothing has been sent to a model.

        Raises:
            UsageError: They cannot settle trials of this plan.
            StoreError: There are none.
        """
        ...
