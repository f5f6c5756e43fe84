"""How often the interval of a judged number holds what people say, and how wide it is beside that of labels alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from random import Random
from statistics import fmean
from typing import NamedTuple

from judge_tables import Table

from evenhand.stats.corrected_differences import (
    LabelledCase,
    corrected_difference,
    corrected_paired_difference,
)
from evenhand.stats.correction import (
    Estimate,
    Verdicts,
    corrected_rate,
    replaced_share,
)
from evenhand.stats.interval import wilson
from evenhand.stats.paired_rates import paired_rates

LABELS = 50
CELLS = ((True, True), (True, False), (False, True), (False, False))


class Held(NamedTuple):
    """What came of many draws.

    Attributes:
        name: Of what.
        coverage: The share of the draws in which the interval holds the truth.
        ratio: Its mean width, divided by that of the labels alone.
        widest: The greatest such ratio of a single draw.
        rho2: The share of labels that the judge replaces; of two, the smaller one.
    """

    name: str
    coverage: float
    ratio: float
    widest: float
    rho2: float


class Interval(NamedTuple):
    """With the judge, and with the labels alone."""

    judged: Estimate
    alone: Estimate


def some(estimate: Estimate | None) -> Estimate:
    assert estimate is not None
    return estimate


corrected = cache(lambda verdicts: some(corrected_rate(verdicts)))


def interval_of(verdicts: Verdicts) -> Interval:
    """A rate, with and without the judge."""
    people = verdicts.both_pass + verdicts.missed
    alone = Estimate(people / verdicts.labels, *wilson(people, verdicts.labels))
    return Interval(corrected(verdicts), alone)


def labelled(random: Random, table: Table, draws: int) -> list[Verdicts]:
    """Labels of some items of a table, again and again; the judge's verdict on every item."""
    items = table.passes
    passed = sum(judge == 1 for _, judge in items)
    drawn: list[Verdicts] = []
    for _ in range(draws):
        counts = Counter(random.sample(items, LABELS))
        drawn.append(Verdicts(*(counts[cell] for cell in CELLS), passed, len(items)))
    return drawn


def resampled(random: Random, table: Table, items: int, draws: int) -> list[Verdicts]:
    """The same for as many other items of the kind: the truth is then that of the kind, not of these items."""
    samples: list[Verdicts] = []
    for _ in range(draws):
        drawn = random.choices(table.passes, k=items)
        counts = Counter(drawn[:LABELS])
        passed = sum(judge == 1 for _, judge in drawn)
        samples.append(Verdicts(*(counts[cell] for cell in CELLS), passed, items))
    return samples


def held(name: str, truth: float, rho2: float, intervals: Sequence[Interval]) -> Held:
    """Counts the intervals that hold the truth."""
    covered, width, other, widest = 0, 0.0, 0.0, 0.0
    for one, alone in intervals:
        covered += one.low - 1e-12 <= truth <= one.high + 1e-12
        width += one.high - one.low
        other += alone.high - alone.low
        if alone.high > alone.low:
            widest = max(widest, (one.high - one.low) / (alone.high - alone.low))
    return Held(name, covered / len(intervals), width / other, widest, rho2)


def truth_of(table: Table) -> float:
    """The rate that people find on all items."""
    return fmean(people for people, _ in table.passes)


def of_rate(table: Table, draws: Sequence[Verdicts]) -> Held:
    """The corrected rate of a table."""
    rho2 = replaced_share(table.passes) or 0.0
    return held(str(table), truth_of(table), rho2, [interval_of(one) for one in draws])


def of_rates(
    tables: tuple[Table, Table], draws: tuple[Sequence[Verdicts], Sequence[Verdicts]]
) -> Held:
    """The difference of two rates, each corrected by labels of its own."""
    intervals: list[Interval] = []
    for verdicts in zip(*draws, strict=True):
        first, second = (interval_of(one) for one in verdicts)
        intervals.append(
            Interval(
                corrected_difference(first.judged, second.judged),
                corrected_difference(first.alone, second.alone),
            )
        )
    first, second = tables
    rho2 = min(replaced_share(table.passes) or 0.0 for table in tables)
    name = f"{first} and {second.source}"
    return held(name, truth_of(second) - truth_of(first), rho2, intervals)


def of_cases(
    name: str, cases: Sequence[LabelledCase], random: Random, draws: int, truth: float | None = None
) -> Held:
    """The difference of two systems on the same cases, some of which are labelled for both.

    Args:
        name: Of what.
        cases: All cases, as they would be if all were labelled.
        random: Draws the labels.
        draws: How many times.
        truth: What is to be held; what people say of all cases if it isn't said.
    """
    drawn = list(cases)
    intervals: list[Interval] = []
    for _ in range(draws):
        random.shuffle(drawn)
        some_cases = drawn[:LABELS]
        first, second = (_counts([case[side] for case in drawn]) for side in (0, 1))
        ahead = sum(case.second[0] and not case.first[0] for case in some_cases)
        behind = sum(case.first[0] and not case.second[0] for case in some_cases)
        alone = paired_rates(LABELS, ahead, behind)
        intervals.append(
            Interval(
                corrected_paired_difference(corrected(first), corrected(second), some_cases),
                Estimate(alone.difference, alone.low, alone.high),
            )
        )
    every = fmean(case.second[0] - case.first[0] for case in cases)
    pairs = [(float(people), float(judge)) for case in cases for people, judge in case]
    return held(name, every if truth is None else truth, replaced_share(pairs) or 0.0, intervals)


def _counts(verdicts: Sequence[tuple[bool, bool]]) -> Verdicts:
    counts = Counter(verdicts[:LABELS])
    passed = sum(judge for _, judge in verdicts)
    return Verdicts(*(counts[cell] for cell in CELLS), passed, len(verdicts))
