"""Whether differences lean to one side more than signs thrown at random would make them."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import compress, islice
from random import Random

from evenhand.stats.rate_difference import mcnemar
from evenhand.stats.student import t_tail

DRAWS = 9_999
SEED = 20_240_229
EXACT_WORK = 150_000
LARGE = 1_000
_UNITS = 10**9
_HALF = bytes((0, 1)) * 128  # turns each random byte into 0 or 1


def sign_flip(differences: Sequence[float]) -> float:
    """The two-sided p-value that differences are as likely to be positive as negative, each with its size kept.

    Exact where the sums that signs can make are few enough to count: about 17 cases with arbitrary scores, hundreds
    with ratings or pass rates. Otherwise from 9,999 throws with a fixed seed, and beyond 1,000 differences by the t
    test, which it comes to there. Differences that are all of one size give McNemar's exact test.

    Args:
        differences: One for each case, or the sum of each cluster of cases. None, or all 0: 1.

    Raises:
        ValueError: One of them is not finite.

    Source: Fisher, The Design of Experiments (1935), §21; with random throws Phipson and Smyth, Stat. Appl. Genet.
        Mol. Biol. 9 (2010), doi:10.2202/1544-6115.1585.

    >>> sign_flip([0.3, 0.1, 0.2, 0.4, 0.5, 0.1])
    0.03125
    """
    if not all(map(math.isfinite, differences)):
        msg = "a difference is not a finite number"
        raise ValueError(msg)
    sizes = array("d", (abs(d) for d in differences if d))
    if not sizes:
        return 1.0
    largest = max(sizes)
    if min(sizes) >= largest * (1 - 1e-12):
        ahead = sum(d > 0 for d in differences)
        return mcnemar(ahead, len(sizes) - ahead)
    units = array("q", (round(size / largest * _UNITS) for size in sizes))
    # Shares such as 1/3 are rounded, so a sum that differs by no more than the rounding counts as being as far out.
    observed = abs(sum(round(d / largest * _UNITS) for d in differences)) - len(units)
    exact = _exact(units, observed)
    if exact is not None:
        return exact
    if len(sizes) > LARGE:
        return t_test(differences)
    random, hits, whole = Random(SEED), 0, sum(units)  # noqa: S311 (a permutation test)
    for _ in range(DRAWS):
        positive = sum(compress(units, random.randbytes(len(units)).translate(_HALF)))
        hits += abs(2 * positive - whole) >= observed
    # What was seen is one of the possible throws: without it, the p-value could be 0.
    return (1 + hits) / (1 + DRAWS)


def t_test(differences: Sequence[float]) -> float:
    """The two-sided p-value that the mean of differences is 0, by Student's t; 1 for fewer than two.

    Source: Student, Biometrika 6 (1908), doi:10.1093/biomet/6.1.1.
    """
    n = len(differences)
    if n < 2:
        return 1.0
    mean = math.fsum(differences) / n
    squares = math.fsum((d - mean) ** 2 for d in differences)
    if squares <= 0:
        return 0.0 if mean else 1.0
    return t_tail(mean / math.sqrt(squares / (n - 1) / n), n - 1)


def _exact(units: Sequence[int], observed: int) -> float | None:
    """The share of all signs whose sum is as far out as what was seen; None where there are too many sums to count."""
    sums = {units[0]: 1}  # the first sign is fixed: turning all of them changes no size
    work = 0
    for unit in islice(units, 1, None):
        work += len(sums)
        if work > EXACT_WORK:
            return None
        longer: defaultdict[int, int] = defaultdict(int)
        for total, ways in sums.items():
            longer[total + unit] += ways
            longer[total - unit] += ways
        sums = longer
    return sum(ways for total, ways in sums.items() if abs(total) >= observed) / 2 ** (
        len(units) - 1
    )
