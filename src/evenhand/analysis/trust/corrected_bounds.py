"""What withholds a pass where calibrated judges are required: judges that nobody checked, and bounds that are missed.

What a run has to reach is held against what people would have found. A metric's bound is held against its corrected
number. The share of trials that pass is bounded by a judged metric if no trial passes that the judge fails: then people
would pass at most as many trials as they pass outputs under that metric.
"""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.judgements.judged import judge_of, metric_of
from evenhand.analysis.trust.ranking_corrections import RankingCorrection, ranking_corrections
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED, Requirement
from evenhand.core.score import with_parts
from evenhand.stats.correction import Estimate
from evenhand.store.runfile import RunFile


class CorrectedMiss(Record, frozen=True):
    """A bound that the corrected number misses.

    Attributes:
        corrected: The number that misses it: its corrected rate, or its corrected mean.
        value: What misses it: the number's own, or what it is if people decide otherwise where they are split.
    """

    requirement: Requirement
    rate: JudgedRate
    corrected: Estimate
    value: float


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
        if rate.variant in required.variants and not required.case
        for miss in _misses(run, required, rate)
    ]


def _misses(run: RunFile, required: Requirement, rate: JudgedRate) -> Iterator[CorrectedMiss]:
    bound, number, values = required.bound, rate.corrected, rate.values
    if required.metric == rate.metric:
        if rate.mean is not None:
            number = rate.mean.corrected
            values = () if number is None else (number.value,)
        missed = [value for value in values if not bound.keeps(value)]
    # What people would pass is bounded from above: only `at_least` can be missed, and 1 always is.
    elif required.metric == PASSED and bound.at_most is None and bound.at_least != 1:
        missed = [value for value in values if not bound.keeps(value)]
        missed = missed if missed and _bounds_passes(run, rate) else []
    else:
        missed = []
    if missed and number is not None:
        yield CorrectedMiss(required, rate, number, missed[0])


def _bounds_passes(run: RunFile, rate: JudgedRate) -> bool:
    """Whether no trial of the variant passes that the judge fails, or has no verdict on."""
    return all(
        any(
            metric_of(outcome) == rate.metric and judge_of(outcome) and outcome.outcome == "pass"
            for outcome in with_parts(trial.outcomes)
        )
        for trial in run.trials()
        if trial.variant == rate.variant and trial.outcome == "pass"
    )


def is_unchecked(run: RunFile) -> bool:
    """Whether some judge of a run is not trusted, of single outputs or of pairs.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    return bool(unchecked_rates(run) or unchecked_rankings(run))


def unchecked_rates(run: RunFile) -> list[JudgedRate]:
    """The judged rates that are not trusted: no calibration holds, or it doesn't say that the judge may be used.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    return [rate for rate in judged_rates(run) if not rate.trusted]


def unchecked_rankings(run: RunFile) -> list[tuple[ComparedPairs, RankingCorrection]]:
    """The rankings that are not trusted, for the same reasons; none that no judge has given an answer for.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    rankings = [pairs for pairs in compared_pairs(run) if pairs.judged]
    corrections = ranking_corrections(run, rankings)
    return [
        (pairs, correction)
        for pairs, correction in zip(rankings, corrections, strict=True)
        if not correction.trusted
    ]
