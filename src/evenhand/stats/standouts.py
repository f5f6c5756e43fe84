"""Lists that are read for their extreme: which groups of cases differ from the others, and whether cases differ at all.

Of forty equal groups of ten cases, the lowest passes 40 % where all pass 70. So each group is tested against the cases
that are not in it, and the p-values are corrected for how many groups there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from evenhand.stats.distributions import chances

_SAME = 1 + 1e-9  # numbers that are equally likely can differ in their last digits


def group_p(group: Sequence[float], others: Sequence[float]) -> float:
    """The two-sided p-value that a group of cases was drawn at random from all of them; 1 where nothing differs.

    A case counts by whether it is at or above the mean of all: with shares of 0 and 1, whether it passed.

    Args:
        group: The shares of its cases that pass, from 0 to 1.
        others: Those of the cases that are not in it.

    Source: Fisher's exact test (J. R. Stat. Soc. 85 (1922), doi:10.2307/2340521).

    >>> round(group_p([0, 0, 0, 0], [1] * 8), 4)
    0.002
    """
    every = [*group, *others]
    if not group or not others:
        return 1.0
    mean = math.fsum(every) / len(every)
    if min(every) >= mean:
        return 1.0  # all are alike
    marked = sum(share >= mean for share in every)
    observed = sum(share >= mean for share in group)
    likely = chances(marked, len(every), len(group))
    return min(1.0, math.fsum(c for c in likely.values() if c <= likely[observed] * _SAME))


def dispersion_p(tries: Sequence[tuple[int, int]]) -> float:
    """The p-value that all cases are equally likely to pass, and that the same ones passed more often by chance.

    Args:
        tries: For each case how many of its trials passed, and how many there were.

    Returns:
        1 where that cannot be told: for fewer than two cases, and where all trials passed, or none.

    Source: the index of dispersion (Cochran, Biometrics 10 (1954), doi:10.2307/3001616), with the cube root of
        Wilson and Hilferty (PNAS 17 (1931), doi:10.1073/pnas.17.12.684).
    """
    trials = sum(n for _, n in tries)
    rate = sum(passed for passed, _ in tries) / trials if trials else 0.0
    free = len(tries) - 1
    if free < 1 or rate in (0.0, 1.0):
        return 1.0
    spread = rate * (1 - rate)
    statistic = math.fsum((passed - n * rate) ** 2 / (n * spread) for passed, n in tries)
    shrunk = 2 / (9 * free)
    z = ((statistic / free) ** (1 / 3) - (1 - shrunk)) / math.sqrt(shrunk)
    return 1 - NormalDist().cdf(z)
