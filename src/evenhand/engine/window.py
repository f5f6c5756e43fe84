"""What a vendor hands out when a window begins, learned from when an account closed and opened again.

How this works: a window holds what was accepted between an opening and the next. Once that much has been sent, one more
call tries whether there is more. So the end of a window that is known costs one refusal, and not one for each call
that is in flight.

A vendor that names no wait has to be asked whether the next window has begun, which costs refusals too. An opening lies
between the last call that was refused and the first that was accepted. Once two of them may be a minute apart, the next
one is waited for.
"""

from __future__ import annotations

MINUTE_S = 60.0
"""Vendors that count in windows count by the minute. The ends of other windows are found by asking."""
HALF_S = 30.0
"""An account that was closed for less may be in a shorter window, of which several make a minute."""


class Window:
    """The window that an account is in.

    Attributes:
        nth: Which one.
    """

    __slots__ = ("_began_at", "_by_minute", "_earliest", "_more", "_size", "_taken", "nth")

    def __init__(self) -> None:
        self.nth = 0
        self._size = float("inf")
        self._taken = 0
        self._more = 1
        self._began_at = float("-inf")
        # No call was accepted between this and the beginning.
        self._earliest = float("-inf")
        self._by_minute = False

    def used_up(self, now: float) -> bool:
        """Whether no more may be sent while calls are in flight: as much is taken as is known to be there."""
        if self._taken < self._size:
            return False
        tried = self._more if self._more > 1 else 0
        return self._taken >= self._size + tried and now < self._began_at + MINUTE_S

    def sent(self, now: float, *, closed: bool) -> bool:
        """A call is sent; if the account is closed, to see whether it is. Returns whether it is one too many."""
        if self._taken >= self._size and now >= self._began_at + MINUTE_S and not closed:
            self._begin(now)
        self._taken += 1
        return self._taken > self._size and not closed

    def took_nothing(self, nth: int) -> None:
        """A call of that window was refused, or not sent after all."""
        if nth == self.nth:
            self._taken -= 1

    def holds_more(self) -> None:
        """One more than the window was known to hold was accepted: twice as many are tried in each round trip."""
        self._size += 1
        self._more += 1

    def opened(self, closed_at: float, refused_at: float, sent_at: float) -> None:
        """An account that was closed for long is open.

        Args:
            closed_at: When it closed.
            refused_at: When the last call was refused.
            sent_at: When the first was sent that was accepted.
        """
        least, most = refused_at - self._began_at, sent_at - self._earliest
        self._by_minute = least < MINUTE_S <= most and sent_at - closed_at > HALF_S
        self._size = self._taken - 1.0  # without the call that found it open
        self._begin(sent_at)
        self._taken = 1
        self._earliest = refused_at

    def ends_in_s(self, now: float) -> float | None:
        """Seconds until the next one begins; None where that is not known."""
        left = self._began_at + MINUTE_S - now
        return left if self._by_minute and left > 0 else None

    def _begin(self, now: float) -> None:
        self.nth += 1
        self._taken = 0
        self._more = 1
        self._began_at = now
        self._earliest = now
