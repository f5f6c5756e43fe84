"""Rates and mean scores of tags, each drawn towards those of all tags of its column, as far as these are alike."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated

from evenhand.analysis.summaries.clusters import Groups, OfCase, sums_in, together
from evenhand.analysis.summaries.rates import Rate
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.score import Scale
from evenhand.stats.pooling import (
    FEWEST_GROUPS,
    GroupRate,
    pooled_means,
    pooled_rates,
    worth_of_units,
)
from evenhand.stats.tallies import OpenNumber, Share, Tally, worth_of
from evenhand.store.sums import CaseSum

POOLED = "drawn towards all tags, the more the smaller the tag and the more alike they are"
"""What is done to a tag's rate, in words."""


class PooledScore(Record, frozen=True, kw_only=True):
    """A tag's mean score, and what it comes to when it is drawn towards those of all tags."""

    mean: Annotated[
        float | None, Key("each case counts once", "the score's", null="errors leave it open")
    ]
    pooled: Annotated[
        float | None,
        Key("the mean, drawn towards all tags", "the score's", null="errors leave it open"),
    ]
    low: Annotated[float, Key("the lower end of its 95 % interval", "the score's")]
    high: Annotated[float, Key("the upper end", "the score's")]


def pooled_slices(
    rates: Sequence[Rate], column: Mapping[str, Tally], groups: Groups
) -> list[Share] | None:
    """The pass rates of a column's tags, drawn towards all of them; None for fewer than FEWEST_GROUPS tags.

    Args:
        rates: Each tag's own; those that have no share are not counted and not among the answers.
        column: All cases of the column.
        groups: What the cases belong to, of those that do not stand alone.
    """
    shares = [(rate.share, rate.clusters) for rate in rates if rate.share]
    if len(shares) < FEWEST_GROUPS:
        return None
    worth = _worth(column, groups)
    return pooled_rates(
        [GroupRate(share.least, share.most, clusters * worth) for share, clusters in shares]
    )


def pooled_scores(
    tags: Sequence[Collection[str]],
    sums: Iterable[tuple[str, CaseSum]],
    groups: Groups,
    scale: Scale | None,
) -> list[PooledScore] | None:
    """The mean scores of a column's tags, drawn towards all of them.

    A trial in error may have had any score on the scale.

    Args:
        tags: The cases of each.
        sums: For each case of the column the sum of its scores, how many they are, and how many trials are in error.
        groups: What the cases belong to, of those that do not stand alone.
        scale: The lowest and the highest score there can be; None where nobody knows.

    Returns:
        None for fewer than FEWEST_GROUPS tags, where a tag has no score, where all scores are alike, and where there
        are errors on a scale that nobody knows.
    """
    cases = dict(sums)
    units = [list(sums_in(cases.items(), groups))]
    for tag in tags:
        own = {case: cases[case] for case in tag if case in cases}
        units.append(list(sums_in(own.items(), groups)))
    every, *each = units
    broken = any(errors for _, _, errors in every)
    if len(each) < FEWEST_GROUPS or not all(each) or (broken and scale is None):
        return None
    answers: list[list[tuple[float, float, float, float]]] = []
    for end in scale if broken and scale else (0.0,):
        spread = _variance(_means(every, end))
        if spread <= 0:
            return None
        means = [_means(unit, end) for unit in each]
        raw = [math.fsum(one) / len(one) for one in means]
        pooled = pooled_means([(m, spread / len(one)) for m, one in zip(raw, means, strict=True)])
        answers.append(
            [(m, one.value, one.low, one.high) for m, one in zip(raw, pooled, strict=True)]
        )
    low, high = scale or (-math.inf, math.inf)
    return [
        PooledScore(
            mean=OpenNumber(first[0], last[0]).value,
            pooled=OpenNumber(first[1], last[1]).value,
            low=max(low, first[2]),
            high=min(high, last[3]),
        )
        for first, last in zip(answers[0], answers[-1], strict=True)
    ]


def _worth(column: Mapping[str, Tally], groups: Groups) -> float:
    """How many yes-or-no cases a case of the column is worth, or a cluster of them, by its repeats."""
    clusters = list(together(((c, t) for c, t in column.items() if t.passed + t.failed), groups))
    units = [
        math.fsum(t.passed / (t.passed + t.failed) for t in one) / len(one) for one in clusters
    ]
    return worth_of_units(units, worth_of(sum(t.passed + t.failed for t in c) for c in clusters))


def _means(units: Iterable[OfCase], end: float) -> list[float]:
    """The units' mean scores, each error having this one."""
    return [(total + errors * end) / (n + errors) for total, n, errors in units]


def _variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
