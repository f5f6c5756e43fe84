"""The beta distribution, Student's t and the hypergeometric one, in plain Python: importing SciPy takes a second."""

from __future__ import annotations

import math
from functools import lru_cache

from evenhand.stats.roots import crossing

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
    return crossing(lambda x: beta_share(a, b, x) - share, 0.0, 1.0, within)


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


def t_tail(t: float, df: float) -> float:
    """The two-sided p-value of a t statistic: how likely one is at least as far from 0.

    Args:
        t: The statistic. Infinite: 0.
        df: Degrees of freedom, above 0.

    Raises:
        ValueError: There are no degrees of freedom.

    Source: the incomplete beta function, DLMF 26.5 and 8.17.22, https://dlmf.nist.gov/8.17.

    >>> round(t_tail(2.228139, 10), 6)
    0.05
    """
    if df <= 0:
        msg = f"{df} degrees of freedom"
        raise ValueError(msg)
    if math.isinf(t):
        return 0.0
    return beta_share(df / 2, 0.5, df / (df + t * t))


@lru_cache(1024)
def t_quantile(confidence: float, df: float) -> float:
    """How many standard errors an interval reaches to each side, for a mean with so many degrees of freedom.

    Raises:
        ValueError: The confidence is not between 0 and 1, or there are no degrees of freedom.

    >>> round(t_quantile(0.95, 10), 6)
    2.228139
    """
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}, not between 0 and 1"
        raise ValueError(msg)
    high = 1.0
    while t_tail(high, df) > 1 - confidence:
        high *= 2
    return crossing(lambda t: t_tail(t, df) - (1 - confidence), 0.0, high)


def chances(marked: int, items: int, drawn: int) -> dict[int, float]:
    """How likely a draw is to hold each possible number of marked items.

    Args:
        marked: How many of the items are marked.
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
