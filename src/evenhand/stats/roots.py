"""Where a function crosses 0: limits and quantiles that have no formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_NORMAL = NormalDist()
_MOST_STEPS = 300
"""Halving alone takes 60 from 1 to its last digit, and more where the root is nearly 0."""


def crossing(
    function: Callable[[float], float], low: float, high: float, within: float = 0.0
) -> float:
    """Where a function that rises or falls is 0, between two points; the end that is nearer to 0 where it is nowhere.

    About ten calls of the function give all digits, where halving takes sixty.

    Args:
        function: May be infinite.
        within: How far off the place may be; 0 for as near as numbers are.

    Source: Chandrupatla, Advances in Engineering Software 28 (1997), 145–149, doi:10.1016/S0965-9978(96)00051-8:
        inverse quadratic interpolation where three points allow for it, halving elsewhere.

    >>> round(crossing(lambda x: x * x - 2, 0, 2), 12)
    1.414213562373
    """
    last, at_last = high, function(high)
    other, at_other = low, function(low)
    if at_last == 0 or at_other == 0 or (at_last > 0) == (at_other > 0):
        return last if abs(at_last) < abs(at_other) else other
    third, at_third = last, at_last
    part, best = 0.5, low
    for _ in range(_MOST_STEPS):
        place = other + part * (last - other)
        value = function(place)
        if (value > 0) == (at_other > 0):
            third, at_third = other, at_other
        else:
            third, at_third = last, at_last
            last, at_last = other, at_other
        other, at_other = place, value
        best, at_best = (other, at_other) if abs(at_other) < abs(at_last) else (last, at_last)
        near = max(within, 4.5e-16 * abs(best), 1e-300)
        width = abs(last - other)
        if at_best == 0 or width <= near:
            return best
        x = (other - last) / (third - last)
        y = (at_other - at_last) / (at_third - at_last)
        # Comparisons with what is not a number are false: an infinite value leads to halving.
        if y * y < x and (1 - y) ** 2 < 1 - x:
            part = at_other / (at_last - at_other) * at_third / (at_last - at_third) + (
                third - other
            ) / (last - other) * at_other / (at_third - at_other) * at_last / (at_third - at_last)
            least = 0.5 * near / width
            part = min(1 - least, max(least, part)) if math.isfinite(part) else 0.5
        else:
            part = 0.5
    return best


def quantile(
    below: Callable[[float], float],
    share: float,
    start: float,
    spread: float,
    ends: tuple[float, float] = (0.0, 1.0),
    exact: float = 1e-10,
) -> float:
    """The point below which this share of a distribution lies, where that is costly to work out.

    On the scale of the normal distribution's quantiles, the shares of a distribution lie nearly on a line: its secants
    lead there in a few steps. Where one leads out of what is left, that is halved; at the latest in each fourth step.

    Args:
        below: The share that lies below a point.
        share: Between 0 and 1.
        spread: About the standard deviation, for the first step.
        ends: The lowest and the highest point.
        exact: How far off the share may be.
    """
    aim = _NORMAL.inv_cdf(share)
    low, high = ends
    least = 1e-10 * (high - low)
    point, last, at_last, rise = start, start, 0.0, 1 / spread
    for turn in range(100):
        value = below(point)
        if abs(value - share) < exact or high - low < least:
            break
        low, high = (point, high) if value < share else (low, point)
        # `inv_cdf` refuses 0 and 1.
        place = _NORMAL.inv_cdf(min(max(value, 1e-15), 1 - 1e-15))
        if turn:
            rise = (place - at_last) / (point - last)
        last, at_last = point, place
        point = point + (aim - place) / rise if rise > 0 else low
        if turn % 4 == 3 or not low < point < high:
            point = (low + high) / 2
        if not low < point < high:  # no float lies between the two
            break
    return point
