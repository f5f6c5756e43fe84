"""Tests and intervals that hold whenever one looks: a run can stop as soon as its verdict is decided.

How this works: a bettor starts with a capital of 1 and bets, item after item, that the mean is higher (or lower) than
supposed. If the supposition is true, the capital is expected to stay where it is, however the bettor plays, and is
unlikely ever to reach 1/α: it does so with probability α at most (Ville). So a capital of 1/α or more rejects the
supposition at level α, at any time, and looking often costs nothing. Items have to come in an order that was drawn at
random before anything was known of them.
"""

from __future__ import annotations

import math
from typing import Literal

from evenhand.stats.interval import CONFIDENCE

TRUNCATION = 0.5
"""The largest share of what could be lost at once that is ever bet."""
_STEPS = 60
_ROOM = 1e-9
_CLOSE = 1e-9
_BELOW = 1e-7
_LARGEST = 700.0


class Bet:
    """A bet on each item against the supposition that the mean is a given one, or beyond it.

    Args:
        mean: The supposed mean, between 0 and 1.
        on: What is bet on: that the true mean is `higher`, or `lower`.
        alpha: The level at which it is meant to reject; it sets the stakes, and the test is valid at every level.
        of: How many items there are, where the mean is that of exactly these and each comes once. None where it is that
            of all items there could be.

    Raises:
        ValueError: The mean or the level isn't between 0 and 1, or there are no items.

    Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (JRSS B 86, 2024),
        doi:10.1093/jrsssb/qkad009; the stakes are those of their predictable empirical-Bernstein plug-in, and the
        supposed mean of what is left of a number of items is that of their §5.

    >>> bet = Bet(0.5, "higher", 0.05)
    >>> for _ in range(20):
    ...     bet.add(1)
    >>> bet.capital > 20
    True
    """

    def __init__(
        self, mean: float, on: Literal["higher", "lower"], alpha: float, of: int | None = None
    ) -> None:
        if not 0 < mean < 1 or not 0 < alpha < 1:
            msg = f"a mean of {mean} at level {alpha}"
            raise ValueError(msg)
        if of is not None and of < 1:
            msg = f"{of} items"
            raise ValueError(msg)
        self._mean = mean
        self._sign = 1 if on == "higher" else -1
        self._of = of
        self._stake = 2 * math.log(1 / alpha)
        self._n = 0
        self._sum = self._squares = 0.0
        self._variance = 0.25  # the largest that values from 0 to 1 can have
        self._log = self._largest = 0.0

    def add(self, x: float) -> None:
        """Bets on the next item.

        Args:
            x: Its value, from 0 to 1.

        Raises:
            ValueError: It is not, or there are more items than there can be.
        """
        if not 0 <= x <= 1:
            msg = f"{x} is not from 0 to 1"
            raise ValueError(msg)
        n = self._n + 1
        supposed = self._mean if self._of is None else self._left(self._of)
        # The mean supposed of what is left can come to 0 or 1, where nothing can be lost.
        room = max(_ROOM, supposed if self._sign > 0 else 1 - supposed)
        stake = min(
            math.sqrt(self._stake / (self._variance * n * math.log1p(n))), TRUNCATION / room
        )
        self._log += math.log1p(self._sign * stake * (x - supposed))
        self._largest = max(self._largest, self._log)
        # Only now: a stake that knew the item it is bet on would not be fair.
        self._n = n
        self._sum += x
        mean = (0.5 + self._sum) / (n + 1)
        self._squares += (x - mean) ** 2
        self._variance = (0.25 + self._squares) / (n + 1)

    def _left(self, of: int) -> float:
        """What the mean of the items that are left would have to be."""
        if self._n >= of:
            msg = f"more than {of} items"
            raise ValueError(msg)
        return min(1.0, max(0.0, (of * self._mean - self._sum) / (of - self._n)))

    @property
    def _refuted(self) -> bool:
        """Whether what is left cannot bring the mean to what was supposed."""
        if self._of is None:
            return False
        missing = self._of * self._mean - self._sum
        return missing < -_CLOSE if self._sign > 0 else missing > self._of - self._n + _CLOSE

    @property
    def capital(self) -> float:
        """The largest capital so far; 1 before anything is bet, infinite where the supposition is refuted."""
        # `exp` overflows above 709.
        if self._refuted or self._largest > _LARGEST:
            return math.inf
        return math.exp(self._largest)


