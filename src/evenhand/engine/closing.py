"""When an account is closed: nothing that is sent is accepted, so nothing is sent for a while.

How this works: it is closed for as long as the vendor says, or, where it says nothing, for pauses that double. Then one
call at a time is sent until one is accepted: no herd meets a window that has just opened.
"""

from __future__ import annotations

PAUSE_S = 0.25
"""The first pause where the vendor names none."""
LONGEST_PAUSE_S = 8.0
"""The longest for an account at its limit: a window of a minute is found open within an eighth of it."""
LONGEST_OVERLOAD_S = 2.0
"""The longest for a vendor that is overloaded: that passes by itself, and asking does not delay it."""
OVERLOADS = 5
"""So many calls in a row that a vendor is too busy for: fewer are an accident."""
WINDOW_S = 5.0
"""A vendor that accepts nothing for longer than this hands out windows: a bucket would have had something by then."""


class Closing:
    """Whether an account is closed, and until when.

    Attributes:
        until: When it opens.
        alone: One call at a time: it has opened, and nothing has been accepted since.
        windowed: It has been closed for so long that it must hand out windows.
    """

    __slots__ = ("_overloads", "_pauses", "_since", "alone", "until", "windowed")

    def __init__(self) -> None:
        self.until = float("-inf")
        self.alone = False
        self.windowed = False
        self._since: float | None = None
        self._pauses = 0
        self._overloads = 0

    def close(self, now: float, asked_s: float | None, longest_s: float = LONGEST_PAUSE_S) -> None:
        """Closes the account; where it is closed, it stays so for as long as was said first.

        Args:
            asked_s: The wait that the vendor asks for; None for none.
            longest_s: Bound of the pause where it asks for none.
        """
        if now < self.until:
            return
        if asked_s is None:
            asked_s = min(longest_s, PAUSE_S * 2 ** min(self._pauses, 30))
            self._pauses += 1
        if self._since is None:
            self._since = now
        self.until = now + asked_s
        self.alone = True

    def overloaded(self, now: float, asked_s: float | None) -> None:
        """The vendor was too busy for a call."""
        self._overloads += 1
        if self._overloads >= OVERLOADS:
            self.close(now, asked_s, LONGEST_OVERLOAD_S)

    def accepted(self, now: float) -> None:
        """A call was accepted."""
        self._overloads = 0
        if self._since is None:
            return
        self.windowed = self.windowed or now - self._since > WINDOW_S
        self._since = None
        self.alone = False
        self._pauses = 0
