"""Several tests at once: p-values made honest for how many chances there were to find something.

Where the best of several is chosen, one half of the cases chooses, and the other half confirms: whichever does best on
some cases did so partly by luck, the more of them the luckier. That second comparison alone decides, and needs no
correction, as it sees one of them. The p-values on the first half are corrected after Holm, and don't choose: a winner
that had to pass both tests would be found about half as often, and nothing false is confirmed less than 5 % of the time
without it. Errors could have gone either way: they are left out of a difference, and count against the one that made
them where it is chosen and where it is confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.stats.paired_difference import Differences, Word, verdict


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised so that the chance of even one false alarm among them stays what each promises.

    Args:
        p_values: From 0 to 1, in any order; none gives none.

    Source: Holm, Scand. J. Stat. 6 (1979), 65–70, https://www.jstor.org/stable/4615733.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    raised, most = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        # A larger p-value never ends up below a smaller one, though its factor is lower.
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[i]))
        raised[i] = most
    return raised


def holm_factors(p_values: Sequence[float]) -> list[float]:
    """How many times `holm` raises each p-value, before it ends at 1: from 1 to the number of p-values.

    An interval whose error is divided by this factor contains 0 where the raised p-value is too large, if the interval
    and the test alone agree.

    >>> holm_factors([0.01, 0.04, 0.03])
    [3.0, 1.5, 2.0]
    """
    factors, most = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        most = max(most, (len(p_values) - rank) * p_values[i])
        factors[i] = most / p_values[i] if p_values[i] else float(len(p_values) - rank)
    return factors


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised so that of what is found no larger a share is false than each promises: for exploring.

    Args:
        p_values: From 0 to 1, in any order, independent of one another or rising together; none gives none.

    Source: Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    n = len(p_values)
    raised, least = [0.0] * n, 1.0
    order = sorted(range(n), key=p_values.__getitem__)
    for rank in range(n, 0, -1):
        i = order[rank - 1]
        least = min(least, n * p_values[i] / rank)
        raised[i] = least
    return raised


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
