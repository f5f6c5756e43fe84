"""Pairs the cases of two columns in a metric, and judges the differences in the light of how many metrics there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from evenhand.core.score import SHARES, Scale
from evenhand.report.case_values import LOWER, PASSED, Seen, Values
from evenhand.report.comparison_results import CaseChange, Compared
from evenhand.report.means import known_scale
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.multiple import holm
from evenhand.stats.paired import Differences
from evenhand.stats.tallies import OpenNumber, worth_of


def paired(
    metric: str, columns: tuple[str, str], mine: Seen, theirs: Seen, less: bool, *, several: bool
) -> Compared:
    """A metric of two columns, case by case; nothing is judged yet."""
    names = theirs.names | mine.names

    def named(cases: Iterable[str]) -> tuple[str, ...]:
        return tuple(names[case] for case in cases)

    common = [case for case in mine.names if case in theirs.names]
    a, b = mine.metrics[metric], theirs.metrics[metric]
    declared = _declared(metric, mine, theirs)
    rates, scale, scaled = _scale(metric, [*a.values(), *b.values()], declared)
    pairs: list[CaseChange] = []
    errors: list[str] = []
    other: list[str] = []
    sizes: list[int] = []
    broken = 0
    for case in common:
        one, two = a.get(case, Values()), b.get(case, Values())
        before, after = one.mean(scale), two.mean(scale)
        if before is not None and after is not None:
            pairs.append(CaseChange(case, names[case], before, after))
            broken += one.errors + two.errors
            sizes += one.n, two.n
        elif (before is None and one.errors) or (after is None and two.errors):
            errors.append(case)
        else:
            other.append(case)
    belongs = theirs.clusters | mine.clusters
    repeats = worth_of(sizes)

    ranges = [pair.difference_range for pair in pairs]

    def differences(end: int) -> Differences:
        clusters: dict[object, list[float]] = {}
        for pair, span in zip(pairs, ranges, strict=True):
            clusters.setdefault(belongs.get(pair.case, pair.case), []).append(span[end])
        reach = scale.most - scale.least if scale and not rates else 0.0
        return Differences(
            tuple(map(tuple, clusters.values())),
            rates,
            repeats,
            (-reach, reach) if reach else None,
            scaled,
        )

    least = differences(0)
    data = Extremes(least, differences(1)) if broken else certain(least)
    bounds = mine.bounded.get(metric, set()) | theirs.bounded.get(metric, set())
    lower = less or metric in LOWER | mine.lower | theirs.lower or bounds == {"most"}
    low, high = data.interval()
    judges = mine.judges.get(metric, set()), theirs.judges.get(metric, set())
    changed = [
        pair
        for pair, (low_end, high_end) in zip(pairs, ranges, strict=True)
        if low_end > 0 or high_end < 0
    ]
    # Rounded: cases that changed alike stay in the run's order.
    changed.sort(key=lambda pair: round(_worst(pair.difference_range, lower), 9))
    return Compared(
        metric=metric,
        columns=columns,
        several=several,
        lower=lower,
        verdict="undecided",
        data=data,
        first_range=_mean([pair.first_range for pair in pairs]),
        second_range=_mean([pair.second_range for pair in pairs]),
        low=low,
        high=high,
        p=1.0,
        p_alone=data.p,
        smallest=None,
        changed=tuple(changed),
        alike=sum(change == (0, 0) for change in ranges),
        unsettled=tuple(
            pair.name
            for pair, (low_end, high_end) in zip(pairs, ranges, strict=True)
            if low_end <= 0 <= high_end and low_end < high_end
        ),
        only_first=named(case for case in mine.names if case not in theirs.names),
        only_second=named(case for case in theirs.names if case not in mine.names),
        errors=named(errors),
        other=named(other),
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
    metric: str, cases: Iterable[Values], declared: Scale | None
) -> tuple[bool, OpenNumber | None, bool]:
    """Whether a metric is a pass rate, what values it can have, and whether that is known.

    Where it is not, they are taken to be the values that were seen; None where there are none.
    """
    if metric == PASSED:
        return True, OpenNumber(0.0, 1.0), True
    values = [value for case in cases for value in case.values]
    if not values:
        return False, OpenNumber(*declared) if declared else None, bool(declared)
    least, most = min(values), max(values)
    if metric not in LOWER:
        scale = known_scale(declared, least, most)
        rates = scale == SHARES and all(value in SHARES for value in values)
        if scale:
            return rates, OpenNumber(*scale), True
    return False, OpenNumber(least, most), False


def _mean(ranges: Sequence[OpenNumber]) -> OpenNumber | None:
    if not ranges:
        return None
    least, most = (math.fsum(ends) / len(ranges) for ends in zip(*ranges, strict=True))
    return OpenNumber(least, most)


def _worst(difference: OpenNumber, lower: bool) -> float:
    """How much better a case became, at the worst."""
    return -difference.most if lower else difference.least


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
