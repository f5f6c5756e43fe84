"""The difference over a whole suite from a part of its cases: what earlier runs say of each case predicts the rest.

How this works: 225 of 500 cases are drawn and run. For each of these a regression on the baseline and on earlier
systems' results says what was to be expected, and the run says what came. How far the two are apart on average, added
to what is expected over all 500 cases, is the difference over all of them. A case is always predicted by a fit to the
other cases, so the estimate is right on average whatever the history says; a history that says nothing, or that
misleads, gets a weight near 0, and what is left is the plain difference of the cases that were run.

Each case that was run becomes one adjusted difference, so that tests, intervals and verdicts are those of plain ones
(`Differences`). Their spread counts both draws: which cases were run of the suite, and which are in the suite of all
there could be. With all cases run they *are* the plain differences. `finite` leaves the second draw out: the result is
then about these cases, what all of them would have come to, and with all cases run nothing is uncertain any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from evenhand.stats.bounded import Scale, mean_on_scale
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.likelihood import Matrix, Vector, add_square, factored, solved

SHARES: Scale = (0.0, 1.0)
"""Of pass rates."""
FEWEST = 20
"""With fewer units that were run, nothing is fitted: the differences stay plain."""
MOST_SYSTEMS = 8
"""So many earlier systems have a weight of their own; those before them count in the mean of all."""
_PULL = 1.0
"""How strongly weights are pulled to 0, in units that scored 1 against units that scored 0."""
_LARGE = 5_000
"""From so many units on, one of them doesn't move the fit: no unit is left out of its own prediction."""


@dataclass(frozen=True)
class Unit:
    """What the runs before say of one case, or of one cluster of cases, in one metric.

    Attributes:
        least: Its mean in the baseline, had trials in error come out as low as can be.
        most: The same, as high as can be; without errors it is the same number.
        earlier: What each earlier system scored, in one order for all units; None where it says nothing.
    """

    least: float
    most: float
    earlier: Sequence[float | None] = ()


@dataclass(frozen=True)
class Ran:
    """What a unit that was run came to.

    Attributes:
        place: Which unit of the suite, from 0.
        least: Its mean in the run, had trials in error come out as low as can be.
        most: The same, as high as can be.
        chance: How likely it was to be drawn, above 0 and at most 1.
    """

    place: int
    least: float
    most: float
    chance: float


@dataclass(frozen=True)
class Adjusted:
    """The adjusted differences of the units that were run, in the order in which they were given.

    Attributes:
        least: Them, with errors as low in the run and as high in the baseline as can be.
        most: The other way round.
        weights: How much each counts, on average 1.
        scale: The lowest and the highest adjusted difference there can be.
        fitted: Whether something was predicted. If not, they are the plain differences.
        helped: The share of the plain differences' spread that the history explains, 0 to 1.
    """

    least: Sequence[float]
    most: Sequence[float]
    weights: Sequence[float]
    scale: Scale
    fitted: bool = False
    helped: float = 0.0


def adjusted_differences(
    suite: Sequence[Unit], run: Sequence[Ran], scale: Scale, *, finite: bool = False
) -> Adjusted:
    """How much more each unit that was run scored than in the baseline, adjusted so that their mean is the suite's.

    Args:
        suite: All units that the result is about, run or not.
        run: Those that were run, drawn at random with the chances that they say.
        scale: The lowest and the highest score there can be.
        finite: Whether the result is about these units, and not about units like these.

    Returns:
        Plain differences where all units were run, or fewer than FEWEST. No units: empty sequences.

    Raises:
        ValueError: A chance is not above 0 and at most 1, or the scale has no length.

    Source: the regression estimator of survey sampling with two phases (Cochran, Sampling Techniques, 3rd ed. 1977,
        §12.6), as CUPED uses it: Deng, Xu, Kohavi and Walker (WSDM 2013), doi:10.1145/2433396.2433413; leaving out each
        unit keeps it unbiased: Wager, Du, Taylor and Tibshirani (PNAS 2016), doi:10.1073/pnas.1614732113. Unequal
        chances are weighted after Hájek, as in Särndal, Swensson and Wretman, Model Assisted Survey Sampling (1992),
        §6.4.

    >>> suite = [Unit(i % 2, i % 2) for i in range(60)]
    >>> run = [Ran(i, i % 2, i % 2, 0.5) for i in range(30)]
    >>> adjusted_differences(suite, run, (0, 1)).least[:3]
    [0.0, 0.0, 0.0]
    """
    low, high = scale
    if not low < high or math.isinf(high - low):
        msg = f"from {low} to {high} is not a scale"
        raise ValueError(msg)
    if any(not 0 < one.chance <= 1 for one in run):
        msg = "a chance is not above 0 and at most 1"
        raise ValueError(msg)
    reach = high - low
    # Of these units the baseline is known; others may have come to anything before.
    bottom, top = -reach, reach
    if finite and suite:
        bottom = low - max(unit.most for unit in suite)
        top = high - min(unit.least for unit in suite)
    weights = _weights(run)
    if len(run) < FEWEST or len(run) >= len(suite):
        least = [one.least - suite[one.place].most for one in run]
        most = [one.most - suite[one.place].least for one in run]
        unadjusted = Adjusted(least, most, weights, (bottom, top))
        return _of_these(unadjusted, run) if finite else unadjusted
    fit = _Fit(_features(suite, reach), suite, run, weights)
    least = fit.adjusted([one.least for one in run], [unit.most for unit in suite], finite=finite)
    most = fit.adjusted([one.most for one in run], [unit.least for unit in suite], finite=finite)
    # What was expected of a unit can lie a little off the scale, and so can its difference.
    ends = min(bottom, *least, *most), max(top, *least, *most)
    plain = [one.least - suite[one.place].most for one in run]
    helped = _explained(plain, least, weights)
    adjusted = Adjusted(least, most, weights, ends, fitted=True, helped=helped)
    return _of_these(adjusted, run) if finite else adjusted


