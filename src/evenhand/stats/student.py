"""Student's t distribution, in plain Python: a quantile takes a millisecond, importing SciPy takes a second."""

from __future__ import annotations

import math
from functools import lru_cache

from evenhand.stats.beta import beta_share


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
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_tail(middle, df) > 1 - confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2
