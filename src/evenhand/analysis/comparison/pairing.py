"""Pairs the cases of two columns in a metric, and judges the differences in the light of how many metrics there are."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from statistics import fmean

from evenhand.analysis.comparison.case_changes import CaseNames, CasePairs, ListedCases, in_order
from evenhand.analysis.comparison.case_judges import UNKNOWN_JUDGE
from evenhand.analysis.comparison.case_values import PASSED, Measured, Seen
from evenhand.analysis.comparison.comparison_results import Compared
from evenhand.analysis.comparison.drawn_part import DrawnPart, predicted, weighted
from evenhand.analysis.comparison.same_test import Likeness
from evenhand.analysis.summaries.rates import known_scale
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Scale
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.multiple import holm, holm_factors
from evenhand.stats.paired_difference import Alone, Differences
from evenhand.stats.tallies import OpenNumber, worth_of
from evenhand.store.measured import LOWER


def undirected(metric: str, mine: Seen, theirs: Seen) -> str:
    """That neither more nor less of a metric is better, and what to do, in words; empty where its bounds say which.

    Of a word count from 40 to 100, a change from 90 to 50 is no worse. Whether values keep their bounds is in `passed`.
    """
    if len(mine.bounds(metric) | theirs.bounds(metric)) < 2:
        return ""
    name = clip(safe(metric), 40)
    return (
        f"{name} has lower and upper bounds, so neither more nor less of it is better: "
        f"it is compared only if you name it (more is better, or less with --lower)"
    )


def paired(
    metric: str,
    columns: tuple[str, str],
    mine: Seen,
    theirs: Seen,
    less: bool,
    *,
    several: bool,
    likeness: Likeness | None = None,
    drawn: DrawnPart | None = None,
    same: Collection[int] = (),
) -> Compared:
    """A metric of two columns, case by case; nothing is judged yet.

    Args:
        less: Whether less is better, as somebody says.
        several: Whether other columns are compared beside these.
        drawn: The part of the first's cases that the second was to run; None for all of them.
        same: Cases, by number, whose results in the second are the first's own: they differ by nothing.
    """
    likeness = likeness or Likeness(mine, theirs)
    names = CaseNames(mine.cases, theirs.cases)
    a, b = mine.metrics[metric], theirs.metrics[metric]
    declared = _declared(metric, mine, theirs)
    rates, scale, scaled = _scale(metric, (a, b), declared)
    pairing = partial(
        _pairs_of,
        metric,
        (mine, theirs),
        scale,
        likeness=likeness,
        drawn=drawn,
        same=same,
        names=names,
    )
    pairs, apart = pairing()
    withheld = likeness.withheld
    # With no judge in common, what changed is shown, and nothing is said of the application.
    other_judge = bool(apart.judged) and not len(pairs) and not withheld
    if other_judge:
        withheld = "; ".join(apart.judged)
    if apart.judged and not len(pairs):
        pairs, apart = pairing(judges=False)
    belongs = theirs.clusters | mine.clusters
    # A case that stands alone gets a number below all clusters', another one each.
    own = [belongs.get(number, -place) for place, number in enumerate(pairs.numbers, 1)]
    repeats = worth_of(apart.sizes.elements())
    least_of, most_of = pairs.differences()

    def differences(values: array[float]) -> Differences:
        together = _clusters(values, own) if belongs else Alone(values)
        # A share of ten repeats less one of one has no table of signs: it is a score.
        reach = scale.most - scale.least if scale and (not rates or apart.uneven) else 0.0
        return Differences(together, rates, repeats, (-reach, reach) if reach else None, scaled)

    least = differences(least_of)
    # Without errors both ends are one: half of the work.
    data = Extremes(least, differences(most_of)) if apart.broken else certain(least)
    prediction = None
    if (
        drawn is not None
        and not other_judge
        and scaled
        and scale is not None
        and scale.least < scale.most
    ):
        prediction = predicted(metric, mine, pairs, scale, drawn, rates=rates)
        if prediction is not None:
            data = prediction.data
        elif not drawn.alike:
            data = weighted(mine, pairs, scale, drawn, rates=rates)
    # A metric that is only ever bounded from above is one of which less is better.
    lower = less or mine.bounds(metric) | theirs.bounds(metric) == frozenset({"most"})
    # A latency in seconds may well become a hundred times as large on its one scale.
    if not withheld and metric != PASSED and metric not in LOWER:
        before, after = (array("d", filter(math.isfinite, means)) for means, _ in pairs.means())
        withheld = other_scale(
            before,
            after,
            *(side.scales.get(metric) for side in (mine, theirs)),
        )
    # Errors alone show nothing of a difference, not even how large one the cases would have shown.
    if not withheld and apart.broken and not _measured(metric, (mine, theirs), pairs.numbers):
        withheld = unmeasured(apart.broken)
    judges = _judges(metric, mine, theirs), _judges(metric, theirs, mine)
    changed, unsettled, alike = _changed(pairs, least_of, most_of)

    def worst(place: int) -> float:
        """How much better a case became, at the worst. Rounded: cases that changed alike stay in the run's order."""
        return round(-most_of[place] if lower else least_of[place], 9)

    def order(place: int) -> float:
        """Where the second run has the case: a baseline's own order is that of ids, or of their hashes."""
        return theirs.cases.place_of(pairs.numbers[place])

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
        low=-math.inf,
        high=math.inf,
        p=1.0,
        p_alone=1.0 if withheld else data.p,
        smallest=None,
        changed=pairs.chosen(in_order(array("I", in_order(changed, order)), worst)),
        alike=alike,
        unsettled=ListedCases(unsettled, names),
        only_first=ListedCases(apart.only_first, names),
        only_second=ListedCases((n for n in theirs.cases if n not in mine.cases), names),
        errors=ListedCases(apart.errors, names),
        other=ListedCases(apart.other, names),
        trials_in_error=apart.broken,
        open=False,
        judges=(tuple(sorted(judges[0])), tuple(sorted(judges[1])))
        if judges[0] != judges[1]
        else None,
        unlike={why: ListedCases(numbers, names) for why, numbers in apart.unlike.items()},
        withheld=withheld,
        other_judge=other_judge,
        constant=_constant(chain(*first_means, *second_means)),
        predicted=prediction.cases if prediction else 0,
        helped=prediction.helped if prediction else 0.0,
    )


