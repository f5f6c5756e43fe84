"""A comparison where some trials are in error: what is said must hold whatever they would have come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.paired_difference import LEVEL, Differences, Rule, Word, verdict
from evenhand.stats.tallies import OpenNumber


@dataclass(frozen=True)
class Extremes:
    """Differences of the same cases at both ends of what trials in error can have come to.

    Attributes:
        least: The differences, second minus first, had all errors of the second been as low, and all of the first as
            high, as can be.
        most: The other way round. Without errors it is the same object.
    """

    least: Differences
    most: Differences

    @property
    def open(self) -> bool:
        """Whether the two differ."""
        return self.least is not self.most

    @property
    def n(self) -> int:
        """How many cases."""
        return self.least.n

    @property
    def rates(self) -> bool:
        """Whether they are differences of pass rates."""
        return self.least.rates

    @property
    def unscaled(self) -> bool:
        """Whether they are on a scale that nobody knows; see `Differences.unscaled`."""
        return self.least.unscaled or self.most.unscaled

    @property
    def directions(self) -> tuple[int, int]:
        """How many units are above 0 whatever became of errors, and how many below it."""
        return self.least.directions[0], self.most.directions[1]

    @property
    def clusters(self) -> Sequence[Sequence[float]]:
        """The cases' lowest differences, those together that belong together."""
        return self.least.clusters

    @property
    def mean(self) -> OpenNumber | None:
        """The difference of the means; None for no cases."""
        least, most = self.least.mean, self.most.mean
        return None if least is None or most is None else OpenNumber(least, most)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """From the lower end of the one's interval to the upper end of the other's; see `Differences.interval`."""
        low, high = self.least.interval(confidence)
        return (low, self.most.interval(confidence)[1]) if self.open else (low, high)

    def agreeing(
        self, p: float, level: float = LEVEL, raised: float = 1, word: Word = "undecided"
    ) -> tuple[float, float, float]:
        """An interval and a p-value that say the same: 0 lies in the interval where the p-value is above the level.

        Interval and test have formulas of their own, so that with few cases one can show what the other doesn't. A
        difference counts as shown where both do. Otherwise the interval is widened to 0, or the p-value raised to the
        level at which the interval would reach it: neither promises more than it did.

        Args:
            p: The p-value, corrected for the number of tests.
            level: What it is held against.
            raised: How many times the correction raised it: the error of the interval is as many times smaller.
            word: What is said of the differences. With a margin, the interval alone can show that they are *worse*.

        Returns:
            The lower end, the upper end, and the p-value.
        """
        low, high = self.interval(1 - level / raised)
        if word == "worse" and not low <= 0 <= high:
            return low, high, p
        if p > level:
            return min(low, 0.0), max(high, 0.0), p
        if math.isinf(low) or low > 0 or high < 0:
            return low, high, p

        def excludes(error: float) -> bool:
            ends = self.interval(1 - error)
            return ends[0] > 0 or ends[1] < 0

        least, most = level / raised, 1.0
        while most - least > 1e-6:
            middle = (least + most) / 2
            least, most = (least, middle) if excludes(middle) else (middle, most)
        return low, high, min(1.0, most * raised)

    @cached_property
    def p(self) -> float:
        """The larger of the two p-values; 1 where the extremes do not lie on one side of 0."""
        least, most = self._ps
        if not self.open:
            return least
        if self.unscaled:  # a test of signs
            ends = [up - down for up, down in (self.least.directions, self.most.directions)]
        else:
            ends = list(self.mean or (0.0,))
        return 1.0 if ends[0] <= 0 <= ends[-1] else max(least, most)

    @cached_property
    def _ps(self) -> tuple[float, float]:
        least = self.least.p()
        # Without errors both sides are the same object, and a p-value can take long.
        return least, self.most.p() if self.open else least

    def smallest(self, level: float = 1 - CONFIDENCE) -> float | None:
        """The larger of the smallest differences that could have been shown; None where one of them is unknown."""
        least = self.least.smallest(level)
        most = self.most.smallest(level) if self.open else least
        return None if least is None or most is None else max(least, most)

    def verdict(
        self,
        corrected: Callable[[float], float],
        *,
        lower: bool = False,
        of: int = 1,
        margin: float | None = None,
        rule: Rule = verdict,
    ) -> tuple[Word, bool]:
        """What can be said of the second whatever became of the errors, and whether errors are why so little is said.

        A word is said if it holds at both extremes: what is better at one and non-inferior at the other is
        non-inferior. Otherwise it is *undecided*.

        Args:
            corrected: Corrects a p-value for the number of tests.
            lower: Whether less is better.
            of: How many tests there are.
            margin: How much worse is still accepted; see `evenhand.stats.paired_difference.verdict`.
            rule: What says the word at each extreme.
        """
        sides = ((self.least, self._ps[0]), (self.most, self._ps[1]))
        words: set[Word] = set()
        for data, alone in sides if self.open else sides[:1]:
            p = corrected(alone)
            raised = p / alone if alone else of
            turned = data.turned() if lower else data
            words.add(rule(turned, p, of=of, margin=margin, raised=raised))
        if words == {"better", "non-inferior"}:
            return "non-inferior", False
        return (words.pop(), False) if len(words) == 1 else ("undecided", True)


def certain(differences: Differences) -> Extremes:
    """Differences without errors."""
    return Extremes(differences, differences)
