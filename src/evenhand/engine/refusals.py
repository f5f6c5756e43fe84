"""Tells a limit from shedding by how many calls are refused.

How this works: a gateway that sheds refuses the same share whoever sends how much; a limit refuses what is beyond it,
and next to nothing once less is sent. So a share that shedding does not explain is taken for a limit at first, and for
shedding where it stays what it was although calls are held back.
"""

from __future__ import annotations

import math

SHEDDING = 0.1
"""The share of its calls that any vendor may refuse: holding all others back for less costs more than it saves."""
SPREAD = 3.5
"""By so many standard deviations: one burst in some thousand is an accident."""
AT_FIRST = 2.0
"""So many deviations are enough among an account's first calls: a limit refuses all of them until it is known."""
LONG_RUN = 100
"""Calls that are a long run."""
LEAST_REFUSED = 5
"""Fewer refused calls in a long run are no evidence."""
DOUBTFUL = 50
"""So many refused calls, although no more than shedding explains, are worth finding out why."""
FEW = 0.02
"""A share that is not worth it."""
AGAIN = 4
"""After a trial that said shedding, so many times as many are needed for the next."""
TRIAL = 8
"""Calls that shedding would refuse while that is found out."""
FAR_FEWER = 0.25
"""The share that is refused in a trial, as a share of that before, below which it is a limit."""
AS_MANY = 0.6
"""The share that is refused while calls are held back, as a share of that before: the same, but for accidents."""


class Refusals:
    """How many calls are refused, and whether a limit explains it.

    Attributes:
        shed: The share that the vendor sheds, as far as it is known.
    """

    __slots__ = (
        "_before",
        "_doubtful",
        "_free_refused",
        "_free_sent",
        "_held_refused",
        "_held_sent",
        "_refused",
        "_sent",
        "shed",
    )

    def __init__(self) -> None:
        self.shed = 0.0
        self._sent = 0
        self._refused = 0
        self._before = 0.0
        self._held_sent = 0
        self._held_refused = 0
        self._free_sent = 0
        self._free_refused = 0
        self._doubtful = DOUBTFUL

    def sent(self) -> None:
        """A call is sent."""
        self._sent += 1
        self._free_sent += 1

    def withdrawn(self) -> None:
        """A call was not sent after all."""
        self._sent = max(0, self._sent - 1)
        self._free_sent = max(0, self._free_sent - 1)

    def accepted(self) -> None:
        """A call was accepted. What is long past says little of now."""
        if self._sent >= 2 * LONG_RUN:
            self._sent //= 2
            self._refused //= 2

    def refused(self) -> None:
        """A call was refused."""
        self._refused += 1
        if not self._free_refused:
            self._free_sent = 0
        self._free_refused += 1

    def begin(self) -> None:
        """Counts anew."""
        self._sent = self._refused = 0
        self._free_sent = self._free_refused = 0

    def exceed_shedding(self, deviations: float = SPREAD) -> bool:
        """Whether more calls are refused than shedding explains, by so many standard deviations."""
        share = min(1.0, max(SHEDDING, 2 * self.shed))
        expected = share * self._sent
        return self._refused >= expected + deviations * math.sqrt(expected * (1 - share)) + 1

    def exceed_accidents(self) -> bool:
        """Whether so many are refused that holding calls back to a rate that is known is worth while."""
        return self._refused >= max(LEAST_REFUSED, 2 * self.shed * self._sent)

    def doubtful(self) -> bool:
        """Whether so many were refused since the first of them that the reason is worth finding out."""
        return self._free_refused >= self._doubtful

    def few(self) -> bool:
        """Whether the share since the first of them is so small that a trial is not worth while."""
        return self._free_refused < FEW * self._free_sent

    def begin_trial(self) -> None:
        """Counts apart what is sent at a pace that a limit would take."""
        self._doubtful *= AGAIN
        self._before = self._free_refused / max(1, self._free_sent)
        self._held_sent = self._held_refused = 0

    def tried(self) -> bool:
        """Whether shedding would have refused enough by now to tell."""
        return self._held_sent * self._before >= TRIAL

    def far_fewer(self) -> bool:
        """Whether a far smaller share was refused than before the trial."""
        return self._held_refused < FAR_FEWER * self._before * self._held_sent

    def begin_holding(self) -> None:
        """Counts apart what is sent while calls are held back."""
        self._before = self._refused / max(1, self._sent)
        self._held_sent = self._held_refused = 0

    def held(self, *, refused: bool) -> None:
        """A call came of age that was sent while calls are held back."""
        self._held_sent += 1
        self._held_refused += refused

    def as_many_as_before(self) -> bool:
        """Whether as large a share is refused as before calls were held back."""
        return (
            self._held_sent >= LONG_RUN
            and self._held_refused >= LEAST_REFUSED
            and self._held_refused >= AS_MANY * self._before * self._held_sent
        )

    def free(self) -> None:
        """Takes the share that was refused meanwhile for what the vendor sheds."""
        self.shed = self._held_refused / max(1, self._held_sent)