def _judges(metric: str, side: Seen, other: Seen) -> set[str]:
    """Who judged a metric on a side; of an imported one it may not be known, where the other was judged."""
    unknown = side.tests.imported and metric in other.judges
    return side.judges.get(metric) or ({UNKNOWN_JUDGE} if unknown else set())


@dataclass
class _Apart:
    """Cases that are not paired, by number and why; how many trials of the others are in error, and how many there are.

    Attributes:
        sizes: Of each paired case on either side, how many trials it has.
        uneven: Whether a case has more of them on one side than on the other.
        judged: That some were judged by different judges, in words, each once.
    """

    only_first: array[int] = field(default_factory=lambda: array("I"))
    unlike: dict[str, array[int]] = field(default_factory=dict[str, "array[int]"])
    errors: array[int] = field(default_factory=lambda: array("I"))
    other: array[int] = field(default_factory=lambda: array("I"))
    broken: int = 0
    sizes: Counter[int] = field(default_factory=Counter[int])
    uneven: bool = False
    judged: dict[str, None] = field(default_factory=dict[str, None])


def _pairs_of(
    metric: str,
    sides: tuple[Seen, Seen],
    scale: OpenNumber | None,
    *,
    likeness: Likeness,
    drawn: DrawnPart | None,
    same: Collection[int],
    names: CaseNames,
    judges: bool = True,
) -> tuple[CasePairs, _Apart]:
    """The cases that both columns have with their means, and what became of the others."""
    mine, theirs = sides
    pairs, apart = CasePairs(names), _Apart()
    for number in mine.cases:
        if number not in theirs.cases:
            if drawn is None or not drawn.leaves_out(mine.cases.ids[number]):
                apart.only_first.append(number)
            continue
        why_not = likeness.why_not(metric, number)
        if not why_not and judges and number not in same:
            why_not = likeness.other_judge(metric, number)
            apart.judged.update({why_not: None} if why_not else {})
        if why_not:
            apart.unlike.setdefault(why_not, array("I")).append(number)
            continue
        one, two = mine.value(metric, number), theirs.value(metric, number)
        before, after = one.mean(scale), two.mean(scale)
        if before is not None and after is not None:
            # The first may have further repeats, with a mean of their own.
            pairs.add(number, after if number in same else before, after)
            apart.broken += one.errors + two.errors
            apart.sizes[one.n] += 1
            apart.sizes[two.n] += 1
            apart.uneven = apart.uneven or one.n != two.n
        elif (before is None and one.errors) or (after is None and two.errors):
            apart.errors.append(number)
        else:
            apart.other.append(number)
    return pairs, apart


