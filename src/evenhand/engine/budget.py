"""The run's budget: the worst price of a call is set aside before it is sent, and what it cost is booked after.

The worst price is often a hundred times the real one (a reply may have 128,000 tokens, and has 300). So a call for
which too little is left waits for those under way to be booked: what ends a run is money spent, not money set aside.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from evenhand.core.errors import BudgetStop


@dataclass(slots=True)
class Reservation:
    """Money set aside for one call, in US dollars."""

    bound_usd: float


NOTHING = Reservation(0.0)
"""Set aside for a call where there is no limit."""


class Budget:
    """What a run may spend.

    Args:
        max_cost_usd: No call is sent that could take the run past this; None for no limit.
        spent_usd: What earlier sessions of the same run spent.
    """

    def __init__(self, max_cost_usd: float | None = None, spent_usd: float = 0.0) -> None:
        self._max = max_cost_usd
        self.spent_usd = spent_usd
        self.reserved_usd = 0.0
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def when_free(self, bound_usd: float | None, provider: str) -> Reservation:
        """Sets the worst price of a call aside, as soon as the calls under way leave enough.

        Raises:
            BudgetStop: Even when all of them cost nothing, the limit could be passed; or nobody knows the price.
        """
        while self._under_way and self._may_fit_later(bound_usd):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        return self.reserve(bound_usd, provider)

    def _may_fit_later(self, bound_usd: float | None) -> bool:
        if self._max is None or bound_usd is None:
            return False
        most = self.spent_usd + bound_usd
        return most <= self._max < most + self.reserved_usd

    def reserve(self, bound_usd: float | None, provider: str) -> Reservation:
        """Sets the worst price of a call aside. Without a limit it only says yes.

        Raises:
            BudgetStop: The limit could be passed, or nobody knows what the call may cost.
        """
        if self._max is None:
            return NOTHING
        if bound_usd is None:
            raise BudgetStop(unpriced(self._max, provider), hint=UNPRICED)
        if self.spent_usd + self.reserved_usd + bound_usd > self._max:
            raise BudgetStop(
                f"the budget of ${self._max:g} is used up: ${self.spent_usd:.4f} spent, "
                f"${self.reserved_usd:.4f} set aside for calls under way, "
                f"and the next call to {provider} may cost ${bound_usd:.4f}",
                hint="`evenhand resume --max-cost` with a higher limit goes on where it stopped.",
            )
        self.reserved_usd += bound_usd
        self._under_way += 1
        return Reservation(bound_usd)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Books what the call cost; where that is not known, the worst price that was set aside for it."""
        self.spent_usd += reservation.bound_usd if cost_usd is None else cost_usd
        if reservation is NOTHING:
            return
        self._under_way -= 1
        self.reserved_usd = self.reserved_usd - reservation.bound_usd if self._under_way else 0.0
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


UNPRICED = (
    "Give it in the provider's config: cost: <US dollars per token>; for your application's own client, to "
    "recording.http_client(prices=…); or run without --max-cost."
)


def unpriced(max_cost_usd: float, provider: str) -> str:
    """What to say of a model under a budget whose price nobody knows."""
    return f"a budget of ${max_cost_usd:g} is set, but the price of {provider} is not known"
