"""So many calls a second, evenly spread.

How this works: credit comes in with time and a call takes 1 of it. Nearly none is kept for later, so that after a pause
there is no burst. Where a vendor refuses large calls rather than small ones it counts tokens, and from then on a call
takes as much as its tokens are of the usual ones. It waits until all of that is there: a vendor that is at its limit
refuses a large call for which it has not saved.
"""

from __future__ import annotations

BURST_S = 0.01
"""Credit for this long is kept: what a late timer is late by, and no more."""
LONG_BURST_S = 0.1
"""The same on a busy machine, where the vendor is known to keep a reserve."""
LARGER = 1.3
"""Refused calls that are so many times as large as accepted ones are refused for their size."""
ENOUGH_REFUSED = 5
"""A mean of fewer refused calls says nothing of their size."""


class Mean:
    """A mean of the latest numbers; older ones fade.

    Args:
        most: Numbers that count as much as the latest one.
    """

    __slots__ = ("_most", "count", "mean")

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 0
        self.mean = 0.0

    def add(self, number: float) -> None:
        """Takes one more."""
        self.count = min(self._most, self.count + 1)
        self.mean += (number - self.mean) / self.count


class Flow:
    """What holds calls back by the second.

    Attributes:
        rate: How much may be sent a second, in calls of the usual size; None where nothing is held.
        usual: The tokens of a call of the usual size; 0 where a call is a call.
    """

    __slots__ = ("_accepted", "_burst_s", "_credit", "_credited_at", "_refused", "rate", "usual")

    def __init__(self) -> None:
        self.rate: float | None = None
        self.usual = 0.0
        self._burst_s = BURST_S
        self._credit = 0.0
        self._credited_at = 0.0
        self._accepted = Mean(200)
        self._refused = Mean(30)

    def begin(self, rate: float, now: float, burst_s: float = BURST_S) -> None:
        """Holds calls to this rate, from no credit on.

        Where calls count by their tokens, it saves first for one as large as those that are refused: the vendor has
        nothing left, and would refuse the next large one too.
        """
        self.rate, self._burst_s = rate, burst_s
        self._credit = -self.largest if self.usual else 0.0
        self._credited_at = now

    @property
    def largest(self) -> float:
        """What a call counts that is as large as those that are refused."""
        return max(1.0, self._refused.mean / self.usual) if self.usual else 1.0

    def change(self, rate: float, now: float) -> None:
        """Goes on at this rate, with the credit that there is."""
        if self.rate is not None:
            self._credit, self._credited_at = self._credits(self.rate, now), now
        self.rate = rate

    def amount(self, tokens: int) -> float:
        """What a call of so many tokens counts."""
        return tokens / self.usual if self.usual else 1.0

    def wait_s(self, tokens: int, now: float) -> float:
        """Seconds until a call may be sent; 0 for now."""
        if self.rate is None:
            return 0.0
        amount = self.amount(tokens)
        return max(0.0, (amount - self._credits(self.rate, now, amount)) / self.rate)

    def take(self, tokens: int, now: float) -> None:
        """A call is sent."""
        if self.rate is not None:
            amount = self.amount(tokens)
            self._credit = self._credits(self.rate, now, amount) - amount
            self._credited_at = now

    def give_back(self, tokens: int) -> None:
        """A call was not sent after all."""
        self._credit += self.amount(tokens)

    def accepted(self, tokens: int) -> None:
        """A call of this size was accepted."""
        self._accepted.add(tokens)

    def refused(self, tokens: int) -> bool:
        """A call of this size was refused. Returns whether calls count by their tokens from now on."""
        self._refused.add(tokens)
        usual = self._accepted.mean
        if self.usual or self._refused.count < ENOUGH_REFUSED:
            return False
        if not self._refused.mean > LARGER * usual > 0:
            return False
        self.usual = usual
        return True

    def _credits(self, rate: float, now: float, amount: float = 1.0) -> float:
        return min(
            max(1.0, amount, rate * self._burst_s), self._credit + (now - self._credited_at) * rate
        )