def share_sequence(successes: float, failures: float) -> tuple[float, float]:
    """A confidence sequence for a share of yes and no: closed, a little wider, and whatever the order of the items.

    Args:
        successes: How many are yes. Items between 0 and 1 count as parts: the interval holds for their mean, too.
        failures: How many are no.

    Returns:
        Its ends, from 0 to 1; (0, 1) for nothing.

    Source: Robbins' mixture, doi:10.1214/aoms/1177696786, with a uniform prior. For x between 0 and 1, each factor
        (q/m)ˣ((1−q)/(1−m))¹⁻ˣ is at most x·q/m + (1−x)(1−q)/(1−m), which is 1 in expectation.

    >>> [round(end, 6) for end in share_sequence(16, 4)]
    [0.473565, 0.970106]
    """
    if successes < 0 or failures < 0:
        msg = f"{successes} and {failures}"
        raise ValueError(msg)
    if not successes + failures:
        return 0.0, 1.0
    mixture = (
        math.lgamma(1 + successes)
        + math.lgamma(1 + failures)
        - math.lgamma(2 + successes + failures)
    )
    bound = mixture + math.log(1 - CONFIDENCE)

    def outside(share: float) -> bool:
        likelihood = 0.0
        if successes:
            likelihood += successes * math.log(share) if share > 0 else -math.inf
        if failures:
            likelihood += failures * math.log1p(-share) if share < 1 else -math.inf
        return likelihood <= bound

    def end(inside: float, beyond: float) -> float:
        if not outside(beyond):
            return beyond
        for _ in range(_STEPS):
            middle = (inside + beyond) / 2
            inside, beyond = (inside, middle) if outside(middle) else (middle, beyond)
        return (inside + beyond) / 2

    top = successes / (successes + failures)
    return end(top, 0.0), end(top, 1.0)


class ShareWatch:
    """Whether the mean of a number of items reaches a bound: decided, mostly, before all of them are seen.

    What is decided is what all items would come to, and not what other items like them would.

    Args:
        bound: What the mean has to reach, from 0 to 1.
        of: How many items there are; each comes once, in an order drawn at random.
        alpha: How often it may say, at most, what all items would contradict.

    Raises:
        ValueError: The bound or the level is out of its range, or there are no items.

    Source: see Bet.

    >>> watch = ShareWatch(0.5, 100)
    >>> for _ in range(51):
    ...     watch.add(1.0)
    >>> watch.decides("kept")
    True
    """

    def __init__(self, bound: float, of: int, alpha: float = 0.05) -> None:
        if not 0 <= bound <= 1:
            msg = f"a bound of {bound}"
            raise ValueError(msg)
        self.alpha = alpha
        self.of = of
        self.n = 0
        self._certain = bound == 0
        # A mean that is exactly the bound keeps it: the nearest that does not is one that is a little below.
        self._kept = Bet(min(1 - _ROOM, max(_ROOM, bound - _BELOW)), "higher", alpha, of)
        self._missed = Bet(min(1 - _ROOM, max(_ROOM, bound)), "lower", alpha, of)

    def add(self, least: float, most: float | None = None) -> None:
        """Takes in an item.

        Args:
            least: Its value, from 0 to 1; the lowest that errors leave possible.
            most: The highest; None where the value is known.

        Raises:
            ValueError: One of them is out of this range, or there are more items than there can be.
        """
        self._kept.add(least)
        self._missed.add(least if most is None else most)
        self.n += 1

    def decides(self, word: Literal["kept", "missed"], of: int = 1) -> bool:
        """Whether this is shown. Once shown, it stays.

        Args:
            word: Which of the two.
            of: How many bounds there are: after Bonferroni. That several are all *kept* takes no correction.
        """
        if self._certain:
            return word == "kept"
        bet = self._kept if word == "kept" else self._missed
        return bet.capital >= of / self.alpha
