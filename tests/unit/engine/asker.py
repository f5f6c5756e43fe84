"""An account of which something is known, and whose permits are given back in the order in which they were given."""

from __future__ import annotations

import random
from collections.abc import Callable

from evenhand.core.errors import ProviderError, RateLimited
from evenhand.core.provider import RateLimits
from evenhand.engine.pace import Permit
from evenhand.engine.rate_limits import Account
from evenhand.engine.retry_pauses import RetryPolicy


class Asker(Account):
    """Asks for permits and answers for the oldest one.

    Args:
        clock: Seconds.
        ceiling: The most in flight.
        start: How many at first.
        policy: When to try again.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        ceiling: int = 100,
        start: int = 10,
        policy: RetryPolicy | None = None,
    ) -> None:
        draw = random.Random(1)
        super().__init__("api.example.com", ceiling, start, policy or RetryPolicy(), clock, draw)
        self.pace.opening.over = True
        self.permits: list[Permit] = []

    async def ask(self, priority: int = 0, tokens: int = 0) -> None:
        """Waits for a permit, and keeps it."""
        self.permits.append(await self.acquire(priority, tokens))

    def answer(
        self, error: ProviderError | None = None, rates: RateLimits | None = None, tokens: int = 0
    ) -> None:
        """Gives the oldest permit back."""
        self.release(self.permits.pop(0), error, rates, tokens)

    def give_up(self) -> None:
        """Gives the oldest permit back: nothing was sent."""
        self.withdraw(self.permits.pop(0))

    async def refuse(self, count: int, seconds: float | None = None) -> None:
        """So many calls at once, all of them refused."""
        for _ in range(count):
            await self.ask()
        for _ in range(count):
            self.answer(RateLimited("slow down", retry_after_s=seconds))
