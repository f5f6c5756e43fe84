"""The odds of two groups, compared among those alike in a third thing: stratified 2 × 2 tables.

How this works: a judge passes 9 of 20 long answers and 3 of 21 short ones of which people say "fail", and 18 of 20 and
15 of 19 of which they say "pass". Each of these is a stratum. Within it, with the numbers of long, short and passed
answers as they are, chance alone says how many of the passed ones are long. The sum over all strata tells whether the
odds differ, and is exact however few answers there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

from evenhand.stats.distributions import log_choices
from evenhand.stats.interval import CONFIDENCE

_FAR = 60.0  # of a logarithm of odds: beyond it is no number that anybody would read
_STEPS = 45


class Stratum(NamedTuple):
    """Two groups in one stratum.

    Attributes:
        first: How many of the first group have it.
        of_first: How many are in the first group.
        second: How many of the second group have it.
        of_second: How many are in the second group.
    """

    first: int
    of_first: int
    second: int
    of_second: int


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """The odds of the first group as a multiple of the second's, the same in all strata.

    Attributes:
        value: From 0 to infinity; 1 for equal odds. 0 or infinite where the tables are as uneven as they can be.
        low: Lower end of its interval; 0 where nothing bounds it.
        high: Upper end; infinite where nothing bounds it.
        p: The two-sided p-value of equal odds.
        least_p: The smallest p-value that tables with these margins could have had.
    """

    value: float
    low: float
    high: float
    p: float
    least_p: float


def common_odds_ratio(strata: Sequence[Stratum]) -> OddsRatio | None:
    """The odds ratio that two groups have in common in all strata, with its exact conditional mid-p interval.

    Args:
        strata: The tables. Those in which all or none have it, or that lack a group, say nothing and are left out.

    Returns:
        The conditional maximum likelihood estimate; None where no stratum says anything.

    Raises:
        ValueError: More of a group have it than there are, or the confidence is not between 0 and 1.

    Source: Gart, Biometrika 57 (1970), doi:10.1093/biomet/57.3.471; computed as in Mehta, Patel and Gray, J. Am. Stat.
        Assoc. 80 (1985), doi:10.1080/01621459.1985.10478212; mid-p as in Lancaster, J. Am. Stat. Assoc. 56 (1961),
        doi:10.1080/01621459.1961.10482105.

    >>> found = common_odds_ratio([Stratum(9, 20, 3, 21), Stratum(18, 20, 15, 19)])
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 1), round(found.p, 3)
    (3.62, 1.16, 12.7, 0.026)
    """
    for stratum in strata:
        if not (
            0 <= stratum.first <= stratum.of_first and 0 <= stratum.second <= stratum.of_second
        ):
            msg = f"{stratum} is not a table"
            raise ValueError(msg)
    sums = _Sums.of(strata)
    if sums is None:
        return None
    tail = (1 - CONFIDENCE) / 2
    return OddsRatio(
        sums.most_likely(),
        0.0 if sums.observed == 0 else _odds(lambda log: sums.above(log) - tail),
        math.inf if sums.at_the_top else _odds(lambda log: tail - sums.below(log)),
        min(1.0, 2 * min(sums.above(0.0), sums.below(0.0))),
        sums.least_p(),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """How likely each sum over the strata is, but for the odds: its logarithm, from the least sum on.

    Attributes:
        observed: The place of the sum that was seen.
    """

    logs: Sequence[float]
    observed: int

    @classmethod
    def of(cls, strata: Sequence[Stratum]) -> _Sums | None:
        """How likely each sum over these tables is; None where there is only one sum."""
        # Close to the odds that were seen, no probability that matters is too small for a float.
        log = _rough(strata)
        chances, observed = [1.0], 0
        for stratum in strata:
            least, each = _chances(stratum, log)
            observed += stratum.first - least
            chances = _together(chances, each)
        if len(chances) < 2:
            return None
        return cls(
            [math.log(c) - i * log if c > 0 else -math.inf for i, c in enumerate(chances)], observed
        )

    @property
    def at_the_top(self) -> bool:
        return self.observed == len(self.logs) - 1

    def shares(self, log: float) -> list[float]:
        """The probability of each sum at these odds."""
        logs = [each + i * log for i, each in enumerate(self.logs)]
        most = max(logs)
        sizes = [math.exp(each - most) for each in logs]
        total = math.fsum(sizes)
        return [size / total for size in sizes]

    def above(self, log: float) -> float:
        """The probability of a larger sum than was seen, and of half of those as large."""
        shares = self.shares(log)
        return math.fsum(shares[self.observed + 1 :]) + shares[self.observed] / 2

    def below(self, log: float) -> float:
        """The probability of a smaller sum than was seen, and of half of those as large."""
        shares = self.shares(log)
        return math.fsum(shares[: self.observed]) + shares[self.observed] / 2

    def most_likely(self) -> float:
        """The odds at which the mean sum is the one that was seen."""
        if self.observed == 0:
            return 0.0
        if self.at_the_top:
            return math.inf
        return _odds(
            lambda log: math.fsum(i * s for i, s in enumerate(self.shares(log))) - self.observed
        )

    def least_p(self) -> float:
        """The p-value of the sum that would speak most against equal odds."""
        shares = self.shares(0.0)
        return min(1.0, shares[0], shares[-1])


def _odds(rising: Callable[[float], float]) -> float:
    """The odds at whose logarithm a rising function crosses 0."""
    low, high = -_FAR, _FAR
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rising(middle) > 0:
            high = middle
        else:
            low = middle
    return math.exp((low + high) / 2)


def _rough(strata: Sequence[Stratum]) -> float:
    """The logarithm of Mantel and Haenszel's estimate, kept within reason."""
    # Half a table on each side, so that neither is 0 where the groups differ in every answer.
    up = down = 0.5
    for a, n, c, m in strata:
        if n + m:
            up += a * (m - c) / (n + m)
            down += c * (n - a) / (n + m)
    return math.log(up / down)


def _chances(stratum: Stratum, log: float) -> tuple[int, list[float]]:
    """The least number of the first group that can have it, and from there on how likely each is; the greatest is 1."""
    a, n, c, m = stratum
    having = a + c
    least, most = max(0, having - m), min(n, having)
    logs = [
        log_choices(n, k) + log_choices(m, having - k) + k * log for k in range(least, most + 1)
    ]
    top = max(logs)
    return least, [math.exp(each - top) for each in logs]


def _together(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """How likely each sum of the two is."""
    backwards = list(reversed(second))
    n, m = len(first), len(second)
    sums: list[float] = []
    for i in range(n + m - 1):
        start, stop = max(0, i - m + 1), min(n, i + 1)
        offset = m - 1 - i
        sums.append(sum(map(mul, first[start:stop], backwards[start + offset : stop + offset])))
    return sums
