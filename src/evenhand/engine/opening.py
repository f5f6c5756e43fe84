"""What an account goes through: its first calls, of which nobody knows what it takes; its windows; and being closed.

How this works: until one is answered, a few calls go out at once and the others one after the other, so fast that a
run with many calls at once hardly notices. Where headers name no limit by the minute, the first answer says how long a
round trip takes, and the others go out within one. So a limit refuses few calls before its first refusals are heard.

Where headers name a limit by the minute, it may be enforced by the second, or not: calls go out at twice a second's
share. Either more are accepted than come to a second's share, and nothing holds them back any more; or some are
refused, and calls are held to it from then on.
"""

from __future__ import annotations

AT_ONCE = 5.0
"""Calls that go out in the first moment."""
A_SECOND = 40.0
"""How many more go out a second until one is answered."""
SPREAD_S = 0.5
"""Then as many as may be in flight go out within a round trip, but within this: refusals come sooner than answers."""
LATE_S = 0.02
"""What becomes due while the loop is busy for so long goes out at once."""
FASTER = 2.0
"""Where headers name a limit by the minute, so many times a second's share."""
MORE = 1.25
"""A limit by the second with a reserve of one second takes less than so many times what that comes to."""
BEYOND = 2
"""And so many calls: of a small limit, one more is within what a clock is off."""
REFUSED = 2
"""Refused calls that tell of a limit: one may be an accident."""


class Opening:
    """What holds the first calls to an account back.

    Args:
        ceiling: The most calls that may be in flight.

    Attributes:
        over: It holds nothing back any more.
    """

    __slots__ = (
        "_accepted",
        "_at",
        "_ceiling",
        "_most",
        "_named",
        "_rate",
        "_refused",
        "_room",
        "_since",
        "_until",
        "over",
    )

    def __init__(self, ceiling: float) -> None:
        self.over = False
        self._ceiling = ceiling
        self._rate, self._room, self._most = A_SECOND, AT_ONCE, AT_ONCE
        self._at = self._since = 0.0
        self._accepted = self._refused = 0
        self._named = 0.0
        self._until = float("inf")

    def wait_s(self, now: float) -> float:
        """Seconds until one more call may be sent; 0 for now."""
        if now >= self._until:
            self.over = True
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
        # Where the others go out within a round trip already, a failure is no reason to send them all at once.
        self.over = self.over or not (self._named or self._until < float("inf"))

    def heard(self, named: float, now: float, *, refused: bool, took_s: float = 0.0) -> bool:
        """A call was answered, or refused.

        Args:
            named: How many calls a second the headers come to; 0 where they name no limit by the minute.
            took_s: The round trip of an answer.

        Returns:
            Whether calls are to be held to that from now on.
        """
        self._accepted += not refused
        self._refused += refused
        if not named:
            if not refused and self._until == float("inf"):
                self._spread(min(took_s, SPREAD_S), now)
            return False
        share = named * (now - self._since)
        if self._accepted < share:  # so few are sent that its reserve is full
            self._since, self._accepted, share = now, 0, 0.0
        if self._accepted > MORE * (named + share) + BEYOND:
            self.over = True
        elif self._refused >= REFUSED:
            self.over = True
            return True
        elif self._named != named:
            self._named, self._until = named, float("inf")
            self._begin(FASTER * named, 1.0, now)
        return False

    def _spread(self, seconds: float, now: float) -> None:
        """Has as many as may be in flight sent within so many seconds, unless no more may be than go out at once."""
        self._until = now + seconds
        if self._ceiling <= AT_ONCE:
            self.over = True
        elif seconds > 0:
            rate = self._ceiling / seconds
            self._begin(rate, max(1.0, rate * LATE_S), now)

    def _begin(self, rate: float, most: float, now: float) -> None:
        self._rate, self._room, self._most, self._at = rate, 0.0, most, now

    def _room_at(self, now: float) -> float:
        return min(self._most, self._room + (now - self._at) * self._rate)


MINUTE_S = 60.0
"""Vendors that count in windows count by the minute. The ends of other windows are found by asking."""
HALF_S = 30.0
"""An account that was closed for less may be in a shorter window, of which several make a minute."""


class Window:
    """The window that an account is in.

    It holds what was accepted between an opening and the next. Once that much has been sent, one more call tries
    whether there is more, so the end of a window that is known costs one refusal. A vendor that names no wait has to be
    asked whether the next window has begun, which costs refusals too. An opening lies between the last call that was
    refused and the first that was accepted. Once two of them may be a minute apart, the next one is waited for.
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

    It is closed for as long as the vendor says, or, where it says nothing, for pauses that double. Then one call at a
    time is sent until one of these is accepted: no herd meets a window that has just opened.

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
