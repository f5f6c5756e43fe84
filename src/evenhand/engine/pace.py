"""How many calls may be in flight, and how many a second, learned from what an account refuses.

How this works. A vendor says 429 for one of three reasons, and does not say for which: too many requests a second (or
tokens, or requests a minute), too many at once, or it sheds some requests whoever sends them. What holds calls back has
to fit the reason: a client that halves its pace for a gateway that sheds one request in twenty is slow for nothing.

*Free.* A refused call waits; all others go on. The width (how many may be in flight) doubles from round to round up to
the ceiling. Once more calls are refused than shedding explains, calls are *held*. Where fewer are refused, but not
few, there is a *trial*: for a while, a little less is sent than was accepted. A limit then refuses next to nothing, and
that is the rate to hold calls to. A gateway that sheds refuses as large a share as before.

*Held by width.* As many may be in flight as were and were not refused. A call refused among more than were accepted
says that the width is the limit. Where calls are refused among as many as were accepted before, it is the rate. One
refusal after another at the same width proves nothing, unless calls were accepted there too.

*Held by rate.* The rate is what was accepted between two refusals: a bucket that is empty at both ends has let through
just what came in. Where this accepts less than the width did, the width is taken up again.

*Opening.* The first calls go out as `opening` has it.

*Named by headers.* Some vendors' headers count the minute, and calls are refused by the second. What they name comes to
a rate. Calls are held to that, and are not sent faster to see whether more is allowed.

Both are raised a little after a while without refusals, faster as that succeeds, more seldom as it fails. Where calls
are refused as often as before although ever fewer are sent, the vendor sheds, and all are free again (see `refusals`).
Where nothing at all is accepted, the account is closed for a while (see `closing`). If that takes long, the vendor
hands out windows: what one holds, and when the next begins, is learned apart (see `window`).
"""

from __future__ import annotations

from evenhand.core.record import MutableRecord
from evenhand.engine.flow import LONG_BURST_S, Flow
from evenhand.engine.opening import Closing, Opening, Window
from evenhand.engine.refusals import AT_FIRST, SPREAD, Refusals

SLACK = 0.99
"""The share of a measured rate that is used: at all of it, the first jitter meets a refusal."""
TRIED = 0.97
"""The share of what was accepted that is sent in a trial: a limit refuses next to nothing of that."""
CUT = 0.9
"""The rate after a refusal that came too soon to measure one."""
STEP = 0.02
"""The first raise after a refusal; each one that succeeds is followed by one twice as large."""
LARGEST_STEP = 0.25
"""The largest raise: what it is too high by is refused."""
FEW_CALLS = 4
"""Calls to accept before the first raise; twice as many after each raise that failed."""
MOST_CALLS = 400
"""Calls to accept before a raise, at most: one refused among so many is cheap."""
LONGEST_HOLD_S = 20.0
"""Nor does it take longer to find that more is allowed again, where calls are few."""
LEAST_CALLS = 80
"""But for as many: one refused among them is 1 %, and all that a limit on what is in flight need cost."""
BEYOND = 5
"""Calls accepted among as many as others were refused among: so the width is not the limit."""
LONGEST_WINDOW_S = 240.0
"""The same where a vendor hands out windows: it takes some of them to see what one holds."""
SOON_S = 0.5
"""A time too short to measure a rate in."""
ROUND_TRIPS = 4
"""Nor is a time of fewer round trips long enough."""
WORSE = 0.92
"""A rate below this share of what the width let through is not the limit."""
RATES_HOLD_S = 30.0
"""After a rate was found to be no limit, none is tried for so long; twice as long the next time."""
RECENT = 0.1
"""What the latest call counts in the mean of round trips."""


class Permit(MutableRecord, kw_only=True):
    """One attempt's leave to be sent.

    Attributes:
        tokens: What was debited for it.
        among: How many were in flight when it was given, itself included.
        epoch: Under which settings.
        sent_at: When it was sent; before that, when it was given.
        extra: One more than the window is known to hold.
        number: Under which number another process has it, and knows the rest; 0 for none.
    """

    tokens: int = 0
    among: int = 0
    epoch: int = 0
    sent_at: float = 0.0
    window: int = 0
    extra: bool = False
    trial: int = -1
    model: str = ""
    number: int = 0


class _Rates(MutableRecord):
    """What a rate has come to since it was tried.

    Attributes:
        measured: The last one between two refusals; 0 for none.
        before: The one before the last raise.
        raised: It has been raised.
        estimates: How often one was measured.
        soon: Refusals that came too soon to measure one, in a row.
        steady: Refusals although it had not been raised.
    """

    before: float
    measured: float = 0.0
    raised: bool = False
    estimates: int = 0
    soon: int = 0
    steady: int = 0


