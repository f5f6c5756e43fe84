"""The first calls to an account, of which nobody knows yet what it takes.

How this works: until one is answered, a few calls go out at once and the others one after the other, so fast that a
run with many calls at once hardly notices. Where headers name no limit by the minute, the first answer ends it. Where
they do, the limit may be enforced by the second, or not: calls go out at twice a second's share. Either more are
accepted than come to a second's share, and nothing holds them back any more; or some are refused, and calls are held to
it from then on.
"""

from __future__ import annotations

AT_ONCE = 5.0
"""Calls that go out in the first moment."""
A_SECOND = 40.0
"""How many more go out a second until one is answered."""
FASTER = 2.0
"""From then on, so many times a second's share."""
MORE = 1.25
"""A limit by the second with a reserve of one second takes less than so many times what that comes to."""
BEYOND = 2
"""And so many calls: of a small limit, one more is within what a clock is off."""
REFUSED = 2
"""Refused calls that tell of a limit: one may be an accident."""


class Opening:
    """What holds the first calls to an account back.

    Attributes:
        over: It holds nothing back any more.
    """

    __slots__ = (
        "_accepted",
        "_at",
        "_most",
        "_rate",
        "_refused",
        "_room",
        "_since",
        "over",
    )

    def __init__(self) -> None:
        self.over = False
        self._rate, self._room, self._most = A_SECOND, AT_ONCE, AT_ONCE
        self._at = self._since = 0.0
        self._accepted = self._refused = 0

    def wait_s(self, now: float) -> float:
        """Seconds until one more call may be sent; 0 for now."""
        return 0.0 if self.over else max(0.0, (1 - self._room_at(now)) / self._rate)

    def sent(self, now: float) -> None:
        """A call is sent."""
        if self.over:
            return
        self._room = self._room_at(now) - 1
        self._since = self._since or now
        self._at = now

    def withdrawn(self) -> None:
        """A call was not sent after all."""
        self._room += 1

    def failed(self) -> None:
        """A call failed for a reason of its own, which says nothing of limits: that is an answer, too."""
        self.over = self.over or self._rate == A_SECOND

    def heard(self, named: float, now: float, *, refused: bool) -> bool:
        """A call was answered, or refused.

        Args:
            named: How many calls a second the headers come to; 0 where they name no limit by the minute.
            now: Seconds.
            refused: It was refused.

        Returns:
            Whether calls are to be held to that from now on.
        """
        self._accepted += not refused
        self._refused += refused
        share = named * (now - self._since)
        if self._accepted < share:  # so few are sent that its reserve is full
            self._since, self._accepted, share = now, 0, 0.0
        taken_by_second = MORE * (named + share) + BEYOND
        if not named:
            self.over = not refused
        elif self._accepted > taken_by_second:
            self.over = True
        elif self._refused >= REFUSED:
            self.over = True
            return True
        elif self._rate != FASTER * named:
            self._rate, self._room, self._most, self._at = FASTER * named, 0.0, 1.0, now
        return False

    def _room_at(self, now: float) -> float:
        return min(self._most, self._room + (now - self._at) * self._rate)
