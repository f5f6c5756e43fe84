"""The attempts at a test, as plugins make several of one that failed: the last one counts.

How this works: another attempt settles the trial of its test once more, and so does whatever pytest reports of the test
beside its expectations. The last result counts. What earlier attempts came to is listed in it, without weight.
"""

from __future__ import annotations

from dataclasses import replace

from evenhand.core.expect import share_passed
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome


class Attempts:
    """The attempts at one repeat of a test.

    Attributes:
        unsettled: Its trial, before anything is settled.
        result: What the present attempt came to; None where it has none, or is over.
        earlier: What those before it came to.
    """

    __slots__ = ("earlier", "result", "unsettled")

    def __init__(self, unsettled: TrialResult) -> None:
        self.unsettled = unsettled
        self.result: TrialResult | None = None
        self.earlier: tuple[Outcome, ...] = ()

    def listed_in(self, result: TrialResult) -> TrialResult:
        """The result of the present attempt, with what earlier ones came to."""
        return replace(result, outcomes=result.outcomes + self.earlier)

    def end(self) -> None:
        """Ends the present attempt; there may be another one."""
        if self.result is not None:
            name, result = f"attempt {len(self.earlier) + 1}", self.result
            reason = result.error.message if result.error else result.reason
            one = Outcome(name, result.outcome, result.score, reason, weight=0.0)
            self.earlier = (*self.earlier, one)
            self.result = None


def once_more(attempts: Attempts, outcome: Outcome) -> TrialResult:
    """A trial's result with one more outcome: it decides, or takes back the others where it doesn't apply."""
    result = attempts.result or attempts.unsettled
    others = result.outcomes
    if outcome.outcome == "not_applicable":
        others = tuple(replace(one, weight=0.0) for one in others)
    outcomes = (*others, outcome)
    verdict = share_passed(outcomes)
    return replace(
        result,
        outcome=verdict.outcome,
        score=verdict.score,
        reason=verdict.reason,
        outcomes=outcomes,
    )
