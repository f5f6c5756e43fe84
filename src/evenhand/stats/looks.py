"""At which level to test at each of a few looks, so that all of them together are wrong as seldom as one test may be.

How this works: a part of the level is spent at each look, more of it the later it is. What has been spent says how
high the next boundary has to be: of all paths of a random walk that crossed none so far, just that share may cross it.
The share is summed up numerically from look to look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from evenhand.stats.roots import crossing

POWER = 1.25
"""The level is spent as the information to this power: 1 spends early, as Pocock; 3 late, as O'Brien and Fleming."""
_NODES = 121
_REACH = 8.0
_NORMAL = NormalDist()


def look_levels(fractions: Sequence[float], level: float, power: float = POWER) -> list[float]:
    """The one-sided level of each look.

    Args:
        fractions: The share of all information that each look has, rising, above 0 and at most 1.
        level: One-sided, of all looks together, above 0 and below 0.5.
        power: How fast the level is spent, above 0.

    Returns:
        A level for each look. With one look at all of it, that is `level`. No looks: an empty list.

    Raises:
        ValueError: A fraction, the level or the power is out of its range, or the fractions do not rise.

    Source: Kim and DeMets, Biometrika 74 (1987), doi:10.1093/biomet/74.1.149, after Lan and DeMets, Biometrika 70
        (1983), doi:10.1093/biomet/70.3.659; the recursion is that of Armitage, McPherson and Rowe, J. R. Stat. Soc. A
        132 (1969), doi:10.2307/2343787.

    >>> [round(each, 4) for each in look_levels([0.5, 1.0], 0.025, 1)]
    [0.0125, 0.0168]
    """
    if not 0 < level < 0.5 or not power > 0:
        msg = f"level {level}, power {power}"
        raise ValueError(msg)
    if any(
        not before < after <= 1 for before, after in zip((0.0, *fractions), fractions, strict=False)
    ):
        msg = f"the fractions {list(fractions)} do not rise from above 0 to 1"
        raise ValueError(msg)
    levels: list[float] = []
    spent = before = 0.0
    walk: list[tuple[float, float]] = []
    for fraction in fractions:
        total = level * fraction**power
        step = math.sqrt(fraction - before)
        bound = _boundary(walk, step, total - spent, math.sqrt(fraction))
        levels.append(1 - _NORMAL.cdf(bound / math.sqrt(fraction)))
        walk = _onward(walk, step, bound, math.sqrt(fraction))
        spent, before = total, fraction
    return levels


def _boundary(
    walk: Sequence[tuple[float, float]], step: float, share: float, spread: float
) -> float:
    """Above which place the walk may be after a step with this probability, of all walks that are under way."""
    if not walk:
        return spread * _NORMAL.inv_cdf(1 - share)

    def beyond(bound: float) -> float:
        return math.fsum(
            weight * 0.5 * math.erfc((bound - place) / step / math.sqrt(2))
            for place, weight in walk
        )

    return crossing(lambda bound: beyond(bound) - share, 0.0, _REACH * spread)


def _onward(
    walk: Sequence[tuple[float, float]], step: float, bound: float, spread: float
) -> list[tuple[float, float]]:
    """The places below the boundary that the walk can have reached, each with its probability, by Simpson's rule."""
    start = -_REACH * spread
    width = (bound - start) / (_NODES - 1)
    places: list[tuple[float, float]] = []
    for i in range(_NODES):
        place = start + i * width
        # Simpson's weights: 1, 4, 2, …, 4, 1.
        simpson = width / 3 * (1 if i in (0, _NODES - 1) else 4 if i % 2 else 2)
        density = (
            math.fsum(w * _density((place - at) / step) / step for at, w in walk)
            if walk
            else _density(place / step) / step
        )
        places.append((place, simpson * density))
    return places


def _density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
