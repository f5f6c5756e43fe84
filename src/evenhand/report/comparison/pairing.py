"""Pairs the cases of two columns in a metric, and judges the differences in the light of how many metrics there are."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from evenhand.core.score import SHARES, Scale
from evenhand.report.comparison.case_changes import CaseNames, CasePairs, ListedCases, in_order
from evenhand.report.comparison.case_values import LOWER, PASSED, Measured, Seen
from evenhand.report.comparison.comparison_results import Compared
from evenhand.report.means import known_scale
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.multiple import holm
from evenhand.stats.paired import Alone, Differences
from evenhand.stats.tallies import OpenNumber, worth_of


def paired(
    metric: str, columns: tuple[str, str], mine: Seen, theirs: Seen, less: bool, *, several: bool
) -> Compared:
    """A metric of two columns, case by case; nothing is judged yet."""
    names = CaseNames(mine.cases, theirs.cases)
    a, b = mine.metrics[metric], theirs.metrics[metric]
    declared = _declared(metric, mine, theirs)
    rates, scale, scaled = _scale(metric, (a, b), declared)
    pairs = CasePairs(names)
    errors, other, only_first = array("I"), array("I"), array("I")
    sizes: Counter[int] = Counter()
    broken = 0
    for number in mine.cases:
        if number not in theirs.cases:
            only_first.append(number)
            continue
        one, two = mine.value(metric, number), theirs.value(metric, number)
        before, after = one.mean(scale), two.mean(scale)
        if before is not None and after is not None:
            pairs.add(number, before, after)
            broken += one.errors + two.errors
            sizes[one.n] += 1
            sizes[two.n] += 1
        elif (before is None and one.errors) or (after is None and two.errors):
            errors.append(number)
        else:
            other.append(number)
    belongs = theirs.clusters | mine.clusters
    own = [belongs.get(number, -place) for place, number in enumerate(pairs.numbers, 1)]
    repeats = worth_of(sizes.elements())
    least_of, most_of = pairs.differences()

    def differences(values: array[float]) -> Differences:
        together = _clusters(values, own) if belongs else Alone(values)
        reach = scale.most - scale.least if scale and not rates else 0.0
        return Differences(together, rates, repeats, (-reach, reach) if reach else None, scaled)

    least = differences(least_of)
    data = Extremes(least, differences(most_of)) if broken else certain(least)
    bounds = mine.bounded.get(metric, set()) | theirs.bounded.get(metric, set())
    lower = less or metric in LOWER | mine.lower | theirs.lower or bounds == {"most"}
    low, high = data.interval()
    judges = mine.judges.get(metric, set()), theirs.judges.get(metric, set())
    changed, unsettled = array("I"), array("I")
    alike = 0
    for place, (low_end, high_end) in enumerate(zip(least_of, most_of, strict=True)):
        if low_end > 0 or high_end < 0:
            changed.append(place)
        elif low_end < high_end:
            unsettled.append(pairs.numbers[place])
        else:
            alike += 1

    def worst(place: int) -> float:
        """How much better a case became, at the worst. Rounded: cases that changed alike stay in the run's order."""
        return round(-most_of[place] if lower else least_of[place], 9)

    first_means, second_means = pairs.means()

    def mean(ends: tuple[array[float], array[float]]) -> OpenNumber | None:
        return _mean(*(_unit_means(each, own) if belongs else each for each in ends))

    return Compared(
        metric=metric,
        columns=columns,
        several=several,
        lower=lower,
        verdict="undecided",
        data=data,
        first_range=mean(first_means),
        second_range=mean(second_means),
        low=low,
        high=high,
        p=1.0,
        p_alone=data.p,
        smallest=None,
        changed=pairs.chosen(in_order(changed, worst)),
        alike=alike,
        unsettled=ListedCases(unsettled, names),
        only_first=ListedCases(only_first, names),
        only_second=ListedCases((n for n in theirs.cases if n not in mine.cases), names),
        errors=ListedCases(errors, names),
        other=ListedCases(other, names),
        trials_in_error=broken,
        open=False,
        judges=(tuple(sorted(judges[0])), tuple(sorted(judges[1])))
        if judges[0] != judges[1]
        else None,
    )


def _declared(metric: str, mine: Seen, theirs: Seen) -> Scale | None:
    """What the scorers of both say of the lowest and the highest value there can be; None where either says nothing."""
    first, second = mine.scales.get(metric), theirs.scales.get(metric)
    if first is None or second is None:
        return None
    return min(first[0], second[0]), max(first[1], second[1])


def _scale(
    metric: str, sides: Iterable[Measured], declared: Scale | None
) -> tuple[bool, OpenNumber | None, bool]:
    """Whether a metric is a pass rate, what values it can have, and whether that is known.

    Where it is not, they are taken to be the values that were seen; None where there are none.
    """
    if metric == PASSED:
        return True, OpenNumber(0.0, 1.0), True
    least, most, shares = math.inf, -math.inf, True
    for value in chain.from_iterable(side.values() for side in sides):
        least, most = min(least, value), max(most, value)
        shares = shares and value in SHARES
    if least > most:
        return False, OpenNumber(*declared) if declared else None, bool(declared)
    if metric not in LOWER:
        scale = known_scale(declared, least, most)
        rates = scale == SHARES and shares
        if scale:
            return rates, OpenNumber(*scale), True
    return False, OpenNumber(least, most), False


def _clusters(values: Iterable[float], own: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """The values of cases, those of a cluster together.

    Args:
        values: One for each case.
        own: For each case a number of what it belongs to.
    """
    clusters: dict[int, list[float]] = {}
    for number, value in zip(own, values, strict=True):
        clusters.setdefault(number, []).append(value)
    return tuple(map(tuple, clusters.values()))


def _unit_means(values: Iterable[float], own: Sequence[int]) -> list[float]:
    return [fmean(cluster) for cluster in _clusters(values, own)]


def _mean(least: Sequence[float], most: Sequence[float]) -> OpenNumber | None:
    if not least:
        return None
    return OpenNumber(*(math.fsum(ends) / len(ends) for ends in (least, most)))


def with_verdicts(made: Sequence[Compared], margin: float | None) -> Iterator[Compared]:
    """The results with their verdicts, each in the light of how many they are."""
    alone = [result.p_alone for result in made]
    for i, (result, p) in enumerate(zip(made, holm(alone), strict=True)):

        def corrected(own: float, i: int = i) -> float:
            return holm([*alone[:i], own, *alone[i + 1 :]])[i]

        word, open_ = result.data.verdict(
            corrected, lower=result.lower, of=len(made), margin=margin
        )
        yield replace(
            result,
            verdict=word,
            p=p,
            smallest=result.data.smallest((1 - CONFIDENCE) / len(made)),
            open=open_,
        )