def _of_these(adjusted: Adjusted, run: Sequence[Ran]) -> Adjusted:
    """Adjusted differences as near to their mean as a draw without replacement is to that of all units.

    Source: the correction for a finite population, unit by unit as in Hájek, Ann. Math. Stat. 35 (1964),
        doi:10.1214/aoms/1177700375.
    """
    if not run:
        return adjusted
    shrunk = [math.sqrt(1 - one.chance) for one in run]
    low, high = adjusted.scale
    ends: list[float] = []
    sides: list[list[float]] = []
    for values in (adjusted.least, adjusted.most):
        mean = _weighted_mean(values, adjusted.weights)
        sides.append([mean + (v - mean) * less for v, less in zip(values, shrunk, strict=True)])
        ends += [mean + (end - mean) * max(shrunk) for end in (low, high)]
    return replace(adjusted, least=sides[0], most=sides[1], scale=(min(ends), max(ends)))


def _weights(run: Sequence[Ran]) -> list[float]:
    """One over the chances, scaled so that their mean is 1."""
    if not run:
        return []
    inverse = [1 / one.chance for one in run]
    mean = math.fsum(inverse) / len(inverse)
    return [each / mean for each in inverse]


def _features(suite: Sequence[Unit], reach: float) -> list[Vector]:
    """For each unit 1, its baseline, the mean of earlier systems, and how far each of the latest is from that mean.

    All are differences from their mean over the suite, as shares of the scale. What is not known is that mean.
    """
    systems = max((len(unit.earlier) for unit in suite), default=0)
    latest = min(systems, MOST_SYSTEMS)
    columns: list[list[float | None]] = [[(unit.least + unit.most) / 2 for unit in suite]]
    if systems:
        means = [_mean(unit.earlier) for unit in suite]
        columns.append(means)
        if systems > 1:
            columns += [
                [_apart(unit, i, mean) for unit, mean in zip(suite, means, strict=True)]
                for i in range(latest)
            ]
    centred = [_centred(column, reach) for column in columns]
    return [[1.0, *values] for values in zip(*centred, strict=True)]


def _apart(unit: Unit, system: int, mean: float | None) -> float | None:
    """How far an earlier system's score of a unit is from the mean of all; None where it has none."""
    value = unit.earlier[system] if system < len(unit.earlier) else None
    return None if value is None or mean is None else value - mean


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _centred(column: Sequence[float | None], reach: float) -> list[float]:
    mean = _mean(column) or 0.0
    return [0.0 if value is None else (value - mean) / reach for value in column]


