"""Draws without replacement: how likely each number of marked items is among those drawn."""

from __future__ import annotations

import math


def chances(marked: int, items: int, drawn: int) -> dict[int, float]:
    """How likely a draw is to hold each possible number of marked items.

    Args:
        marked: How many of the items are marked.
        items: All items.
        drawn: How many of them are drawn, each equally likely.

    Returns:
        The probabilities by number, of those numbers that are possible; they add up to 1.

    Raises:
        ValueError: More are marked or drawn than there are.

    Source: the hypergeometric distribution.

    >>> {marked: round(chance, 3) for marked, chance in chances(1, 4, 1).items()}
    {0: 0.75, 1: 0.25}
    """
    if not 0 <= marked <= items or not 0 <= drawn <= items:
        msg = f"{marked} marked and {drawn} drawn of {items}"
        raise ValueError(msg)
    others = items - marked
    whole = log_choices(items, drawn)
    possible = range(max(0, drawn - others), min(drawn, marked) + 1)
    logs = [log_choices(marked, k) + log_choices(others, drawn - k) - whole for k in possible]
    # They add up to 1 but for rounding, which in the logarithms of large numbers is the same for all of them.
    likely = [math.exp(log) for log in logs]
    total = math.fsum(likely)
    return {k: each / total for k, each in zip(possible, likely, strict=True)}


def log_choices(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
