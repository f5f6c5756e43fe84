"""The judges of a run that people have not checked. Where that is required, a run that has any has no verdict."""

from __future__ import annotations

from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.ranking_corrections import RankingCorrection, ranking_corrections
from evenhand.store.runfile import RunFile


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