class _Fit:
    """A ridge regression of the plain differences on what the runs before say.

    Args:
        features: Of each unit of the suite; the first is 1.
        run: Those that were run. The fit is to those without a trial in error.
    """

    def __init__(
        self,
        features: Sequence[Vector],
        suite: Sequence[Unit],
        run: Sequence[Ran],
        weights: Sequence[float],
    ) -> None:
        self._features, self._run, self._weights = features, run, weights
        self._middle = [(unit.least + unit.most) / 2 for unit in suite]
        size = len(features[0])
        gram: Matrix = [[0.0] * size for _ in range(size)]
        right: Vector = [0.0] * size
        self._clear = [
            one.least == one.most and suite[one.place].least == suite[one.place].most for one in run
        ]
        for one, weight, clear in zip(run, weights, self._clear, strict=True):
            if clear:
                x = features[one.place]
                root = math.sqrt(weight)
                add_square(gram, [root * each for each in x])
                difference = one.least - suite[one.place].least
                for i, each in enumerate(x):
                    right[i] += weight * difference * each
        for i in range(1, size):
            # The systems' own weights share the pull of their mean, so that many of them are no more free than one.
            gram[i][i] += _PULL * (1 if i < 3 else size - 3)
        self._lower = factored(gram) if sum(self._clear) >= FEWEST else None
        self._slopes = solved(self._lower, right) if self._lower is not None else [0.0] * size
        # Centred: over the suite every feature but the first is 0 on average.
        self._suite = [1.0, *([0.0] * (size - 1))]
        self._pulls = self._leverages()

    def adjusted(
        self, now: Sequence[float], before: Sequence[float], *, finite: bool
    ) -> list[float]:
        """The adjusted differences.

        Args:
            now: What each unit that was run came to.
            before: Each unit's baseline. The fit is to the middle of what it may be.
            finite: Whether how predictions differ is left out, as the units are all there are.
        """
        off = [value - middle for value, middle in zip(before, self._middle, strict=True)]
        expected = self._slopes[0] - math.fsum(off) / len(off)
        misses: list[float] = []
        predicted: list[float] = []
        for value, one, (own, suite) in zip(now, self._run, self._pulls, strict=True):
            difference = value - self._middle[one.place]
            fitted = sum(
                a * b for a, b in zip(self._slopes, self._features[one.place], strict=True)
            )
            # By a fit that never saw the unit.
            miss = (difference - fitted) / (1 - own)
            misses.append(miss * (1 - suite))
            predicted.append(math.sqrt(one.chance) * (difference - miss - off[one.place]))
        if finite:
            return [miss + expected for miss in misses]
        middle = _weighted_mean(predicted, self._weights)
        return [
            miss + each - middle + expected for miss, each in zip(misses, predicted, strict=True)
        ]

    def _leverages(self) -> list[tuple[float, float]]:
        """For each unit that was run how much it draws its own prediction to itself, and the suite's mean."""
        if self._lower is None or len(self._run) > _LARGE:
            return [(0.0, 0.0)] * len(self._run)
        pulls: list[tuple[float, float]] = []
        towards = solved(self._lower, self._suite)
        for one, weight, clear in zip(self._run, self._weights, self._clear, strict=True):
            if not clear:
                pulls.append((0.0, 0.0))
                continue
            x = self._features[one.place]
            own = weight * sum(a * b for a, b in zip(solved(self._lower, x), x, strict=True))
            suite = weight * sum(a * b for a, b in zip(towards, x, strict=True))
            pulls.append((min(own, 0.99), suite))
        return pulls


def _explained(plain: Sequence[float], values: Sequence[float], weights: Sequence[float]) -> float:
    before, after = _spread(plain, weights), _spread(values, weights)
    return max(0.0, 1 - after / before) if before > 0 else 0.0


def _spread(values: Sequence[float], weights: Sequence[float]) -> float:
    mean = _weighted_mean(values, weights)
    return _weighted_mean([(v - mean) ** 2 for v in values], weights)


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


@dataclass(frozen=True, kw_only=True)
class WholeRate:
    """The pass rate that all units of a suite would have come to, from those that were run.

    Attributes:
        least: It, had errors come out as low as can be.
        most: It, had they come out as high.
        low: The lower end of its interval.
        fitted: Whether the history predicted something.
    """

    least: float
    most: float
    low: float
    high: float
    fitted: bool


def whole_rate(
    history: Sequence[Sequence[float | None]], run: Sequence[Ran], confidence: float = CONFIDENCE
) -> WholeRate | None:
    """The pass rate of a suite of which a part was drawn at random and run.

    Args:
        history: For each unit of the suite what earlier runs came to, in one order for all; None where it isn't known.
        confidence: Of the interval, two-sided.

    Returns:
        None where nothing was run. With all units run, the interval has no length but for errors.

    >>> whole_rate([(1.0,), (0.0,)] * 50, [Ran(i, 1 - i % 2, 1 - i % 2, 0.5) for i in range(50)]).least
    0.5
    """
    if not run:
        return None
    adjusted = adjusted_differences(
        [Unit(0.0, 0.0, each) for each in history], run, SHARES, finite=True
    )
    left = len(history) - len(run)
    # What was run stays, whatever the others would have come to.
    floor = math.fsum(one.least for one in run) / len(history)
    ceiling = (math.fsum(one.most for one in run) + left) / len(history)
    ends: list[tuple[float, float, float]] = []
    for values in (adjusted.least, adjusted.most):
        weighed = ((v * w, w) for v, w in zip(values, adjusted.weights, strict=True))
        estimate = mean_on_scale(weighed, adjusted.scale, confidence) if left else None
        mean = _weighted_mean(values, adjusted.weights)
        ends.append(estimate or (mean, mean, mean))
    least, most, low, high = (
        min(ceiling, max(floor, end)) for end in (ends[0][0], ends[1][0], ends[0][1], ends[1][2])
    )
    return WholeRate(least=least, most=most, low=low, high=high, fitted=adjusted.fitted)
