"""When a call that failed is tried again, and when not.

What the vendor will not take is not repeated; rate limits are waited out (within the time limit); faults and lost
connections are repeated a few times. A call waits for as long as the vendor says. Where it says nothing, it waits for a
pause that doubles and is drawn at random below its bound ("full jitter": Brooker, AWS Architecture Blog, 2015), so that
callers spread out.
"""

from __future__ import annotations

import random

from evenhand.core.errors import ProviderError, RateLimited
from evenhand.core.record import Record


class RetryPolicy(Record, frozen=True):
    """How often and how long.

    Attributes:
        attempts: Sendings of one call in all, rate limits not counted.
        base_s: The first pause is at most this long; each further one at most twice as long.
        longest_s: No pause is longer.
        give_up_s: One call is given up after this long, rate limits included.
        longest_wait_s: A vendor that asks for a longer wait than this is not waited for.
    """

    attempts: int = 6
    base_s: float = 0.5
    longest_s: float = 30.0
    give_up_s: float = 900.0
    longest_wait_s: float = 600.0

    def pause(
        self, error: ProviderError, attempts: int, seconds: float, draw: random.Random
    ) -> float | None:
        """Seconds to wait before the next sending; None to give up.

        Args:
            error: How the last one failed.
            attempts: Sendings so far.
            seconds: Time since the first.
            draw: Where randomness comes from.
        """
        if not error.retryable or seconds > self.give_up_s:
            return None
        wait_s = error.retry_after_s
        if wait_s is not None and wait_s > self.longest_wait_s:
            return None
        if not isinstance(error, RateLimited) and attempts >= self.attempts:
            return None
        if wait_s is not None and wait_s >= self.base_s:
            return wait_s
        # One that asks for next to none is not asked again without end.
        return max(wait_s or 0.0, self._jittered(attempts, draw))

    def _jittered(self, attempts: int, draw: random.Random) -> float:
        doublings = min(attempts - 1, 30)
        return draw.uniform(0, min(self.longest_s, self.base_s * 2**doublings))
