"""What brings a mean's variance down at the least cost: more cases, more repeats of each, or both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from evenhand.stats.variance_parts import VarianceParts

MOST_MORE = 9
"""More repeats than that of a case are not thought of: the next case always says more by then."""


class NextSample(NamedTuple):
    """What to add.

    Attributes:
        units: How many more cases, or clusters of them.
        tries: How many more repeats of each case on each side, of those that are there and of those that come.
        trials: How many more trials that is, on all sides.
    """

    units: int
    tries: tuple[int, ...]
    trials: int


def least_costly(
    parts: VarianceParts, times: float, *, cases: int, fixed: Sequence[int] = ()
) -> NextSample:
    """The cheapest way to bring the variance of a mean down, where each trial costs the same.

    A side that was not repeated stays as it is: nobody knows what repeats of it would save.

    Args:
        parts: The parts of that variance as it is.
        times: How many times smaller it is to be, at least 1.
        cases: How many there are.
        fixed: Sides, from 0, that get no more repeats.

    Returns:
        Of equally many trials, that with the most cases, as they also show more of what there is.

    Raises:
        ValueError: It is to become larger.

    Source: the variance of a mean in two stages, and its cheapest division (Cochran, Sampling Techniques, 1977, §10.6);
        here all numbers of repeats are tried, as those that were paid for stay.

    >>> from evenhand.stats.variance_parts import CaseSides, variance_parts
    >>> unstable = variance_parts([CaseSides(([1, 0],)), CaseSides(([0, 1],)), CaseSides(([1, 1],))] * 10)
    >>> least_costly(unstable, 2, cases=30)
    NextSample(units=30, tries=(0,), trials=60)
    """
    if not 1 <= times < math.inf:
        msg = f"a variance {times} times smaller"
        raise ValueError(msg)
    mean_members = cases / parts.units
    ways: list[NextSample] = []
    choices = [
        range(1 if within is None or side in fixed else MOST_MORE + 1)
        for side, within in enumerate(parts.within)
    ]
    for more in product(*choices):
        tries = [now + add for now, add in zip(parts.tries, more, strict=True)]
        # Without the residue of a float, 100.0000000001 cases would be 101.
        # Where all units are alike, no repeats are known to say more.
        left = parts.of_unit(tries) / parts.measured if parts.measured else 1.0
        units = max(parts.units, math.ceil(parts.units * times * left - 1e-9))
        trials = math.fsum(
            units * now - parts.units * then for now, then in zip(tries, parts.tries, strict=True)
        )
        ways.append(NextSample(units - parts.units, more, math.ceil(trials * mean_members - 1e-9)))
    return min(ways, key=lambda way: (way.trials, -way.units))
