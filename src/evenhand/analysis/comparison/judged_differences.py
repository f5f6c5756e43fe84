"""What people would find of the difference between two columns that a judge judged.

Each column's rate is corrected by its own labels, or its calibration, and the two are subtracted. Where 50 or more
cases are labelled in both, these say how far the two rates are off together: easy and hard cases then cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

from msgspec.structs import replace

from evenhand.analysis.trust.calibrated import JudgedRate, Status, judged_rates
from evenhand.analysis.trust.calibration import estimate_row
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, judgements
from evenhand.analysis.trust.labels.peoples_verdicts import peoples_verdicts
from evenhand.analysis.trust.scores_calibrated import JudgedMean
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.stats.corrected_differences import (
    JudgedCases,
    LabelledCase,
    corrected_difference,
    corrected_paired_difference,
)
from evenhand.stats.correction import Estimate
from evenhand.stats.split_labels import difference_around
from evenhand.store.runfile import RunFile

FEWEST_PAIRED = 50
"""Cases that must be labelled in both columns for their differences to be used."""


class CompareJudgedDifference(Record, frozen=True, kw_only=True):
    """What `evenhand.compare/1` says of a judged difference."""

    metric: str
    columns: Annotated[list[str], Key("the names of the two variants")]
    raw: Annotated[
        float,
        Key(
            "the difference of the pass rates as the judge has them, on the cases of both",
            "−1 to 1",
        ),
    ]
    corrected: Annotated[
        dict[str, Any] | None,
        Key(
            "`value`, `low` and `high`: the difference that people would have found, with its 95 % interval",
            "−1 to 1",
            null="a side is not corrected, or only one of the two has some cases",
        ),
    ]
    labels: Annotated[list[int], Key("that the two corrected rates rest on", "labels")]
    split: Annotated[
        list[int],
        Key(
            "labelled ones on which people are split: only the ends of `corrected` allow for them",
            "outputs",
        ),
    ]
    paired: Annotated[
        int,
        Key(
            "labelled in both, if they were taken into account; 0 if the two rates were only subtracted",
            "cases",
        ),
    ]
    mean: Annotated[
        dict[str, Any] | None,
        Key(
            "the difference of the mean scores that people would have given: `value`, `low` and `high`, the "
            "ends of its 95 % interval",
            "the metric's own",
            null="a side has no corrected mean, or only one of the two has some cases",
        ),
    ]
    calibration: Annotated[list[str], Key("for each side `fresh`, `stale` or `missing`")]


class JudgedDifference(Record, frozen=True, kw_only=True):
    """A judged metric of two columns: second minus first.

    Attributes:
        columns: The two columns, as their tables name them.
        several: Whether there are other pairs of columns beside this one.
        first: Its rate in the first, as the judge has it and corrected.
        corrected: The difference that people would have found; None where a side is not corrected.
        paired: How many cases labelled in both it takes into account; 0 where they are too few.
        mean: The difference of the mean scores that people would have given; None where a side has none.
        raw: The difference of the two rates as the judge has them, on the cases of both.
        alone: How many cases only one of the two has: corrected numbers are about all of a side's cases, so that their
            difference would be that of the cases, too.
        in_error: How many trials of these cases are in error, and part of no judge's rate.
    """

    metric: str
    columns: tuple[str, str]
    several: bool
    first: JudgedRate
    second: JudgedRate
    corrected: Estimate | None
    paired: int
    mean: Estimate | None = None
    raw: float
    alone: int = 0
    in_error: int = 0

    @property
    def place(self) -> tuple[str, tuple[str, str]]:
        """The metric and the columns."""
        return self.metric, self.columns

    @property
    def statuses(self) -> tuple[Status, Status]:
        """Whether each side has a calibration, and whether it still holds."""
        return self.first.status, self.second.status

    def row(self) -> CompareJudgedDifference:
        """The difference in the keys of `evenhand.compare/1`."""
        return CompareJudgedDifference(
            metric=self.metric,
            columns=list(self.columns),
            raw=self.raw,
            corrected=estimate_row(self.corrected),
            labels=[self.first.labels, self.second.labels],
            split=[self.first.split_items, self.second.split_items],
            paired=self.paired,
            mean=estimate_row(self.mean),
            calibration=list(self.statuses),
        )


class JudgedRun:
    """The judged rates of a run, and people's verdicts on it. Everything is read on use, once.

    Args:
        cluster: What says which cases belong together, instead of the run's own; empty for these.
    """

    def __init__(self, run: RunFile, cluster: str = "") -> None:
        self._run, self._cluster = run, cluster

    @cached_property
    def rates(self) -> dict[tuple[str, int], JudgedRate]:
        """By metric and variant; without those that several judges share."""
        rates: dict[tuple[str, int], JudgedRate] = {}
        shared: set[tuple[str, int]] = set()
        for rate in judged_rates(self._run, self._cluster):
            key = rate.metric, rate.variant
            if key in rates:
                shared.add(key)
            rates[key] = rate
        # Of two judges of one metric, neither says which the other run's is to be held against.
        return {key: rate for key, rate in rates.items() if key not in shared}

    @cached_property
    def metrics(self) -> dict[str, JudgedMetric]:
        """All that judges said."""
        judged = judgements(self._run, verdicts_only=True, cluster=self._cluster)
        return {metric.metric: metric for metric in judged.metrics.values()}

    def shares(self, metric: str, variant: int) -> dict[str, float]:
        """The share of each case's outputs that the judge passes."""
        verdicts: dict[str, list[bool]] = {}
        judged = self.metrics.get(metric)
        for item in judged.of_variant(variant) if judged else ():
            verdicts.setdefault(item.case, []).append(item.passed)
        return {case: sum(passed) / len(passed) for case, passed in verdicts.items()}

    def labelled(self, metric: str, variant: int) -> tuple[dict[str, Item], dict[str, bool]]:
        """The judge's and people's verdicts by case; none where several go together, or nothing is drawn."""
        judged = self.metrics.get(metric) if self._run.draws() else None
        items = judged.of_variant(variant) if judged else []
        by_case = {item.case: item for item in items}
        # With repeats, a case has several labels, which do not pair; and pairs of one cluster are not independent.
        if judged is None or len({item.unit for item in items}) < len(items):
            return {}, {}
        people = peoples_verdicts(self._run, judged)
        return by_case, {item.case: people[item] for item in items if item in people}


