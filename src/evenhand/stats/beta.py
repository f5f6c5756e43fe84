"""The beta distribution, in plain Python: t, binomial tails and exact intervals are made of it."""

from __future__ import annotations

import math

_TINY = 1e-300  # in place of 0 in the continued fraction, which divides by it


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, from 0 to 1: how much of a beta distribution lies below x.

    Args:
        a: Above 0.
        b: Above 0.
        x: Where; below 0 and above 1 as at the ends.

    Source: DLMF 8.17.22, https://dlmf.nist.gov/8.17.

    >>> round(beta_share(2, 3, 0.5), 4)
    0.6875
    """
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x))
    # Above the mean the fraction converges slowly, but that of the other tail converges fast.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def beta_quantile(a: float, b: float, share: float, within: float = 0.0) -> float:
    """The point below which so much of a beta distribution lies, from 0 to 1.

    Args:
        a: Above 0.
        b: Above 0.
        share: From 0 to 1.
        within: How far off it may be, where many are wanted; 0 for as near as numbers are.

    Raises:
        ValueError: The share is not between 0 and 1.

    >>> round(beta_quantile(2, 3, 0.6875), 6)
    0.5
    """
    if not 0 <= share <= 1:
        msg = f"the share is {share}, not between 0 and 1"
        raise ValueError(msg)
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        # No float lies between the two, so further halving changes nothing.
        if middle in (low, high) or high - low < within:
            break
        if beta_share(a, b, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of it, by Lentz's method.

    Source: Thompson and Barnett, J. Comput. Phys. 64 (1986), doi:10.1016/0021-9991(86)90046-X.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    total = d
    for m in range(1, 500):
        # Both steps are written out: this loop is most of what powers and intervals take.
        step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + step * d or _TINY)
        c = 1 + step / c or _TINY
        total *= c * d
        step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + step * d or _TINY)
        c = 1 + step / c or _TINY
        total *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return total
