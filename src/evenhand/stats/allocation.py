"""How many to draw from each stratum."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def allocated(
    shares: Sequence[float], most: Sequence[int], total: int, fewest: int = 2
) -> list[int]:
    """Divides a draw among strata, in proportion to their shares, none more than it has.

    Args:
        shares: What each stratum is to have, in any unit, not below 0.
        most: How many each has.
        total: How many are drawn in all. More than there are is all of them.
        fewest: What each has at least, if it has so many, and if that is not too many in all.

    Returns:
        A number for each stratum; their sum is `total`, or all that there are. Empty for no strata.

    Source: the method of Webster (Sainte-Laguë).

    >>> allocated([3.0, 1.0], [100, 100], 40)
    [30, 10]
    """
    total = min(total, sum(most))
    # Empty strata get nothing, so they take no part in the minimum; `max`, as all of them may be empty.
    least = min(fewest, total // max(1, sum(size > 0 for size in most)))
    numbers = [min(least, size) for size in most]
    queue = [
        # Webster's divisors are 1, 3, 5, …; negative, because a heap gives the smallest first.
        (-share / (2 * n + 1), i)
        for i, (share, n, size) in enumerate(zip(shares, numbers, most, strict=True))
        if n < size
    ]
    heapq.heapify(queue)
    for _ in range(total - sum(numbers)):
        _, i = heapq.heappop(queue)
        numbers[i] += 1
        if numbers[i] < most[i]:
            heapq.heappush(queue, (-shares[i] / (2 * numbers[i] + 1), i))
    return numbers
