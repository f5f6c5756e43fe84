"""Contests: what is expected of all the outputs of a case at once, each compared with the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import field
from msgspec.structs import replace

from evenhand.core.errors import EvenhandError
from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Score, Verdict

COMPARED = "compared"
"""In the metadata of a contestant's score: the number that was compared, if not the outputs themselves were."""

MISSING = "missing"
"""In the metadata of an error: how many outputs were not there to be compared. No verdict hangs on them."""


class Unsettled(Record, frozen=True):
    """What a referee says of a contestant that it has no score of, while it may have one of others.

    Attributes:
        metadata: What is worth keeping all the same.
    """

    error: EvenhandError
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Referee(Protocol):
    """A question asked of several outputs of one case. Its label is that of a scorer: its own `str()`, or its class."""

    def compare(
        self, contestants: Sequence[TrialResult], trial: Trial
    ) -> Awaitable[Sequence[Score | Unsettled]]:
        """Answers it: a score for each contestant, in their order, or why it has none.

        Args:
            contestants: The trials that have an output, in the plan's order; two at least.
            trial: Lends models, like to a scorer; it is the trial of one of them.

        Raises:
            JudgeError: A judge gave no usable verdict. This, and anything else raised, is an error for all of them.
        """
        ...


@runtime_checkable
class RefereeOfAll(Referee, Protocol):
    """One whose scores say something only beside the outputs of all variants."""

    def beside_some(self, score: Score, missing: int) -> Score | Unsettled:
        """What a score comes to where so many other outputs are missing, as their trials ended in an error."""
        ...


ContestRule = Callable[[Verdict, Sequence[Outcome]], Verdict]
"""What a trial comes to after a contest: from what it came to before, and its outcomes there, one of each referee."""


def winner_stays(before: Verdict, outcomes: Sequence[Outcome]) -> Verdict:
    """The default rule: who lost fails, with score 0; for all others nothing changes.

    A contest without a result leaves those without a verdict that could still have passed.
    """
    lost = next((o for o in outcomes if o.outcome == "fail"), None)
    if lost is not None:
        return replace(before, outcome="fail", score=0.0, reason=lost.reason)
    broken = next(
        (o for o in outcomes if o.outcome == "error" and not o.metadata.get(MISSING)), None
    )
    if broken is not None and before.outcome != "fail":
        return replace(before, outcome="error", score=None, reason=broken.reason)
    won = next((o for o in outcomes if o.outcome == "pass"), None)
    if won is None or before.outcome != "pass":
        return before
    return replace(
        before, score=won.score if before.score is None else before.score, reason=won.reason
    )


class Contest(Record, frozen=True):
    """What is expected of the trials of one case (and one repeat), held once all of them are done.

    Attributes:
        first: The place in the plan of the first of its trials; the others follow it.
        referees: Who compares.
        rule: What becomes of each trial's verdict.
    """

    first: int
    size: int
    referees: Sequence[Referee]
    rule: ContestRule = winner_stays
