"""Whether one of two is better on the same cases: paired, so that easy and hard cases cancel out.

How it works. Each case gives one difference: the mean over its repeats under the second minus that under the first. So
repeats are never taken for more cases, and cases that belong together (a document asked about five times) are never
taken for independent ones: they are kept in clusters, and whole clusters vary.

- For pass rates the test throws the signs of the clusters' differences; for cases that passed or failed once it is
  McNemar's exact test. The interval of the difference is Tango's.
- For scores, test and interval are those of a mean on a known scale (`bounded`): they hold whatever the distributions
  of the two, where Student's t and the throwing of signs take differences for symmetric.
- A difference counts as shown where both agree: the test, corrected for the number of tests, and the interval.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Literal, Protocol, overload

from evenhand.stats.bounded import Scale, mean_on_scale, p_on_scale
from evenhand.stats.compare import paired_rates
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.permutation import sign_flip
from evenhand.stats.power import POWER, detectable_exact
from evenhand.stats.student import t_quantile

LEVEL = 1 - CONFIDENCE
FEWEST = 5
"""With fewer cases nothing is said of which is better, whatever they scored."""

FEWEST_UNSCALED = 20
"""The same for scores on a scale that is not known."""

Word = Literal["better", "worse", "non-inferior", "no detectable difference", "undecided"]


class Alone(Sequence[Sequence[float]]):
    """Differences of cases each of which is a cluster of its own: no more than an array of a million numbers.

    Args:
        values: They, one for each case.
    """

    def __init__(self, values: array[float]) -> None:
        whole = all(value in (-1, 0, 1) for value in values)
        self.values: array[float] | array[int] = array("b", map(int, values)) if whole else values

    @overload
    def __getitem__(self, index: int) -> Sequence[float]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[float]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[float] | Sequence[Sequence[float]]:
        if isinstance(index, slice):
            return Alone(array("d", self.values[index]))
        return (self.values[index],)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Sequence[float]]:
        return ((value,) for value in self.values)

    def __eq__(self, other: object) -> bool:
        return self.values == other.values if isinstance(other, Alone) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.values.tobytes())


@dataclass(frozen=True)
class Differences:
    """How much more each case scored under the second than under the first.

    Attributes:
        clusters: The cases' differences, those together that belong together. No cluster is empty.
        rates: Whether they are differences of pass rates, from −1 to 1, and not of scores.
        repeats: How many trials a case has, on average; at least 1.
        scale: The lowest and the highest difference of scores there can be; None where all scores are one number, and
            for pass rates.
        scaled: Whether that is known. If not it is how far apart the scores were that were seen, and nothing is said
            of fewer than FEWEST_UNSCALED cases.
    """

    clusters: Sequence[Sequence[float]]
    rates: bool = False
    repeats: float = 1.0
    scale: Scale | None = None
    scaled: bool = True

    @cached_property
    def cases(self) -> Sequence[float]:
        """The differences, one for each case."""
        if isinstance(self.clusters, Alone):
            return self.clusters.values
        return tuple(d for cluster in self.clusters for d in cluster)

    @property
    def n(self) -> int:
        """How many cases."""
        return len(self.cases)

    @property
    def mean(self) -> float | None:
        """The difference of the means, in the scores' own unit; None for no cases."""
        return math.fsum(self.cases) / self.n if self.n else None

    @cached_property
    def plain(self) -> bool:
        """Whether each case stands alone and either passed or failed, as McNemar's and Tango's tables have it."""
        return (
            self.rates and len(self.clusters) == self.n and all(d in (-1, 0, 1) for d in self.cases)
        )

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Where the difference lies, two-sided, in the scores' own unit.

        For pass rates it is Tango's, of as many cases as say as much: repeats that agree make a case worth more, up
        to their number; cases of a cluster that go together are worth less, down to one for a cluster. For no cases it
        is from −1 to 1; for scores of fewer than FEWEST clusters without end.

        Source: Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B; for scores see
            `mean_on_scale`.
        """
        if not self.rates:
            if len(self.clusters) < FEWEST:
                return -math.inf, math.inf
            if self.scale is None:
                return 0.0, 0.0
            estimate = mean_on_scale(self._sums, self.scale, confidence)
            return estimate[1:] if estimate else (-math.inf, math.inf)
        worth = 1.0 if self.plain else self._worth(confidence)
        ahead = math.fsum(d for d in self.cases if d > 0) * worth
        behind = -math.fsum(d for d in self.cases if d < 0) * worth
        estimate = paired_rates(self.n * worth, ahead, behind, confidence)
        return estimate.low, estimate.high

    def p(self) -> float:
        """The two-sided p-value that there is no difference; 1 for no cases. See `sign_flip` and `p_on_scale`."""
        if self.rates:
            return sign_flip(array("d", (total for total, _ in self._sums)))
        return 1.0 if self.scale is None else p_on_scale(self._sums, self.scale)

    def can_show(self, level: float = 1 - CONFIDENCE) -> bool:
        """Whether so many cases can show any difference at all: one where every case goes the same way.

        Args:
            level: The p-value that it takes.
        """
        return 2 ** (1 - len(self.clusters)) <= level

    def smallest(self, level: float = 1 - CONFIDENCE) -> float | None:
        """The smallest true difference that cases like these show four times in five; None where they show none.

        Args:
            level: The p-value that it takes.
        """
        if not self.can_show(level):
            return None
        if self.plain:
            differing = sum(d != 0 for d in self.cases) / self.n
            return detectable_exact(self.n, differing, level)
        low, high = self.interval(1 - level)
        if math.isinf(low):
            return None
        shown = z_of(1 - level)
        smallest = (high - low) / 2 * (shown + NormalDist().inv_cdf(POWER)) / shown
        largest = 1.0 if self.rates else self.scale[1] if self.scale else 0.0
        return smallest if smallest <= largest else None

    @property
    def _sums(self) -> Iterator[tuple[float, float]]:
        return ((math.fsum(cluster), len(cluster)) for cluster in self.clusters)

    def turned(self) -> Differences:
        """The other way round, for what is better the less there is of it."""
        if isinstance(self.clusters, Alone):
            return replace(self, clusters=Alone(array("d", (-d for d in self.clusters.values))))
        return replace(self, clusters=[[-d for d in cluster] for cluster in self.clusters])

    def _worth(self, confidence: float) -> float:
        """How many yes-or-no cases one case is worth: the ratio of the two variances of their sum.

        The variance that was seen is of as many clusters as there are, so Student's quantile takes the normal's place.

        Source: the effective sample size is Kish's (Survey Sampling, 1965).
        """
        mean, groups = self.mean or 0.0, len(self.clusters)
        as_yes_or_no = math.fsum(map(abs, self.cases)) - self.n * mean**2
        seen = math.fsum((math.fsum(c) - len(c) * mean) ** 2 for c in self.clusters)
        least = groups / max(1, self.n)
        if groups < 2 or seen <= 0 or as_yes_or_no <= 0:
            return least  # nothing tells cases of one cluster from one another
        seen *= groups / (groups - 1) * (t_quantile(confidence, groups - 1) / z_of(confidence)) ** 2
        return min(self.repeats, max(least, as_yes_or_no / seen))


class Rule(Protocol):
    """What says what differences come to: `verdict`, or a stricter one."""

    def __call__(
        self, differences: Differences, p: float, *, of: int = 1, margin: float | None = None
    ) -> Word: ...


def verdict(
    differences: Differences,
    p: float,
    *,
    of: int = 1,
    margin: float | None = None,
    level: float = LEVEL,
) -> Word:
    """What the data say of the second: better, worse, no detectable difference, or that they cannot say.

    Args:
        differences: Turned so that more is better.
        p: Their p-value, corrected for the number of tests.
        of: How many tests there are.
        margin: How much worse is still accepted, in the scores' unit. With it the second is *non-inferior* where the
            lower end of the one-sided interval (95 %) is above −margin, *worse* where the upper end is below it, and
            *undecided* in between.
        level: Of the test, 0.05 by default; one-sided with a margin.

    Returns:
        *undecided* without a margin where so few cases can show no difference at all.

    Source: non-inferiority as in Tango (1998), see `Differences.interval`; all metrics have to hold at once, which
        takes no correction (Berger, Technometrics 24 (1982), doi:10.1080/00401706.1982.10487790). That one of them is
        worse is corrected after Bonferroni.
    """
    if differences.n < (FEWEST if differences.scaled else FEWEST_UNSCALED):
        return "undecided"
    low, high = differences.interval(1 - level)
    shown = p <= level and (low > 0 or high < 0)
    if margin is None:
        if shown:
            return "better" if low > 0 else "worse"
        return "no detectable difference" if differences.can_show(level / of) else "undecided"
    if differences.interval(1 - 2 * level / of)[1] < -margin:
        return "worse"
    if differences.interval(1 - 2 * level)[0] > -margin:
        return "better" if shown and low > 0 else "non-inferior"
    return "undecided"
