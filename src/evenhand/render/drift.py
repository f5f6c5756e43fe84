"""Who changed since the first check of canaries, in words: the judge or the system."""

from __future__ import annotations

import time
from collections.abc import Iterator

from evenhand.analysis.trust.canaries import CASES_NEEDED, CanaryAnswers, CanaryReport, Drift
from evenhand.core.wording.words import count, percent, safe


def canary_sentences(report: CanaryReport) -> Iterator[str]:
    """One for each judge: what it is right on, and who changed."""
    for key, answers in report.check.answers.items():
        words = drift_words(report.drift(key), answers)
        yield f"canaries of {safe(answers.metric)}: {right_words(answers)}; {words}"


def drift_words(drift: Drift | None, answers: CanaryAnswers) -> str:
    """Whether the judge drifted or the system, in a sentence."""
    if not answers.right:
        return "no verdict: the judge gave none"
    if drift is None:
        return "the first check of these canaries: later ones are compared with it"
    flips = f"{drift.newly_wrong} newly wrong, {drift.newly_right} newly right (p = {drift.p:.2g})"
    since = time.strftime("%d %b %Y", time.gmtime(drift.since.at))
    if not drift.enough:
        return f"not decided: {count(drift.pairs, 'canary', 'canaries')} can't show a drift, {drift.fewest} or more can"
    moved = _moved_words(drift, answers)
    if drift.shown:
        also = f"{moved}, which may be the judge" if drift.moved else moved
        return f"the judge drifted since {since}: {flips}{also}"
    if drift.word == "system":
        return (
            f"the system changed, and no drift of the judge is shown since {since}: {flips}{moved}"
        )
    return f"no drift of the judge shown since {since}: {flips}{moved}"


def _moved_words(drift: Drift, answers: CanaryAnswers) -> str:
    """From where to where the judge's pass rate went, on the cases that both runs have; empty where nobody knows."""
    rates = drift.before.raw, answers.raw
    where = ""
    if not drift.same_cases:
        common = drift.common
        if len(common) < CASES_NEEDED:
            return "; other cases: the pass rates of the two runs are not comparable"
        where = f" on the {count(len(common), 'case')} of both"
        rates = tuple(sum(side) / len(common) for side in zip(*common, strict=True))
    if rates[0] is None or rates[1] is None:
        return ""
    moved = f"; its pass rate{where} went from {percent(rates[0])} to {percent(rates[1])}"
    if not drift.cases_known and drift.word == "system":
        moved += " (whether the cases are the same was not recorded)"
    return moved


def right_words(answers: CanaryAnswers) -> str:
    """How many canaries it is right on: `37 of 40 right`, and its errors."""
    errors = f", {count(answers.errors, 'error')}" if answers.errors else ""
    return f"{sum(answers.right.values())} of {len(answers.right)} right{errors}"
