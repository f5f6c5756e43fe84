"""What a run has to reach, held against what people would have found, and not against what its judges found.

It decides only where calibrated judges are required. A metric's bound is held against its corrected number. The share
of trials that pass is bounded by a judged metric if no trial passes that the judge fails: then people would pass at
most as many trials as they pass outputs under that metric.
"""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.judgements.judged import judge_of, metric_of
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED, Requirement
from evenhand.stats.correction import Estimate
from evenhand.store.runfile import RunFile


class CorrectedMiss(Record, frozen=True):
    """A bound that the corrected number misses.

    Attributes:
        requirement: What is required.
        rate: The judged rate.
        corrected: The number that misses it: its corrected rate, or its corrected mean.
    """

    requirement: Requirement
    rate: JudgedRate
    corrected: Estimate


def corrected_misses(run: RunFile) -> list[CorrectedMiss]:
    """The bounds that some corrected number misses; none where nothing is required or nothing is corrected.

    Raises:
        StoreError: The run cannot be read.
    """
    if not run.meta.requirements:
        return []
    return [
        miss
        for rate in judged_rates(run)
        for required in run.meta.requirements
        if rate.variant in required.variants
        for miss in _misses(run, required, rate)
    ]


def _misses(run: RunFile, required: Requirement, rate: JudgedRate) -> Iterator[CorrectedMiss]:
    bound, number = required.bound, rate.corrected
    if required.metric == rate.metric:
        if rate.mean is not None:
            number = rate.mean.corrected
        missed = number is not None and not bound.keeps(number.value)
    # What people would pass is bounded from above: only `at_least` can be missed, and 1 always is.
    elif required.metric == PASSED and bound.at_most is None and bound.at_least != 1:
        missed = number is not None and not bound.keeps(number.value) and _bounds_passes(run, rate)
    else:
        missed = False
    if missed and number is not None:
        yield CorrectedMiss(required, rate, number)


def _bounds_passes(run: RunFile, rate: JudgedRate) -> bool:
    """Whether no trial of the variant passes that the judge fails, or has no verdict on."""
    return all(
        any(
            metric_of(outcome) == rate.metric and judge_of(outcome) and outcome.outcome == "pass"
            for outcome in trial.outcomes
        )
        for trial in run.trials()
        if trial.variant == rate.variant and trial.outcome == "pass"
    )
