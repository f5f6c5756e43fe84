"""What the headers of answers say of an account's limit: how much is left, and when it comes back.

How this works: what is sent is debited until the next header, as that one counts only what has arrived. Within one
window a header is believed only downwards, because answers overtake each other. Some vendors hand out a window's worth
at once when it begins; others refill all the time, and name the second at which the bucket will be full. Two headers
tell them apart: in a bucket that refills, twice as much used takes twice as long to come back.

Vendors may count by the minute and enforce by the second. Then a header says that there is enough, and calls are
refused all the same. What comes in a second is the pace to keep to (see `pace`).
"""

from __future__ import annotations

from evenhand.core.record import MutableRecord

STEADY = 0.2
"""How far the seconds that a unit takes to come back may differ between two headers of a bucket that refills."""
MINUTE_S = 60.0
COUNTED = 10
"""Headers count whole units. Of fewer, a part of one is too much to compare them."""
NEARLY = 0.25
"""The time in which a bucket by the minute fills may be so far from a minute: vendors round the seconds."""


class HeaderBucket(MutableRecord):
    """Requests or tokens that a vendor hands out.

    Attributes:
        remaining: How many were left at the last header, less what was debited since; infinite where nothing is known.
        resets_at: When the window ends or the bucket is full, and what is known with it.
        refill: How many come in a second, as measured; 0 where they come all at once.
        a_second: How many come in a second, where a limit by the minute refills all the time; 0 where it does not, or
            is by the day: that reserve may be used much faster.
    """

    remaining: float = float("inf")
    resets_at: float = 0.0
    refill: float = 0.0
    a_second: float = 0.0
    _counted_at: float = 0.0
    _used: float = 0.0
    _back_in_s: float = 0.0

    def learn(
        self, limit: float | None, remaining: float | None, reset_s: float | None, now: float
    ) -> None:
        """Takes what a header says."""
        if remaining is None or reset_s is None or reset_s <= 0:
            return
        if limit is not None and remaining < limit:
            self._compare(limit, limit - remaining, reset_s)
        if now >= self.resets_at or remaining < self._level(now):
            self.remaining, self._counted_at = remaining, now
            self.resets_at = now + reset_s
        elif self.refill:  # the count holds, and goes on until the bucket is full
            self.resets_at = max(self.resets_at, now + reset_s)

    def take(self, amount: float, now: float) -> None:
        """Debits."""
        if now < self.resets_at:
            self.remaining -= amount

    def give_back(self, amount: float, taken_at: float) -> None:
        """What was debited then is not used after all. A header that has come since has not counted it."""
        if self._counted_at <= taken_at:
            self.remaining += amount

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until this much may be taken; 0 for now."""
        if now >= self.resets_at:
            return 0.0
        missing = amount - self._level(now)
        if missing <= 0:
            return 0.0
        until_reset = self.resets_at - now
        return min(until_reset, missing / self.refill) if self.refill else until_reset

    def _level(self, now: float) -> float:
        return self.remaining + self.refill * (now - self._counted_at)

    def _compare(self, limit: float, used: float, reset_s: float) -> None:
        if not self._used:
            self.a_second = _by_minute(limit, reset_s, used - 1, used)
        if used < min(COUNTED, limit / 2):
            return
        if self._used <= used < 2 * self._used:
            return  # too near each other to tell
        if used >= 2 * self._used > 0:
            before = self._back_in_s / self._used
            steady = abs(reset_s / used - before) <= STEADY * before
            self.refill = used / reset_s if steady else 0.0
            self.a_second = _by_minute(limit, reset_s, used, used) if steady else 0.0
        self._used, self._back_in_s = used, reset_s


def _by_minute(limit: float, reset_s: float, least: float, most: float) -> float:
    """What comes in a second, if a bucket of which so much is used would fill in a minute; else 0."""
    fills_in_s = limit * reset_s / most
    longest_s = limit * reset_s / least if least > 0 else float("inf")
    if fills_in_s > (1 + NEARLY) * MINUTE_S or longest_s < (1 - NEARLY) * MINUTE_S:
        return 0.0
    return limit / MINUTE_S
