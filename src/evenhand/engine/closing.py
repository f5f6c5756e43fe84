"""When an account is closed: nothing that is sent is accepted, so nothing is sent for a while.

How this works: it is closed for as long as the vendor says, or, where it says nothing, for pauses that double. Then one
call at a time is sent until one of these is accepted: no herd meets a window that has just opened.
"""

from __future__ import annotations

PAUSE_S = 0.25
"""The first pause where the vendor names none."""
LONGEST_PAUSE_S = 8.0
"""The longest for an account at its limit: a window of a minute is found open within an eighth of it."""
LONGEST_OVERLOAD_S = 0.5
"""The longest for a vendor that is overloaded: that passes by itself, and two calls a second do not delay it. Half of
it is lost on average after each overload."""
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
        closed_at: When it closed; None where it is open.
        refused_at: When it last closed, or was closed for longer.
    """

    __slots__ = (
        "_limited",
        "_overloads",
        "_pauses",
        "alone",
        "closed_at",
        "refused_at",
        "until",
        "windowed",
    )

    def __init__(self) -> None:
        self.until = float("-inf")
        self.alone = False
        self.windowed = False
        self.closed_at: float | None = None
        self.refused_at = float("-inf")
        self._pauses = 0
        self._limited = False
        self._overloads = 0

    def close(self, now: float, asked_s: float | None, *, overload: bool = False) -> None:
        """Closes the account; where it is closed, it stays so for as long as was said first.

        Args:
            now: Seconds.
            asked_s: The wait that the vendor asks for; None for none.
            overload: It is too busy, and not at its limit.
        """
        if now < self.until:
            return
        if asked_s is None:
            longest_s = LONGEST_OVERLOAD_S if overload else LONGEST_PAUSE_S
            asked_s = min(longest_s, PAUSE_S * 2 ** min(self._pauses, 30))
            self._pauses += 1
        if self.closed_at is None:
            self.closed_at, self._limited = now, True
        self._limited = self._limited and not overload
        self.refused_at = now
        self.until = now + asked_s
        self.alone = True

    def overloaded(self, now: float, asked_s: float | None) -> None:
        """The vendor was too busy for a call."""
        self._overloads += 1
        if self._overloads >= OVERLOADS:
            self.close(now, asked_s, overload=True)

    def finds_window(self, sent_at: float) -> bool:
        """Whether a call that was sent at that time and accepted found that a window has begun."""
        return (
            self.closed_at is not None
            and self._limited
            and sent_at >= self.until
            and sent_at - self.closed_at > WINDOW_S
        )

    def accepted(self, sent_at: float) -> None:
        """A call was accepted that was sent at that time."""
        self._overloads = 0
        # What was sent before it closed and is answered afterwards does not say that it is open.
        if self.closed_at is None or sent_at < self.until:
            return
        self.windowed = self.windowed or self.finds_window(sent_at)
        self.closed_at = None
        self.alone = False
        self._pauses = 0