class Pace:
    """What one account can take.

    Args:
        ceiling: The most calls that may be in flight.
        start: How many at first.

    Attributes:
        width: How many may be in flight.
        flow: How many may be sent a second.
        closing: Whether any may be sent.
        opening: How the first go out.
        named: How many a second the vendor's headers name; 0 where they don't.
    """

    def __init__(self, ceiling: int, start: int) -> None:
        self.width = float(min(start, ceiling))
        self.flow = Flow()
        self.closing = Closing()
        self.named = 0.0
        self._ceiling = float(ceiling)
        self.opening = Opening(ceiling)
        self._refusals = Refusals()
        self._window = Window()
        self._held = False
        self._held_at = 0.0
        self._free_since: float | None = None
        self._trying = False
        self._round = 0
        self._round_trip_s = 0.0
        # An epoch is the time between two refusals that changed what is held.
        self._epoch = 0
        self._accepted = 0
        self._at_width = 0
        self._quiet_since = 0.0
        self._probed = False
        self._step = STEP
        self._hold = FEW_CALLS
        self._kept = 0.0
        # What was accepted since the last refusal that a rate can be measured from.
        self._mark = 0.0
        self._amount = 0.0
        # Which of width and rate is the limit.
        self._rates = _Rates(0.0)
        self._narrowed = 0
        self._beyond = 0
        self._goodput = 0.0
        self._best = 0.0
        self._best_width = 1.0
        self._no_rates_until = 0.0
        self._no_rates_s = RATES_HOLD_S

    def admits(self, tokens: int, in_flight: int, now: float) -> bool:
        """Whether one more call, of so many tokens, may be sent now."""
        if in_flight >= (1 if self.closing.alone else int(self.width)):
            return False
        if in_flight and self._window.used_up(now):
            return False
        return now >= self.closing.until and self._flows_in_s(tokens, now) == 0

    def wait_s(self, tokens: int, now: float) -> float:
        """Seconds until time alone no longer holds such a call back; 0 for now."""
        return max(0.0, self.closing.until - now, self._flows_in_s(tokens, now))

    def _flows_in_s(self, tokens: int, now: float) -> float:
        return max(self.opening.wait_s(now), self.flow.wait_s(tokens, now))

    def permit(self, tokens: int, in_flight: int, now: float) -> Permit:
        """The leave of a call that is sent; so many are in flight with it."""
        self.flow.take(tokens, now)
        self.opening.sent(now)
        self._refusals.sent()
        extra = self._window.sent(now, closed=self.closing.alone)
        return Permit(
            tokens=tokens,
            among=in_flight,
            epoch=self._epoch,
            sent_at=now,
            window=self._window.nth,
            extra=extra,
        )

    def withdrawn(self, permit: Permit) -> None:
        """A call was not sent after all."""
        if permit.epoch == self._epoch:
            self.flow.give_back(permit.tokens)
            self._refusals.withdrawn()
        self.opening.withdrawn()
        self._window.took_nothing(permit.window)

    def accepted(self, permit: Permit, now: float, *, saturated: bool) -> None:
        """A call was answered.

        Args:
            saturated: As many are in flight as may be, or others wait: more would be used.
        """
        if self.closing.closed_at is not None:
            self._open(permit.sent_at, self.closing.closed_at)
        self.closing.accepted(permit.sent_at)
        if permit.extra:
            self._window.holds_more()
        self.flow.accepted(permit.tokens)
        self._refusals.accepted()
        took = now - permit.sent_at
        if not self.opening.over:
            self.opening.heard(self.named, now, refused=False, took_s=took)
        self._amount += self.flow.amount(permit.tokens)
        self._round_trip_s += (took - self._round_trip_s) * (RECENT if self._round_trip_s else 1)
        if permit.epoch == self._epoch:
            self._accepted += 1
            self._at_width += permit.among >= int(self.width)
        if self._trying:
            self._try(permit, now, refused=False)
        elif not self._held:
            self._grow(saturated=saturated)
        else:
            if permit.epoch == self._epoch:
                self._refusals.held(refused=False)
            if saturated:
                self._probe(now)

    def refused(self, permit: Permit, left: int, now: float, asked_s: float | None) -> None:
        """A call was refused.

        Args:
            left: How many are in flight without it.
            asked_s: The wait that the vendor asks for; None for none.
        """
        self._round = 0
        self._window.took_nothing(permit.window)
        probe = self.closing.alone and permit.sent_at >= self.closing.until
        if permit.extra or probe:  # the window is used up, or the next has not begun
            self._close(now, asked_s)
            return
        if permit.epoch < self._epoch:  # sent under settings that are gone
            if self._held and permit.epoch == self._epoch - 1 and self.flow.rate is None:
                self.width = max(1.0, min(self.width, float(left)))
            if not left:
                self._close(now, asked_s)
            return
        if self.flow.refused(permit.tokens):  # what was measured was counted in calls
            self._best = self._no_rates_until = 0.0
        self._refusals.refused()
        if not self._held:
            self._refused_free(permit, left, now, asked_s)
            return
        self._refusals.held(refused=True)
        if not left and not self._accepted:
            self._close(now, asked_s)
        elif self._refusals.as_many_as_before():
            self._refusals.free()
            self._free()
        else:
            self._lower(permit, now)

    def overloaded(self, now: float, asked_s: float | None) -> None:
        """The vendor was too busy for a call: no sign of a limit."""
        self._round = 0
        self.closing.overloaded(now, asked_s)

    # Windows

    def _close(self, now: float, asked_s: float | None) -> None:
        self.closing.close(now, self._window.ends_in_s(now) if asked_s is None else asked_s)

    def _open(self, sent_at: float, closed_at: float) -> None:
        """Learns what a window holds, where one has begun."""
        if not self.closing.finds_window(sent_at):
            return
        self._window.opened(closed_at, self.closing.refused_at, sent_at)
        if self._held and closed_at - self._held_at <= max(
            SOON_S, ROUND_TRIPS * self._round_trip_s
        ):
            self._free()  # it was the end of a window that calls were held back for

    # Free

    def _grow(self, *, saturated: bool) -> None:
        """Slow start: doubles the width once as many have been answered in a row as it lets through at once."""
        if self.width >= self._ceiling:
            return
        self._round += 1
        if self._round >= self.width and saturated:
            self.width = min(self._ceiling, 2 * self.width)
            self._round = 0

    def _free(self) -> None:
        self._held = self._trying = False
        self._free_since = None
        self.flow.rate = None
        self.width = self._ceiling
        self._epoch += 1
        self._refusals.begin()

    def _refused_free(self, permit: Permit, left: int, now: float, asked_s: float | None) -> None:
        refusals = self._refusals
        deviations = SPREAD if self.opening.over else AT_FIRST
        opened = not self.opening.over and self.opening.heard(self.named, now, refused=True)
        if self._free_since is None:
            # A bucket is empty now, so that what is accepted from here on has just come in.
            self._free_since, self._amount = now, 0.0
        known = self._names_rate(now) and (opened or refusals.exceed_accidents())
        if known or refusals.exceed_shedding(deviations):
            self._hold_back(left, now)
            if not left:
                self._close(now, asked_s)
        elif self._trying:
            self._try(permit, now, refused=True)
        elif refusals.doubtful() and not self.closing.windowed:
            if refusals.few():
                self._free_since = None
                refusals.begin()
            elif now - self._free_since > max(SOON_S, ROUND_TRIPS * self._round_trip_s):
                self._begin_trial(now - self._free_since, now)

    # A trial

    def _begin_trial(self, seconds: float, now: float) -> None:
        """Sends a little less than was accepted in so many seconds."""
        self._trying = True
        self._goodput = self._amount / seconds
        self._refusals.begin_trial()
        self.flow.begin(TRIED * self._goodput, now)
        self._epoch += 1

    def _try(self, permit: Permit, now: float, *, refused: bool) -> None:
        """Counts a call of the trial; at its end, holds calls to that rate or lets them go free."""
        if permit.epoch != self._epoch:
            return
        self._refusals.held(refused=refused)
        if not self._refusals.tried():
            return
        if not self._refusals.far_fewer():
            self._refusals.free()
            self._free()
            return
        self._trying, self._held, self._held_at = False, True, now
        self._refusals.begin_holding()
        self._best, self._best_width = self._goodput, self.width
        self._rates = _Rates(before=self._goodput, raised=True)
        self._mark, self._amount = now, 0.0
        self._step, self._hold = STEP, FEW_CALLS
        self._next_epoch(now)

    # Held

    def _hold_back(self, left: int, now: float) -> None:
        self.opening.over = True
        self._held, self._held_at = True, now
        self._trying, self.flow.rate = False, None
        self._refusals.begin_holding()
        self.width = max(1.0, float(left))
        self._mark, self._amount = now, 0.0
        self._step, self._hold = STEP, FEW_CALLS
        if self._names_rate(now):
            self._best, self._best_width = self.named, self.width
            self._rates = _Rates(before=CUT * self.named, raised=True)
            self.width = self._ceiling
            self.flow.begin(SLACK * self.named, now, LONG_BURST_S)
        self._next_epoch(now)

    def _names_rate(self, now: float) -> bool:
        """Whether the headers name a rate, and nothing speaks against it."""
        return self.named > 0 and now >= self._no_rates_until and not self.flow.usual

    def _lower(self, permit: Permit, now: float) -> None:
        if self._probed:
            self._hold = min(MOST_CALLS, 2 * self._hold)
        self._step = STEP
        if self.flow.rate is None:
            self._narrow(permit, now)
        else:
            self._slow_down(self.flow.rate, now)
        before, self._kept = self._kept, self._held_to()
        if self._kept < before / 2:  # far less is allowed than was known
            self._hold = FEW_CALLS
        self._next_epoch(now)

    def _held_to(self) -> float:
        return self.width if self.flow.rate is None else self.flow.rate

    def _narrow(self, permit: Permit, now: float) -> None:
        """Takes the width back to what was accepted; tries a rate where that does not explain the refusals."""
        goodput = self._measured(now) or self._goodput
        self._mark, self._amount = now, 0.0
        self._narrowed += 1
        self._beyond += self._at_width
        as_many = permit.among - 1.0
        # A call that is refused alone is not one too many at once, whatever was found before.
        may_try = now >= self._no_rates_until or as_many < 1
        if goodput and may_try and self._is_rate(as_many):
            self._narrowed = self._beyond = 0
            self._best, self._best_width = goodput, max(1.0, as_many)
            self._rates = _Rates(before=goodput)
            self._step, self._hold = LARGEST_STEP, FEW_CALLS
            self.width = self._ceiling
            self.flow.begin(goodput * SLACK, now)
        else:
            self.width = max(1.0, min(self.width, as_many))

    def _is_rate(self, as_many: float) -> bool:
        """Whether calls are refused among as many as others were accepted among, so that the width is not the limit."""
        if self._narrowed < 2:
            return self._at_width >= BEYOND
        # Two calls sent in the same moment are too many for a bucket that keeps none, too: a width of 1 proves nothing.
        return self._beyond >= self._narrowed or as_many <= 1

    def _measured(self, now: float) -> float:
        """What was accepted a second since the last refusal; 0 where that is too short ago to tell."""
        seconds = now - self._mark
        return (
            self._amount / seconds
            if seconds > max(SOON_S, ROUND_TRIPS * self._round_trip_s)
            else 0.0
        )

    def _slow_down(self, rate: float, now: float) -> None:
        """Takes the rate for what was accepted between the last two refusals."""
        rates = self._rates
        by_calls = not self.flow.usual
        if not rates.raised:
            rates.steady += 1
            if rates.steady >= 2 and by_calls:  # at a rate that so many at once had kept to
                self._widen(now)
                return
        measured = self._measured(now) if self._amount >= FEW_CALLS * self.flow.largest else 0.0
        if not measured:
            rates.soon += 1
            self.flow.begin(max(CUT * rate, rates.measured if rates.soon <= 2 else 0.0), now)
            return
        rates.soon = 0
        rates.measured = SLACK * measured
        rates.estimates += 1
        if rates.estimates >= 3 and rates.measured < WORSE * self._best and by_calls:
            self._widen(now)
            return
        if self._probed and not self.closing.windowed:
            # A bucket that was full meanwhile has let through less than came in: the rate before the raise may do.
            self.flow.begin(max(rates.measured, 0.97 * rates.before), now)
        else:
            self.flow.begin(rates.measured, now)
        self._mark, self._amount = now, 0.0

    def _widen(self, now: float) -> None:
        """Goes back to the width that was known before a rate was tried."""
        self.flow.rate, self.width = None, self._best_width
        self._no_rates_until = now + self._no_rates_s
        self._no_rates_s *= 2

    def _next_epoch(self, now: float) -> None:
        self._epoch += 1
        self._refusals.begin()
        self._accepted = self._at_width = 0
        self._quiet_since = now
        self._probed = False

    def _probe(self, now: float) -> None:
        """Raises what holds, once it has held for long enough."""
        seconds = now - self._quiet_since
        if seconds < max(SOON_S, 2 * self._round_trip_s) or self._accepted < FEW_CALLS:
            return
        windowed = self.closing.windowed
        longest_s = LONGEST_WINDOW_S if windowed else LONGEST_HOLD_S
        hold = self._hold if seconds < longest_s else min(self._hold, LEAST_CALLS)
        if not self._probed and self._accepted < hold:
            return
        rate = self.flow.rate
        raised = (rate or 0.0) * (1 + self._step)
        if rate is not None and self._names_rate(now):
            raised = min(raised, SLACK * self.named)
            if raised <= rate:  # more than the headers name is never kept up
                return
        self._probed = True
        self._goodput = self._accepted / seconds
        if rate is not None:
            self._rates.raised, self._rates.before = True, rate
            self.flow.change(raised, now)
        else:
            self.width += max(1.0, self._step * self.width)
            if self.width >= self._ceiling:
                self._free()
                return
            if self.width > self._kept + 1:
                self._narrowed = self._beyond = 0
        self._step = min(LARGEST_STEP, 2 * self._step)
        self._quiet_since = now
        self._accepted = self._at_width = 0
        if self._held_to() > 2 * self._kept and not windowed:  # far more is allowed than was known
            self._hold = FEW_CALLS
