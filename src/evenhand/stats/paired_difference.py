"""Whether one of two is better on the same cases: paired, so that easy and hard cases cancel out.

How it works. Each case gives one difference: the mean over its repeats under the second minus that under the first. So
repeats are never taken for more cases, and cases that belong together (a document asked about five times) are never
taken for independent ones: they are kept in clusters, and each cluster gives the mean of its cases. Every cluster
counts once, as every case does whatever the number of its repeats: so no limit hangs on how large a cluster may be
that was not drawn, and copies of a case change nothing.

- For pass rates the test throws the signs of the cases' differences; for cases that passed or failed once it is
  McNemar's exact test. The interval of the difference is Tango's.
- For scores, and for pass rates over clusters, test and interval are those of a mean on a known scale (`bounded`):
  they hold whatever the distributions of the two, where Student's t and the throwing of signs take differences for
  symmetric.
- Pass rates of which one side has more repeats than the other are taken as scores from −1 to 1: a case that passes
  nine times in ten, asked once, is a tenth up or nine tenths down, and throwing its sign would be wrong.
- Of a part of a suite that was drawn, they are the adjusted differences of `control_variates`, with its weights.
- A difference counts as shown where both agree: the test and the interval, both corrected for the number of tests.
- On a scale that nobody knows, no mean is known either: one value in fifty may be fifty times as large as all that
  were seen. What can be said is how many cases went which way.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, islice
from random import Random
from statistics import NormalDist
from typing import Literal, Protocol, overload

from evenhand.stats.bounded import Scale, mean_on_scale, p_on_scale
from evenhand.stats.distributions import t_quantile, t_tail
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.power import POWER, detectable_exact

LEVEL = 1 - CONFIDENCE
FEWEST = 5
"""With fewer cases nothing is said of which is better, whatever they scored."""

_SHARES: Scale = (-1.0, 1.0)
"""Of differences of pass rates."""
_MANY = 10_000
"""From so many units on, an interval shrinks with the root of their number, whatever their distribution."""

Word = Literal["better", "worse", "non-inferior", "no detectable difference", "undecided"]


class Alone(Sequence[Sequence[float]]):
    """Differences of cases each of which is a cluster of its own: no more than an array of a million numbers.

    Args:
        values: They, one for each case.
    """

    def __init__(self, values: array[float]) -> None:
        # Without repeats, differences of pass rates are whole numbers: one byte for each case instead of eight.
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
            for pass rates but those whose differences are adjusted, or of which one side has more repeats.
        scaled: Whether that is known. If not it is how far apart the scores were that were seen, or infinite where a
            trial is in error; the p-value is that of how many cases went which way, and nothing is said of the mean.
        weights: How much each cluster counts; None where all count alike.
    """

    clusters: Sequence[Sequence[float]]
    rates: bool = False
    repeats: float = 1.0
    scale: Scale | None = None
    scaled: bool = True
    weights: Sequence[float] | None = None

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

    @cached_property
    def units(self) -> Sequence[float]:
        """The mean difference of each cluster, of the cases where each stands alone: what is independent."""
        if isinstance(self.clusters, Alone):
            return self.clusters.values
        return tuple(c[0] if len(c) == 1 else math.fsum(c) / len(c) for c in self.clusters)

    @property
    def mean(self) -> float | None:
        """The difference of the means, each cluster counting once, in the scores' own unit; None for no cases."""
        if not self.units:
            return None
        if self.weights is None:
            return math.fsum(self.units) / len(self.units)
        return math.fsum(total for total, _ in self._weighed) / math.fsum(self.weights)

    @cached_property
    def plain(self) -> bool:
        """Whether each unit either passed or failed, as McNemar's and Tango's tables have it."""
        return self.rates and self.scale is None and all(d in (-1, 0, 1) for d in self.units)

    @cached_property
    def _on_scale(self) -> Scale | None:
        """The scale of which the mean is taken; None for pass rates that have a table, and for scores all alike."""
        if not self.rates or self.scale is not None:
            return self.scale
        grouped = len(self.clusters) < self.n
        return _SHARES if grouped and not self.plain else None

    @property
    def unscaled(self) -> bool:
        """Whether they are scores that differ, on a scale that nobody knows: nothing is said of their mean."""
        return not self.rates and not self.scaled and self.scale is not None

    @property
    def directions(self) -> tuple[int, int]:
        """How many units are above 0, and how many below it."""
        return sum(d > 0 for d in self.units), sum(d < 0 for d in self.units)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Where the difference lies, two-sided, in the scores' own unit.

        For pass rates it is Tango's, of as many cases as say as much: repeats that agree make a case worth more, up
        to their number. For no cases it is from −1 to 1; without end for scores of fewer than FEWEST clusters, and on a
        scale that is not known.

        Source: Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B; for scores see
            `mean_on_scale`.
        """
        if not self.rates and self.scale is None:
            return (0.0, 0.0) if len(self.clusters) >= FEWEST else (-math.inf, math.inf)
        if self.unscaled or (not self.rates and len(self.clusters) < FEWEST):
            return -math.inf, math.inf
        if self._on_scale:
            estimate = mean_on_scale(self._weighed, self._on_scale, confidence)
            return estimate[1:] if estimate else (-math.inf, math.inf)
        units = self.units
        worth = 1.0 if self.plain else self._worth(confidence)
        ahead = math.fsum(d for d in units if d > 0) * worth
        behind = -math.fsum(d for d in units if d < 0) * worth
        estimate = paired_rates(len(units) * worth, ahead, behind, confidence)
        return estimate.low, estimate.high

    def p(self) -> float:
        """The two-sided p-value that there is no difference; 1 for no cases. See `sign_flip` and `p_on_scale`.

        Of means on a scale it is 1 for fewer than FEWEST clusters, too: one score alone would come to about a half.

        On a scale that is not known it is that as many units go up as go down: the sign test.

        Source: Dixon and Mood, J. Am. Stat. Assoc. 41 (1946), doi:10.1080/01621459.1946.10501898.
        """
        # Pass rates that have a table get the test of signs; scores without a scale are all one number.
        if self._on_scale is None:
            return sign_flip(array("d", self.units)) if self.rates else 1.0
        if self.unscaled:
            return mcnemar(*self.directions)
        if len(self.clusters) < FEWEST:
            return 1.0
        return p_on_scale(self._weighed, self._on_scale)

    def can_show(self, level: float = 1 - CONFIDENCE) -> bool:
        """Whether so many cases can show any difference at all: one where every case goes the same way.

        Args:
            level: The p-value that it takes.
        """
        # The two-sided p-value of signs that all agree, the smallest there can be.
        return 2 ** (1 - len(self.clusters)) <= level

    def smallest(self, level: float = 1 - CONFIDENCE) -> float | None:
        """The smallest true difference that cases like these show four times in five; None where they show none.

        Args:
            level: The p-value that it takes.
        """
        if not self.can_show(level):
            return None
        if self.plain:
            groups = len(self.units)
            return detectable_exact(groups, sum(self.directions) / groups, level)
        low, high = self.interval(1 - level)
        if math.isinf(low):
            return None
        significant = z_of(1 - level)
        smallest = (high - low) / 2 * (significant + NormalDist().inv_cdf(POWER)) / significant
        largest = 1.0 if self.rates else self.scale[1] if self.scale else 0.0
        return smallest if smallest <= largest else None

    def of_size(self, units: int) -> Differences:
        """So many units that come out as these did: each as often, as far as their numbers allow.

        Args:
            units: How many, at least 1. There has to be one to go by.

        >>> Differences([[0.0], [1.0], [0.5, 0.5]], rates=True).of_size(6).units
        array('d', [0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
        """
        order = sorted(range(len(self.units)), key=self.units.__getitem__)
        places = [order[(2 * i + 1) * len(order) // (2 * units)] for i in range(units)]
        return replace(
            self,
            clusters=Alone(array("d", (self.units[place] for place in places))),
            # Whether cases are in clusters is not seen any more.
            scale=self._on_scale,
            weights=None if self.weights is None else [self.weights[place] for place in places],
        )

    def reach(self, units: int, confidence: float = CONFIDENCE) -> float:
        """Half of the interval that so many units like these would have; infinite where it has no end."""
        return math.fsum(self.reaches(units, confidence)) / 2

    def reaches(self, units: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """How far below and above the mean the interval of so many units like these would reach."""
        few = min(units, max(_MANY, len(self.units)))
        sample = self.of_size(few)
        mean, (low, high) = sample.mean or 0.0, sample.interval(confidence)
        shrunk = math.sqrt(few / units)
        return (mean - low) * shrunk, (high - mean) * shrunk

    def needed(self, difference: float, level: float = 1 - CONFIDENCE) -> int | None:
        """The fewest units like these that show a true difference four times in five; None where there is none.

        Args:
            difference: Above 0.
            level: The p-value that it takes.
        """

        def shows(units: int) -> bool:
            smallest = self.of_size(units).smallest(level)
            return smallest is not None and smallest <= difference

        if not self.units or self.unscaled or difference <= 0:
            return None
        low, high = 1, 2
        while high < _MANY and not shows(high):
            low, high = high, 2 * high
        if not shows(high):
            smallest = self.of_size(high).smallest(level)
            return None if smallest is None else math.ceil(high * (smallest / difference) ** 2)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if shows(middle) else (middle, high)
        return high

    @property
    def _weighed(self) -> Iterator[tuple[float, float]]:
        if self.weights is None:
            return ((unit, 1.0) for unit in self.units)
        return ((d * weight, weight) for d, weight in zip(self.units, self.weights, strict=True))

    def turned(self) -> Differences:
        """The other way round, for what is better the less there is of it."""
        scale = None if self.scale is None else (-self.scale[1], -self.scale[0])
        if isinstance(self.clusters, Alone):
            alone = Alone(array("d", (-d for d in self.clusters.values)))
            return replace(self, clusters=alone, scale=scale)
        clusters = [[-d for d in cluster] for cluster in self.clusters]
        return replace(self, clusters=clusters, scale=scale)

    def _worth(self, confidence: float) -> float:
        """How many yes-or-no cases one case is worth: the ratio of the two variances of their sum.

        The variance that was seen is of as many cases as there are, so Student's quantile takes the normal's place.

        Source: the effective sample size is Kish's (Survey Sampling, 1965).
        """
        mean, units = self.mean or 0.0, self.units
        groups = len(units)
        as_yes_or_no = math.fsum(map(abs, units)) - groups * mean**2
        squares = math.fsum((unit - mean) ** 2 for unit in units)
        if groups < 2 or squares <= 0 or as_yes_or_no <= 0:
            return 1.0  # nothing tells cases from one another
        squares *= (
            groups / (groups - 1) * (t_quantile(confidence, groups - 1) / z_of(confidence)) ** 2
        )
        return min(self.repeats, max(1.0, as_yes_or_no / squares))


class Rule(Protocol):
    """What says what differences come to: `verdict`, or a stricter one."""

    def __call__(
        self,
        differences: Differences,
        p: float,
        *,
        of: int = 1,
        margin: float | None = None,
        raised: float = 1,
    ) -> Word: ...


def verdict(
    differences: Differences,
    p: float,
    *,
    of: int = 1,
    margin: float | None = None,
    level: float = LEVEL,
    raised: float = 1,
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
        raised: How many times the correction raised the p-value: the error of the interval is as many times smaller.

    Returns:
        *undecided* where there are fewer than FEWEST clusters, without a margin where so few can show no difference at
        all, and on a scale that is not known: there, a second that was not worse by more than the margin, and is shown
        not to be in most cases, is *non-inferior*.

    Source: non-inferiority as in Tango (1998), see `Differences.interval`; all metrics have to hold at once, which
        takes no correction (Berger, Technometrics 24 (1982), doi:10.1080/00401706.1982.10487790). That one of them is
        worse is corrected after Bonferroni.
    """
    if len(differences.clusters) < FEWEST:
        return "undecided"
    if differences.unscaled:
        return "non-inferior" if _mostly_within(differences, margin, level) else "undecided"
    low = high = 0.0
    if p <= level:  # the interval takes far longer than all else here
        low, high = differences.interval(1 - level / raised)
    significant = low > 0 or high < 0
    if margin is None:
        if significant:
            return "better" if low > 0 else "worse"
        return "no detectable difference" if differences.can_show(level / of) else "undecided"
    if differences.interval(1 - 2 * level / of)[1] < -margin:
        return "worse"
    if differences.interval(1 - 2 * level)[0] > -margin:
        return "better" if significant and low > 0 else "non-inferior"
    return "undecided"


def _mostly_within(differences: Differences, margin: float | None, level: float) -> bool:
    """Whether the mean is above −margin, and most clusters' differences are shown to be.

    A trial in error may have had any value: at its worst, the mean is lower than any margin.
    """
    units = differences.units
    if margin is None or -math.inf in units or math.fsum(units) / len(units) <= -margin:
        return False
    beyond = sum(unit <= -margin for unit in units)
    within = len(units) - beyond
    return within > beyond and mcnemar(within, beyond) <= 2 * level


DRAWS = 9_999
SEED = 20_240_229
EXACT_WORK = 150_000
LARGE = 1_000
_UNITS = 10**9
_HALF = bytes((0, 1)) * 128  # turns each random byte into 0 or 1


def sign_flip(differences: Sequence[float]) -> float:
    """The two-sided p-value that differences are as likely to be positive as negative, each with its size kept.

    Exact where the sums that signs can make are few enough to count: about 17 cases with arbitrary scores, hundreds
    with ratings or pass rates. Otherwise from 9,999 throws with a fixed seed, and beyond 1,000 differences by the t
    test, which it comes to there. Differences that are all of one size give McNemar's exact test.

    Args:
        differences: One for each case, or the sum of each cluster of cases. None, or all 0: 1.

    Raises:
        ValueError: One of them is not finite.

    Source: Fisher, The Design of Experiments (1935), §21; with random throws Phipson and Smyth, Stat. Appl. Genet.
        Mol. Biol. 9 (2010), doi:10.2202/1544-6115.1585.

    >>> sign_flip([0.3, 0.1, 0.2, 0.4, 0.5, 0.1])
    0.03125
    """
    if not all(map(math.isfinite, differences)):
        msg = "a difference is not a finite number"
        raise ValueError(msg)
    sizes = array("d", (abs(d) for d in differences if d))
    if not sizes:
        return 1.0
    largest = max(sizes)
    if min(sizes) >= largest * (1 - 1e-12):
        ahead = sum(d > 0 for d in differences)
        return mcnemar(ahead, len(sizes) - ahead)
    units = array("q", (round(size / largest * _UNITS) for size in sizes))
    # Shares such as 1/3 are rounded, so a sum that differs by no more than the rounding counts as being as far out.
    observed = abs(sum(round(d / largest * _UNITS) for d in differences)) - len(units)
    exact = _exact(units, observed)
    if exact is not None:
        return exact
    if len(sizes) > LARGE:
        return t_test(differences)
    random, hits, whole = Random(SEED), 0, sum(units)  # noqa: S311 (a permutation test)
    for _ in range(DRAWS):
        positive = sum(compress(units, random.randbytes(len(units)).translate(_HALF)))
        hits += abs(2 * positive - whole) >= observed
    # What was seen is one of the possible throws: without it, the p-value could be 0.
    return (1 + hits) / (1 + DRAWS)


def t_test(differences: Sequence[float]) -> float:
    """The two-sided p-value that the mean of differences is 0, by Student's t; 1 for fewer than two.

    Source: Student, Biometrika 6 (1908), doi:10.1093/biomet/6.1.1.
    """
    n = len(differences)
    if n < 2:
        return 1.0
    mean = math.fsum(differences) / n
    squares = math.fsum((d - mean) ** 2 for d in differences)
    if squares <= 0:
        return 0.0 if mean else 1.0
    return t_tail(mean / math.sqrt(squares / (n - 1) / n), n - 1)


def _exact(units: Sequence[int], observed: int) -> float | None:
    """The share of all signs whose sum is as far out as what was seen; None where there are too many sums to count."""
    sums = {units[0]: 1}  # the first sign is fixed: turning all of them changes no size
    work = 0
    for unit in islice(units, 1, None):
        work += len(sums)
        if work > EXACT_WORK:
            return None
        longer: defaultdict[int, int] = defaultdict(int)
        for total, ways in sums.items():
            longer[total + unit] += ways
            longer[total - unit] += ways
        sums = longer
    return sum(ways for total, ways in sums.items() if abs(total) >= observed) / 2 ** (
        len(units) - 1
    )
