"""What the calls of one trial come to."""

from __future__ import annotations

from evenhand.core.message import CallRole, Reply
from evenhand.core.run import NO_DETAILS, AnswerDetails, Judged, TrialResult

_PAID_ELSEWHERE = ("cache", "replay")


class Spending:
    """What one trial's calls came to so far. A cost of None: some call's price is not known."""

    __slots__ = (
        "_seen",
        "cached",
        "calls",
        "cost_usd",
        "judged",
        "latency_s",
        "subject_usd",
        "tokens_in",
        "tokens_out",
    )

    def __init__(self) -> None:
        self.calls = 0
        self.cached = 0
        self.cost_usd: float | None = 0.0
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.latency_s: float | None = None
        self.judged: Judged | None = None
        self.subject_usd: float | None = 0.0
        self._seen = True

    def lose_sight(self) -> None:
        """Something was asked that nobody counted: what it all came to is not known."""
        self._seen = False
        self.cost_usd = self.subject_usd = self.tokens_in = self.tokens_out = self.latency_s = None

    def resume(self, result: TrialResult) -> None:
        """Goes on from what a trial came to elsewhere."""
        self.calls, self.cached, self.cost_usd = result.calls, result.cached, result.cost_usd
        self.tokens_in, self.tokens_out = result.tokens_in, result.tokens_out
        self.latency_s, self.judged = result.latency_s, result.judged

    def add(self, reply: Reply, role: CallRole) -> None:
        """Counts one reply. What an earlier session of this run paid for is its cost; what the cache had is not."""
        self.calls += 1
        if reply.origin != "provider":
            self.cached += 1
        if self._seen:
            self._add(reply, role)
        if role == "judge":
            self._add_judged(reply)

    def _add(self, reply: Reply, role: CallRole) -> None:
        if reply.origin in _PAID_ELSEWHERE:
            pass
        elif reply.cost_usd is None:
            self.cost_usd = None
        elif self.cost_usd is not None:
            self.cost_usd += reply.cost_usd
        usage = reply.usage
        if usage.tokens_in is not None:
            self.tokens_in = (self.tokens_in or 0) + usage.tokens_in
        if usage.tokens_out is not None:
            self.tokens_out = (self.tokens_out or 0) + usage.tokens_out
        if role == "subject" and reply.latency_s is not None:
            self.latency_s = (self.latency_s or 0.0) + reply.latency_s
        cost = 0.0 if reply.origin in _PAID_ELSEWHERE else reply.cost_usd
        if role == "subject":
            known = cost is not None and self.subject_usd is not None
            self.subject_usd = (self.subject_usd or 0.0) + (cost or 0.0) if known else None

    def _add_judged(self, reply: Reply) -> None:
        usage, so_far = reply.usage, self.judged or Judged()
        cost = 0.0 if reply.origin in _PAID_ELSEWHERE else reply.cost_usd
        known = cost is not None and so_far.cost_usd is not None
        self.judged = Judged(
            so_far.calls + 1,
            so_far.tokens_in + (usage.tokens_in or 0),
            so_far.tokens_out + (usage.tokens_out or 0),
            (so_far.cost_usd or 0.0) + (cost or 0.0) if known else None,
        )


def beside(reply: Reply | None, spent: Spending, *, left_out: bool) -> AnswerDetails:
    """What a reply says beside its output, as far as it does.

    Args:
        left_out: Whether thoughts were left out of what was scored.
    """
    if reply is None:
        return AnswerDetails(left_out=True) if left_out else NO_DETAILS
    return AnswerDetails(
        model=reply.model,
        finish_reason=reply.finish_reason,
        metadata=reply.metadata,
        refused=reply.refused,
        left_out=left_out,
        cost_usd=spent.subject_usd or None,  # a model that costs nothing may have no price at all
    )