def _measured(metric: str, sides: Sequence[Seen], numbers: Iterable[int]) -> bool:
    """Whether there is a case that has a value on both sides."""
    return any(all(side.value(metric, number).values for side in sides) for number in numbers)


def unmeasured(errors: int) -> str:
    """That so many errors leave no case that was measured on both sides, in words."""
    return f"no case has a value in both: {count(errors, 'trial')} in error"


def _changed(
    pairs: CasePairs, least: array[float], most: array[float]
) -> tuple[array[int], array[int], int]:
    """The places of those that changed, the numbers of those that errors leave open, and how many came out alike."""
    changed, unsettled = array("I"), array("I")
    alike = 0
    for place, (low_end, high_end) in enumerate(zip(least, most, strict=True)):
        if low_end > 0 or high_end < 0:
            changed.append(place)
        elif low_end < high_end:
            unsettled.append(pairs.numbers[place])
        else:
            alike += 1
    return changed, unsettled, alike


def _declared(metric: str, mine: Seen, theirs: Seen) -> Scale | None:
    """What the scorers of both say of the lowest and the highest value there can be; None where either says nothing.

    A side on which all trials are in error has no scorer that could say it: it has the scale of the other.
    """
    scales = [
        side.scales.get(metric)
        for side in (mine, theirs)
        if side.scales.get(metric) or any(True for _ in side.metrics[metric].values())
    ]
    known = [scale for scale in scales if scale is not None]
    if not known or len(known) < len(scales):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _scale(
    metric: str, sides: Sequence[Measured], declared: Scale | None
) -> tuple[bool, OpenNumber | None, bool]:
    """Whether a metric is a pass rate, what values it can have, and whether that is known.

    Where it is not, they are taken to be the values that were seen, and any at all if a trial is in error. None where
    no trial has a value.
    """
    if metric == PASSED:
        return True, OpenNumber(0.0, 1.0), True
    least, most, shares = math.inf, -math.inf, True
    for value in chain.from_iterable(side.values() for side in sides):
        least, most = min(least, value), max(most, value)
        shares = shares and value in SHARES
    # No trial has a value: there are only errors, or nothing.
    if least > most:
        return False, OpenNumber(*declared) if declared else None, bool(declared)
    if metric not in LOWER:
        scale = known_scale(declared, least, most)
        rates = scale == SHARES and shares
        if scale:
            return rates, OpenNumber(*scale), True
    # What timed out would have been slower than all that came to an end.
    if any(side.in_error for side in sides):
        return False, OpenNumber(-math.inf, math.inf), False
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


def _constant(values: Iterator[float]) -> bool:
    """Whether all values are one number; not where there are none."""
    first = next(values, None)
    return first is not None and all(value == first for value in values)


def _mean(least: Sequence[float], most: Sequence[float]) -> OpenNumber | None:
    if not least:
        return None
    return OpenNumber(*(math.fsum(ends) / len(ends) for ends in (least, most)))


def _same_test(one: Compared, other: Compared) -> bool:
    """Whether two results are a pass rate and what decides it: they differ in the same cases, by the same."""
    if PASSED not in (one.metric, other.metric) or one.columns != other.columns:
        return False
    return one.data == other.data


def distinct(results: Iterable[Compared]) -> tuple[list[Compared], list[int]]:
    """The tests that results are of, and the place of each result's among them.

    A pass rate, and the only expectation that decides it, are one test.
    """
    tests: list[Compared] = []
    places: list[int] = []
    for result in results:
        same = (i for i, test in enumerate(tests) if _same_test(test, result))
        places.append(next(same, len(tests)))
        if places[-1] == len(tests):
            tests.append(result)
    return tests, places


def once(results: Iterable[Compared]) -> Iterator[Compared]:
    """The results, of which those that are another's, too, say so."""
    before: list[Compared] = []
    for result in results:
        same = (
            one.metric
            for one in before
            if _same_test(one, result)
            and (one.first_range, one.second_range) == (result.first_range, result.second_range)
            and (one.withheld, one.errors, one.other)
            == (result.withheld, result.errors, result.other)
        )
        before.append(replace(result, same_as=next(same, "")))
        yield before[-1]