def judged_differences(
    first: JudgedRun,
    second: JudgedRun,
    pairs: Sequence[tuple[int, int]],
    names: Sequence[tuple[str, str]],
) -> Iterator[JudgedDifference]:
    """The judged metrics that both columns of a pair have.

    Args:
        second: What is judged. It may be the same run.
        pairs: The columns' indices.
    """
    for (i, j), columns in zip(pairs, names, strict=True):
        for (metric, variant), rate in first.rates.items():
            other = second.rates.get((metric, j))
            if variant != i or other is None:
                continue
            corrected, paired = None, 0
            if rate.corrected is not None and other.corrected is not None:
                agreed = rate.agreed or rate.corrected, other.agreed or other.corrected
                sides = first.labelled(metric, i), second.labelled(metric, j)
                cases = _in_both(*sides)
                paired = len(cases)
                corrected = (
                    corrected_paired_difference(
                        *agreed,
                        cases,
                        (rate.labels, other.labels),
                        _judged_in_both(sides[0][0], sides[1][0]),
                    )
                    if cases
                    else corrected_difference(*agreed)
                )
                if rate.split or other.split:
                    corrected = difference_around(
                        corrected, (agreed[0], rate.split), (agreed[1], other.split)
                    )
            yield JudgedDifference(
                metric=metric,
                columns=columns,
                several=len(pairs) > 1,
                first=rate,
                second=other,
                corrected=corrected,
                paired=paired,
                mean=_of_means(rate.mean, other.mean),
                raw=other.raw.value - rate.raw.value,
            )


def on_cases_of_both(
    each: JudgedDifference, first: JudgedRun, second: JudgedRun
) -> JudgedDifference:
    """A judged difference of which the judge's own side is about the cases that it judged in both columns.

    Args:
        each: It, as the rates of all cases of each side have it.
    """
    one, two = (
        run.shares(each.metric, side.variant)
        for run, side in ((first, each.first), (second, each.second))
    )
    both = [two[case] - share for case, share in one.items() if case in two]
    return replace(each, raw=math.fsum(both) / len(both)) if both else each


def beside_result(
    each: JudgedDifference, paired: float | None, alone: int, in_error: int
) -> JudgedDifference:
    """A judged difference beside what its metric comes to over the cases of both columns.

    Args:
        paired: The difference of the rates over these cases; None where there is none, or errors leave it open.
        alone: How many cases only one of the two has.
        in_error: How many trials of the cases of both are in error.
    """
    each = replace(each, in_error=in_error)
    raw = each.raw if paired is None else paired
    if not alone:
        return replace(each, raw=raw)
    return replace(each, raw=raw, alone=alone, corrected=None, mean=None, paired=0)


def _of_means(first: JudgedMean | None, second: JudgedMean | None) -> Estimate | None:
    """The difference of two corrected means on the same scale, each by its own labels; None where there is none."""
    if first is None or second is None or first.scale != second.scale:
        return None
    if first.corrected is None or second.corrected is None:
        return None
    return corrected_difference(first.corrected, second.corrected)


def _in_both(
    first: tuple[dict[str, Item], dict[str, bool]], second: tuple[dict[str, Item], dict[str, bool]]
) -> list[LabelledCase]:
    """The cases that are labelled in both columns; none where they are too few."""
    (judged_first, people_first), (judged_second, people_second) = first, second
    cases = [
        LabelledCase(
            (label, judged_first[case].passed), (people_second[case], judged_second[case].passed)
        )
        for case, label in people_first.items()
        if case in people_second
    ]
    # With fewer, the covariance is noise: taking the two as independent is wider, and safe.
    return cases if len(cases) >= FEWEST_PAIRED else []


def _judged_in_both(first: Mapping[str, Item], second: Mapping[str, Item]) -> JudgedCases:
    """What the judge says of the cases of two columns."""
    both = [(item.passed, second[case].passed) for case, item in first.items() if case in second]
    return JudgedCases(both, (len(first), len(second)))
