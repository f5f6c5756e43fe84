"""Whether labels look like a draw from strata, within each of which every item was equally likely."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.stats.correction import Verdicts
from evenhand.stats.distributions import chances


def drawn_within_strata(strata: Sequence[Verdicts]) -> float:
    """How likely the strata's draws are to hold as many of the judge's passes, or a number no likelier: a p value.

    Args:
        strata: For each, the labelled items and all of them, in the judge's verdicts.

    Returns:
        1 where every item is labelled.

    Source: the exact test of a draw without replacement (hypergeometric) in each stratum, and the sum of these,
        two-sided by likelihood. With one stratum it is `drawn_at_random`.

    >>> round(drawn_within_strata([Verdicts(60, 0, 5, 35, 465, 1000)]), 6)
    0.000123
    """
    distribution, passed = [1.0], 0
    for s in strata:
        passed += s.both_pass + s.excused
        distribution = _sum_of(distribution, _passes_drawn(s))
    own = distribution[passed] * (1 + 1e-9)
    return min(1.0, math.fsum(p for p in distribution if p <= own))


def _passes_drawn(s: Verdicts) -> list[float]:
    """How likely the labelled items of a stratum are to hold 0, 1, … passes of the judge."""
    likely = chances(s.passed, s.items, s.labels)
    return [likely.get(k, 0.0) for k in range(s.labels + 1)]


def _sum_of(first: Sequence[float], second: Sequence[float]) -> list[float]:
    total = [0.0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        # Below that nothing is added that a float could tell, and most entries are.
        if a > 1e-18:
            for j, b in enumerate(second):
                total[i + j] += a * b
    return total
