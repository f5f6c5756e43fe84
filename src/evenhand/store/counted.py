"""What a run file is counted into: spending, usage, tallies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from evenhand.core.document import Key
from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.core.score import State
from evenhand.stats.tallies import Tally


class Spend(Record, frozen=True):
    """What a run's calls came to, over all its sessions and all takes of its trials.

    Attributes:
        calls: Calls that were answered or failed, the cache's and those never sent left out.
        cost_usd: What the answered ones cost; None where a price is not known.
        wasted: Attempts that failed and may have been charged for.
        in_doubt: Calls begun whose end nobody knows: they were in flight when a process died.
        in_doubt_usd: The most that those can have cost; None where a price is not known.
    """

    calls: int
    cost_usd: float | None
    wasted: int
    in_doubt: int
    in_doubt_usd: float | None


class ModelUsage(Record, frozen=True, kw_only=True):
    """What one model was asked in one role, over all sessions and all takes.

    A call counts where it was answered. What was asked in vain is counted apart.
    """

    role: Annotated[CallRole, Key("`subject`, `judge`, `setup` or `simulator`")]
    model: Annotated[str, Key("as asked for")]
    answered: Annotated[Sequence[str], Key("as the answers named it")]
    calls: Annotated[int, Key("that were answered, over all sessions", "calls")]
    cached: Annotated[int, Key("answered by the cache", "calls")]
    tokens_in: Annotated[int, Key("as far as the answers report them", "tokens")]
    tokens_out: Annotated[int, Key("the same", "tokens")]
    unanswered: Annotated[
        int, Key("refused, or failed at every attempt, and not answered later", "calls")
    ]
    cost_usd: Annotated[
        float | None, Key("charged by the provider", "US dollars", null="the price is not known")
    ]

    @property
    def requests(self) -> int:
        """How many calls these trials make of it if they are run once more, and nothing is refused."""
        return self.calls + self.unanswered


class CaseTally(Struct, frozen=True, gc=False):
    """What a case's trials came to in one variant; `first` is the place in the plan of the first of them."""

    variant: int
    case: str
    first: int
    tally: Tally


class TrialOutcome(Struct, frozen=True, gc=False):
    """What became of one trial. `case` may differ from the case's id where that is not ASCII."""

    index: int
    case: str
    variant: int
    repeat: int
    outcome: State
    score: float | None


def added(first: ModelUsage, second: ModelUsage) -> ModelUsage:
    """Two usages as one, under the first one's role and model."""
    costs = (first.cost_usd, second.cost_usd)
    return ModelUsage(
        role=first.role,
        model=first.model,
        answered=tuple(dict.fromkeys((*first.answered, *second.answered))),
        calls=first.calls + second.calls,
        cached=first.cached + second.cached,
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        unanswered=first.unanswered + second.unanswered,
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
