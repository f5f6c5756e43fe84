"""Which of several is better than what there is: one half of the cases chooses, the other half confirms.

How it works: whichever of several does best on some cases did so partly by luck, the more of them the luckier. So the
winner of one half is compared once more with what there is, on cases that had no part in choosing it. That comparison
alone decides. It needs no correction for how many were tried, as it sees one of them. The p-values on the first half
are corrected after Holm, and say of each what that half shows. They don't choose: a winner that had to pass both tests
would be found about half as often, and nothing false is confirmed less than 5 % of the time without it.

Errors could have gone either way. They are left out of a difference, and count against the one that made them where it
is chosen and where it is confirmed: what is confirmed holds for whatever they would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import Differences, Word, verdict


@dataclass(frozen=True, slots=True)
class Half:
    """How one of several differs from what there is, on one half of the cases. More is better.

    Attributes:
        differences: The differences where it came to a result.
        at_worst: The same with its errors counted against it.
    """

    differences: Differences
    at_worst: Differences

    @property
    def least(self) -> float:
        """The mean difference with errors counted against it; 0 for no cases."""
        return self.at_worst.mean or 0.0


def corrected(halves: Sequence[Half]) -> list[float]:
    """The p-values of several comparisons, corrected for their number; none for none."""
    return holm([half.differences.p() for half in halves])


def winner(choosing: Sequence[Half]) -> int | None:
    """The place of the one that is ahead the most, the first of equals; None where none is ahead.

    Args:
        choosing: Each of them on the half that chooses.
    """
    place = max(range(len(choosing)), key=lambda i: choosing[i].least, default=None)
    return place if place is not None and choosing[place].least > 0 else None


def confirmed(confirming: Half, p: float, p_at_worst: float) -> bool:
    """Whether the winner is better on the half that didn't choose it, whatever its errors would have been.

    Args:
        confirming: The winner on the half that confirms.
        p: The p-value of what was seen, corrected where several winners are confirmed at once.
        p_at_worst: The same with its errors counted against it.
    """
    words: list[Word] = [
        verdict(confirming.differences, p),
        verdict(confirming.at_worst, p_at_worst),
    ]
    return words == ["better", "better"]
