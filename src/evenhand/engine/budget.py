"""The run's budget: the worst price of a call is set aside before it is sent, and what it cost is booked after.

The worst price is often a hundred times the real one (a reply may have 128,000 tokens, and has 300). So a call for
which too little is left waits for those under way to be booked: what ends a run is money spent, not money set aside.

How this works: a worst price is calculated from what a request allows, and some vendors bill more than that, for
reasoning that nobody sees. What a model's bills were above is set aside on top for its later calls, half as much again,
and for those under way. What nobody can know before the first bill is kept small: as long as a model has sent few
bills, its calls go out side by side only where the budget could bear the longest replies that there are; else one by
one. Each bill halves that doubt.

What the calls of one trial come to is summed up beside it (`Spending`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evenhand.core.errors import BudgetStop
from evenhand.core.message import CallRole, Reply
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import NO_DETAILS, AnswerDetails, Judged, TrialResult

MARGIN = 1.5
"""How much of the largest excess seen is set aside for later calls: the next one may be larger."""
_EXACT = 1e-9  # dollars: less is no excess, but rounding


class Reservation(Record, frozen=True):
    """Money set aside for one call, in US dollars.

    Attributes:
        bound_usd: Its worst price, as the request says.
        hidden_usd: What may come on top, for all that is known.
    """

    bound_usd: float
    provider: str = ""
    hidden_usd: float = 0.0


NOTHING = Reservation(0.0)
"""Set aside for a call where there is no limit."""


class _Account(MutableRecord):
    """What one model's calls came to.

    Attributes:
        bounds_usd: Their worst prices.
        hidden_usd: What may come on top of those.
        bills: Calls whose cost is known.
        excess_usd: The most by which one was above its worst price.
    """

    under_way: int = 0
    bounds_usd: float = 0.0
    hidden_usd: float = 0.0
    bills: int = 0
    excess_usd: float = 0.0

    def worst(self, bound_usd: float) -> float:
        """What a call can cost, as far as its bills show."""
        return bound_usd + MARGIN * self.excess_usd

    @property
    def reserved_usd(self) -> float:
        """What its calls under way can cost."""
        return self.bounds_usd + self.under_way * MARGIN * self.excess_usd

    def doubt(self, hidden_usd: float) -> float:
        """What may come on top of the worst prices of its calls under way and of one more, as far as bills show."""
        return (self.hidden_usd + hidden_usd) * 0.5**self.bills


HIGHER = (
    "`evenhand resume --max-cost` with a higher limit continues where it stopped. A limit on the length of answers,"
    " such as max_tokens, makes what a call may cost smaller."
)


def plain(usd: float) -> str:
    """A number without an exponent, however small: 0.00001, 1, 2.5."""
    return f"{usd:.10f}".rstrip("0").rstrip(".")


def _dollars(usd: float) -> str:
    """US dollars in four digits, or in as many as it takes to differ from nothing."""
    return f"${usd:.4f}" if usd == 0 or usd >= 0.0001 else f"${plain(usd)}"


class Budget:
    """What a run may spend.

    Args:
        max_cost_usd: No call is sent that could take the run past this; None for no limit.
        spent_usd: What earlier sessions of the same run spent.
        note: Told, a line at a time, what should be known at once.
    """

    def __init__(
        self,
        max_cost_usd: float | None = None,
        spent_usd: float = 0.0,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._max = max_cost_usd
        self.spent_usd = spent_usd
        self._note = note
        self._accounts: dict[str, _Account] = {}
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def reserved_usd(self) -> float:
        """What the calls under way can cost."""
        return sum(account.reserved_usd for account in self._accounts.values())

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._max is not None

    def remember(self, provider: str, bills: int, excess_usd: float) -> None:
        """Takes over what earlier sessions of the same run learned of a model.

        Args:
            bills: How many of its calls have a known cost.
            excess_usd: The most by which one was above its worst price.
        """
        if self._max is not None:
            self._accounts[provider] = _Account(bills=bills, excess_usd=max(0.0, excess_usd))

    async def when_free(
        self, bound_usd: float | None, provider: str, hidden_usd: float = 0.0
    ) -> Reservation:
        """Sets the worst price of a call aside, as soon as the calls under way leave enough.

        Args:
            hidden_usd: What the vendor may bill on top of it, for output that no limit bounds.

        Raises:
            BudgetStop: Even when all of them cost nothing, the limit could be passed; or nobody knows the price.
        """
        if self._max is None:
            return NOTHING
        while self._has_to_wait(bound_usd, provider, hidden_usd):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        return self.reserve(bound_usd, provider, hidden_usd)

    def _has_to_wait(self, bound_usd: float | None, provider: str, hidden_usd: float) -> bool:
        if self._max is None or bound_usd is None:
            return False
        account = self._account(provider)
        worst = account.worst(bound_usd)
        if self.spent_usd + worst > self._max:
            return False  # it will never fit
        left = self._max - self.spent_usd - self.reserved_usd - worst
        if left < 0:
            return self._busy
        return account.under_way > 0 and account.doubt(hidden_usd) > left

    @property
    def _busy(self) -> bool:
        return any(account.under_way for account in self._accounts.values())

    def _account(self, provider: str) -> _Account:
        account = self._accounts.get(provider)
        if account is None:
            account = self._accounts[provider] = _Account()
        return account

    def reserve(
        self, bound_usd: float | None, provider: str, hidden_usd: float = 0.0
    ) -> Reservation:
        """Sets the worst price of a call aside. Without a limit it only says yes.

        Raises:
            BudgetStop: The limit could be passed, or nobody knows what the call may cost.
        """
        if self._max is None:
            return NOTHING
        if bound_usd is None:
            raise BudgetStop(unpriced(self._max, provider), hint=UNPRICED)
        account = self._account(provider)
        worst, reserved = account.worst(bound_usd), self.reserved_usd
        if self.spent_usd + reserved + worst > self._max:
            raise BudgetStop(
                f"the budget of ${plain(self._max)} is used up: {_dollars(self.spent_usd)} spent, "
                f"{_dollars(reserved)} reserved for calls in flight, "
                f"and the next call to {provider} may cost {_dollars(worst)}",
                hint=HIGHER,
            )
        account.bounds_usd += bound_usd
        account.hidden_usd += hidden_usd
        account.under_way += 1
        return Reservation(bound_usd, provider, hidden_usd)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Books what the call cost; where that is not known, the worst price that was set aside for it."""
        if reservation is NOTHING:
            self.spent_usd += cost_usd or 0.0
            return
        account = self._account(reservation.provider)
        worst = account.worst(reservation.bound_usd)
        self.spent_usd += worst if cost_usd is None else cost_usd
        account.under_way -= 1
        account.bounds_usd -= reservation.bound_usd
        account.hidden_usd -= reservation.hidden_usd
        if not account.under_way:  # nothing remains of sums that were rounded
            account.bounds_usd = account.hidden_usd = 0.0
        if cost_usd:
            account.bills += 1
            self._learn(account, reservation, cost_usd)
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _learn(self, account: _Account, reservation: Reservation, cost_usd: float) -> None:
        excess = cost_usd - reservation.bound_usd
        if excess <= account.excess_usd + _EXACT:
            return
        first = not account.excess_usd
        account.excess_usd = excess
        if first:
            self._note(
                f"{reservation.provider} charged ${cost_usd:.4f} for a call that its request bounds at "
                f"${reservation.bound_usd:.4f}: it bills more than the limit on its reply allows, hidden reasoning "
                f"for example. ${MARGIN * excess:.4f} more is set aside for each of its calls from now on; those "
                "in flight may still exceed the budget"
            )


UNPRICED = (
    "Give it in the provider's config: cost: <US dollars per token>; or maxCost: <US dollars per call> for code, "
    "programs, servers of your own, and whatever costs something else than tokens; for your application's own client, "
    "to recording.http_client(prices=…); or run without --max-cost."
)


def asked_with(provider: str, beyond: str) -> str:
    """A model, and what it is asked for that the price of its tokens doesn't cover."""
    return f"{provider} with {beyond}" if beyond else provider


def unpriced(max_cost_usd: float, provider: str) -> str:
    """What to say of a model under a budget whose price nobody knows."""
    return f"a budget of ${plain(max_cost_usd)} is set, but the price of {provider} is not known"


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
        "unpaid_usd",
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
        self.unpaid_usd: float | None = 0.0
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
        self.unpaid_usd = result.unpaid_usd if result.cached else 0.0

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
            known = reply.cost_usd is not None and self.unpaid_usd is not None
            self.unpaid_usd = (self.unpaid_usd or 0.0) + (reply.cost_usd or 0.0) if known else None
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