def _tests(result: Compared) -> bool:
    """Whether there is something that could differ."""
    return bool(result.n) and not (result.withheld or result.constant)


def with_verdicts(results: Sequence[Compared], margin: float | None) -> Iterator[Compared]:
    """The results with their verdicts, each in the light of how many tests there are.

    A metric that is one number in all cases of both can't differ, and takes no part; nor does one without a case.
    """
    tests, places = distinct(one for one in results if _tests(one))
    alone = [test.p_alone for test in tests]
    corrected_ps, factors, number = holm(alone), holm_factors(alone), max(1, len(tests))
    remaining = iter(places)
    for result in results:
        if result.withheld:
            yield result
            continue
        i = next(remaining) if _tests(result) else None

        def corrected(own: float, i: int | None = i) -> float:
            return own if i is None else holm([*alone[:i], own, *alone[i + 1 :]])[i]

        word, open_ = result.data.verdict(corrected, lower=result.lower, of=number, margin=margin)
        # All bounds of a margin have to hold at once, which takes no wider intervals.
        raised = 1.0 if i is None or margin is not None else factors[i]
        p = result.p_alone if i is None else corrected_ps[i]
        low, high, p = result.data.agreeing(p, raised=raised, word=word)
        yield replace(
            result,
            verdict=word,
            low=low,
            high=high,
            p=p,
            smallest=result.data.smallest((1 - CONFIDENCE) / number),
            open=open_,
            tests=number,
        )


_APART = 8.0
"""How many times as large the mean has to be on one side: a change of the system is seldom so large."""
_FROM_ONE = 4.0
"""How many times as large, where one side has nothing below 1 and the other nothing above: 1 to 5 beside 0 to 1."""
_LARGEST = 100.0
"""The end of the largest scale that people give scores on. What is larger is counted or measured."""
_SMALL = 10.0
_ABOVE = 1.5


def other_scale(first: Sequence[float], second: Sequence[float], *declared: Scale | None) -> str:
    """That the values of two columns lie on different scales, in words; empty where they don't, as far as can be seen.

    Args:
        first: The means of the cases in the one.
        declared: What the scorers of each say; None for nothing. Where both say something, that is compared elsewhere.

    >>> other_scale([0.5, 0.7], [50, 70], None, None)[:42]
    'on other scales: from 0.5 to 0.7 in the fi'
    >>> other_scale([0.5, 0.7], [0.9, 1.2], None, None)
    ''
    """
    if not first or not second or None not in declared:
        return ""
    one, two = _values(first), _values(second)
    for scale, values in zip(declared, (two, one), strict=True):
        if scale is not None and not (scale[0] <= values.least and values.most <= scale[1]):
            return _words(one, two)
    return _words(one, two) if _apart(one, two) or _apart(two, one) else ""


class _Values(Record, frozen=True):
    """Values, as far as they show a scale."""

    least: float
    most: float
    mean: float
    whole: bool

    @property
    def shares(self) -> bool:
        """Whether they may be on a scale that ends at 1."""
        return self.least >= -1 and self.most <= 1

    def __str__(self) -> str:
        return f"from {self.least:g} to {self.most:g}"


def _words(one: _Values, two: _Values) -> str:
    return (
        f"on other scales: {one} in the first, {two} in the second; where it is one scale, have the scorer say so:"
        " Score(value, scale=(0, 100))"
    )


def _apart(small: _Values, large: _Values) -> bool:
    """Whether the one lies on a smaller scale than the other. Counts, which have none, are whole numbers from 0 up."""
    if large.least < 0 or large.most > _LARGEST or large.mean < _ABOVE:
        return False
    # A quotient of means says nothing here; scores from −1 to 1 are told by their sign.
    if small.mean <= 0:
        return small.shares and small.least < 0
    times = large.mean / small.mean
    if small.shares:
        graded = not small.whole and large.whole and large.most <= _SMALL
        counts = small.whole and large.whole and large.most <= _SMALL
        above = not small.whole and large.least >= 1 and times >= _FROM_ONE
        return graded or above or (times >= _APART and not counts)
    return times >= _APART and small.least >= 0 and small.most <= _SMALL < large.most


def _values(values: Sequence[float]) -> _Values:
    return _Values(
        min(values),
        max(values),
        math.fsum(values) / len(values),
        all(value == int(value) for value in values),
    )
