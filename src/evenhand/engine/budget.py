"""The run's budget: the worst price of a call is set aside before it is sent, and what it cost is booked after."""

from __future__ import annotations

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

    def reserve(self, bound_usd: float | None, provider: str) -> Reservation:
        """Sets the worst price of a call aside. Without a limit it only says yes.

        Raises:
            BudgetStop: The limit could be passed, or nobody knows what the call may cost.
        """
        if self._max is None:
            return NOTHING
        if bound_usd is None:
            raise BudgetStop(
                f"a budget of ${self._max:g} is set, but the price of {provider} is not known",
                hint="Give it in the provider's config: cost: <US dollars per token>, or run without --max-cost.",
            )
        if self.spent_usd + self.reserved_usd + bound_usd > self._max:
            raise BudgetStop(
                f"the budget of ${self._max:g} is used up: ${self.spent_usd:.4f} spent, "
                f"${self.reserved_usd:.4f} set aside for calls under way, "
                f"and the next call to {provider} may cost ${bound_usd:.4f}",
                hint="`evenhand resume --max-cost` with a higher limit goes on where it stopped.",
            )
        self.reserved_usd += bound_usd
        return Reservation(bound_usd)

    def settle(self, reservation: Reservation, cost_usd: float | None) -> None:
        """Books what the call cost; where that is not known, the worst price that was set aside for it."""
        self.reserved_usd -= reservation.bound_usd
        self.spent_usd += reservation.bound_usd if cost_usd is None else cost_usd
