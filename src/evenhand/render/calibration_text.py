"""Calibrations and audits of judges, of verdicts and of rankings, in words: for terminals and reports."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.rates import hundredths, score_digits
from evenhand.analysis.trust.agreement import AgreementStatistics, coefficient
from evenhand.analysis.trust.audit import Audit
from evenhand.analysis.trust.calibration import Calibration, JudgeCalibration, few_of_a_kind
from evenhand.analysis.trust.canaries import (
    CASES_NEEDED,
    CanaryAnswers,
    CanaryReport,
    Drift,
)
from evenhand.analysis.trust.jury_weights import JuryWeights
from evenhand.analysis.trust.probabilities import ProbabilityCalibration
from evenhand.analysis.trust.ranking_calibration import RankingCalibration
from evenhand.analysis.trust.selective import SelectiveVerdicts, lines_of
from evenhand.analysis.trust.trust_rules import (
    FEWEST,
)
from evenhand.core.variant import Variant
from evenhand.core.wording.words import (
    columns,
    count,
    in_points,
    p_value,
    padded,
    percent,
    points,
    safe,
    share_words,
    short_id,
)
from evenhand.stats.agreement import Alternative
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import z_of
from evenhand.stats.weighted import half_width_by_strata

_AUDIT_RESULTS = {
    "biased": "biased: ",
    "not shown": "no bias shown: ",
    "measured": "",
    "not applicable": "not applicable: ",
}
MORE = 40
FEWEST_WORTH = 10
"""Of fewer labels it isn't known what they are worth."""


def calibration_lines(
    calibration: Calibration,
    selective: Mapping[tuple[str, str], SelectiveVerdicts] = MappingProxyType({}),
) -> Iterator[str]:
    """A block of lines for each judge, with what it may decide where that was asked."""
    if not calibration.judges and not calibration.rankings:
        yield "no judge gave a verdict in this run"
    for judge in calibration.judges:
        yield from _judge_lines(judge, calibration.run)
        if (decides := selective.get((judge.metric, judge.model))) is not None:
            yield from lines_of(decides, calibration.run)
        audits = calibration.audits[judge.metric, judge.model]
        # Most audits need labels: without any, only what was found is worth a line.
        if judge.verdicts.labels or any(audit.result != "not applicable" for audit in audits):
            yield from audit_lines(audits)
        for warning in judge.warnings:
            yield f"  note: {warning}"
        yield ""
    for ranking in calibration.rankings:
        yield from ranking_lines(ranking, calibration.variants)
        yield ""


def _judge_lines(judge: JudgeCalibration, run: str) -> Iterator[str]:
    """What labels say of a judge; without labels, only that there are none."""
    v = judge.verdicts
    yield f"{safe(judge.metric)} · judged by {safe(judge.model)}"
    yield f"  {judge.verdict}: {judge.why}"
    if judge.verdict == "do not use" and not few_of_a_kind(v):
        yield f"  next       try another model on these labels: evenhand calibrate {short_id(run)} --try model=ID"
    yield f"  labels     {v.labels:,} of {count(v.items, 'judged output')}"
    yield f"  raw        {rate(judge.raw)}"
    if judge.corrected is not None:
        yield f"  corrected  {rate(judge.corrected)}"
    if v.labels:
        yield f"  TPR        {rate_or_dash(judge.tpr)}   share of the outputs people pass that the judge passes"
        yield f"  TNR        {rate_or_dash(judge.tnr)}   share of the outputs people fail that the judge fails"
        yield f"  agreement  {agreement_words(judge, judge.people, judge.shared, 'output')}"
    if judge.alternative is not None:
        yield f"  people     {_alternative_words(judge.alternative)}"
    if judge.jury is not None:
        yield from jury_lines(judge.jury)
    # Where nothing is corrected, its verdicts replace none, however they go with people's.
    if judge.rho2 is not None and judge.corrected is not None and v.labels >= FEWEST_WORTH:
        yield f"  worth      replaces {percent(judge.rho2)} of your labels (ρ²)"
    if judge.probabilities is not None and v.labels >= FEWEST_WORTH:
        yield from probability_lines(judge.probabilities)
    if v.labels >= FEWEST_WORTH:
        yield f"  {worth_line(judge)}"
    if judge.scores is not None:
        yield from score_lines(judge)
    for i, line in enumerate(() if judge.cascade is None else judge.cascade.lines()):
        yield f"  {'' if i else 'cascade':<9}  {line}"


def score_lines(judge: JudgeCalibration) -> Iterator[str]:
    """A judge's scores beside people's, where both gave some."""
    one = judge.scores
    if one is None:
        return
    low, high = one.scale
    yield f"  scores     {count(one.labels, 'output')} with people's scores, put on the scale from {low:g} to {high:g}"
    yield f"  raw mean   {mean_words(one.raw)}   the mean of the judge's scores"
    if one.corrected is not None:
        yield f"  corrected  {mean_words(one.corrected)}   the mean that people would have given"
    yield f"  agreement  {coefficient(one.kappa)} κ with quadratic weights, {coefficient(one.tau)} τ_b"
    if one.paired is not None and one.paired.rho2 is not None:
        yield f"  worth      replaces {percent(one.paired.rho2)} of people's scores (ρ²)"
    more = _more(one.labels, judge.verdicts.items)
    now, later = one.half_width(one.labels), one.half_width(one.labels + more)
    if now is not None and later is not None:
        now, later = _as_measured(one.corrected, now, later, 1 + more / one.labels)
        line = f"  {safe(judge.metric)}: {one.labels:,} scores give ±{now:.2f}"
        yield line + _more_would(more, f"±{now:.2f}", f"±{later:.2f}")


def mean_words(mean: Estimate) -> str:
    """A mean with its interval: `4.10 [3.81–4.37]`."""
    digits = score_digits(mean.low, mean.high)
    low, high = (hundredths(each, digits, end=True) for each in (mean.low, mean.high))
    return f"{hundredths(mean.value, digits)} [{low}–{high}]"


def rate(estimate: Estimate) -> str:
    """A rate with its interval: `71 % [65–77]`."""
    return share_words(estimate.value, estimate.value, estimate.low, estimate.high)


def worth_line(judge: JudgeCalibration) -> str:
    """What the labels are worth so far, and what more of them would bring."""
    v = judge.verdicts
    if not v.labels:
        return f"{safe(judge.metric)}: no labels yet"
    more = _more(v.labels, v.items)
    now, later = half_width(judge, v.labels), half_width(judge, v.labels + more)
    now, later = _as_measured(judge.corrected, now, later, 1 + more / v.labels)
    labels = "1 label gives" if v.labels == 1 else f"{v.labels:,} labels give"
    line = f"{safe(judge.metric)}: {labels} ±{percent(now)}"
    return line + _more_would(more, f"±{percent(now)}", f"±{percent(later)}")


def _more_would(more: int, now: str, later: str) -> str:
    """What more labels would bring; empty where there is nothing left to label."""
    if not more:
        return ""
    return f"; {more} more would " + ("hardly change that" if later == now else f"give {later}")


def _as_measured(
    corrected: Estimate | None, now: float, later: float, times: float
) -> tuple[float, float]:
    """Half of an interval that there is, and what more labels would make of it: nothing that is wider.

    The formula says how an interval shrinks. Where labels hardly disagree with a judge, it says next to nothing of how
    wide it is: what none of them shows may still be among the other outputs.

    Args:
        corrected: The interval; None where there is none.
        now: Half of it by the formula.
        later: The same with more labels.
        times: How many times as many these are.
    """
    # Where cases have several labels, the formula takes all that they share for lost.
    later = min(now, later)
    if corrected is None:
        return now, later
    reach = (corrected.high - corrected.low) / 2
    return reach, reach * later / now if now > 0 else reach / math.sqrt(times)


def _more(labels: int, items: int) -> int:
    """The labels whose worth is told: no more than there are outputs without one."""
    return min(MORE, max(0, items - labels))


def half_width(judge: JudgeCalibration, labels: int) -> float:
    """About how far the corrected rate can be off with so many labels, from 0 to 1.

    Source: the variance of PPI++ with its best λ, arXiv:2311.01453: σ²/n · (1 − ρ² · N/(n + N)).
    """
    v = judge.verdicts
    # The more labels a case has, the more of what they say is the same.
    effect = 1 + (judge.effects.rate - 1) * labels / max(1, v.labels)
    if judge.weighted is not None:
        return half_width_by_strata(judge.weighted, labels, v.items) * math.sqrt(effect)
    people = (v.both_pass + v.missed + 1) / (v.labels + 2)  # never 0 or 1 on so few
    others = max(0, v.items - labels)
    rho2 = 0.0 if judge.corrected is None else judge.rho2 or 0.0
    left = 1 - rho2 * others / max(1, labels + others)
    return z_of() * math.sqrt(people * (1 - people) / labels * left * effect)


def probability_lines(one: ProbabilityCalibration) -> Iterator[str]:
    """What a decision model's probabilities mean by the labels, how good they are, and what they add."""
    yield (
        f"  Brier      {_hundredths(one.brier)} as stated, {_hundredths(one.recalibrated)} after recalibration on other"
        " cases; 0 is perfect, 0.25 a coin toss"
    )
    lead = "  reliable   "
    for point in one.curve:
        of_labels = f"{point.labels} labels" if point.labels > 1 else "1 label"
        yield f"{lead}says {percent(point.stated)}: people pass {rate(point.passed)} of {of_labels}"
        lead = " " * len(lead)
    yield (
        f"  graded     using its probabilities removes {percent(one.explained)} of the corrected rate's error"
        if one.explained
        else "  graded     these labels show no gain from its probabilities over its verdicts"
    )


def _hundredths(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}–{estimate.high:.2f}]"


def jury_lines(jury: JuryWeights) -> Iterator[str]:
    """Whether weighting a jury's votes pays, and what each member's vote is worth."""
    yield (
        f"  jury       agrees with people on {rate(jury.majority)} by majority,"
        f" {rate(jury.weighted)} weighted by labels"
    )
    words = {
        "better": "weighting the votes is better",
        "worse": "weighting the votes is worse",
        "undecided": "too few labels to say whether weighting the votes is better",
    }
    gain = difference_words(jury.difference)
    yield f"             {words.get(jury.word, 'no gain from weighting is shown')}: {gain}, {p_value(jury.p)}"
    for member in jury.members:
        agrees = "never voted" if member.agrees is None else f"agrees on {rate(member.agrees)}"
        yield f"             {safe(member.model)}: weight {member.weight:.2f}, {agrees}"


def difference_words(difference: Estimate) -> str:
    """A difference of shares with its interval: `+12 points [+1, +23]`."""
    low, high = points(difference.low), points(difference.high)
    return f"{in_points(points(difference.value))} [{low}, {high}]"


def _alternative_words(one: Alternative) -> str:
    word = "can" if one.passed else "can't"
    return (
        f"the judge {word} stand in for a person: it could replace {one.replaced} of {one.people}, and "
        f"agrees with the others at least as well as they do on {percent(one.advantage)} of outputs"
    )


def rate_or_dash(estimate: Estimate | None) -> str:
    """A rate with its interval; a dash for none."""
    return "–" if estimate is None else rate(estimate)


def audit_lines(audits: Sequence[Audit]) -> Iterator[str]:
    """A short block: an audit each line, those that are not applicable for the same reason together."""
    if not audits:
        return
    tests = sum(audit.p is not None for audit in audits)
    biased = [audit.name for audit in audits if audit.result == "biased"]
    if biased:
        yield f"  audits     biased by {', '.join(biased)}"
    else:
        yield ("  audits     no bias shown" if tests else "  audits     bias could not be tested")
    # Only neighbours are put together, so the audits stay in their order.
    for words, group in groupby(
        audits, key=lambda audit: _AUDIT_RESULTS[audit.result] + audit.words
    ):
        names = ", ".join(audit.name for audit in group)
        yield f"    {names}: {words}"


MORE_PAIRS = 40


def ranking_lines(one: RankingCalibration, variants: Sequence[Variant]) -> Iterator[str]:
    """What labels say of the judge of a ranking, and of the ranking: a block of lines."""
    n, trust = len(one.labels.pairs), one.trust
    yield f"{safe(one.name)} · judged by {safe(one.model)}"
    yield f"  {trust.verdict}: {trust.why}"
    if trust.verdict == "do not use":
        more = "label more pairs, or " if one.pairs > n else ""
        yield f"  next       {more}change the judge or the criteria of Ranking(…), and run, label and calibrate again"
    yield f"  labels     {n} of {count(one.pairs, 'compared pair')}"
    if one.agreement is not None:
        yield (
            f"  agreement  {rate(one.agreement)} of the labelled pairs, ties included;"
            f" {agreement_words(one, one.labels.people, one.labels.shared, 'pair')}"
        )
    if trust.raw is not None:
        often = share_words(*trust.raw.first_wins)
        yield f"  place      if both are equally good, the judge prefers the one shown first {often} of the time"
    if trust.corrected is not None:
        yield f"             people {share_words(*trust.corrected.first_wins)} of the time"
        names = column_names(variants)
        width = max(columns(names[v]) for v in trust.corrected.order)
        for head, variant in zip(_heads(), trust.corrected.order, strict=False):
            raw = "" if trust.raw is None else f" · raw {share_words(*trust.raw.chances[variant])}"
            chance = share_words(*trust.corrected.chances[variant])
            yield f"  {head:<9}  {padded(names[variant], width)}  {chance}{raw}"
    if one.rho2 is not None:
        yield f"  worth      replaces {percent(one.rho2)} of your labels (ρ²)"
    if trust.corrected is not None:
        now = max((share.high - share.low) / 2 for share in trust.corrected.chances.values())
        more = min(MORE_PAIRS, max(0, one.pairs - n))
        # An interval shrinks with the square root of the number of labels.
        later = now * math.sqrt(n / (n + more))
        line = f"  {n} labels give ±{percent(now)} or less"
        yield line + _more_would(more, f"±{percent(now)}", f"±{percent(later)}")
    for warning in one.warnings:
        yield f"  note: {warning}"


def agreement_words(one: AgreementStatistics, people: float | None, of: int, what: str) -> str:
    """Agreement beyond chance, and that of people among each other where several labelled the same.

    Args:
        of: How many several people labelled.
    """
    among = (
        ""
        if people is None
        else f"; people among each other {coefficient(people)} α, on {count(of, what)}"
    )
    return f"{one.beyond_chance}{among}"


def labels_line(name: str, labels: int) -> str:
    """How many labels of a ranking count, and how many more it takes for a verdict."""
    more = f"; {FEWEST - labels} more are needed" if labels < FEWEST else ""
    return f"{safe(name)}: {count(labels, 'label')} in all{more}"


def _heads() -> Iterator[str]:
    yield "corrected"
    while True:
        yield ""


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
    flips = f"{drift.newly_wrong} newly wrong, {drift.newly_right} newly right"
    if drift.newly_wrong and drift.newly_right and drift.shown:
        failed = drift.newly_failed
        flips += f": {failed} fail now, {drift.newly_wrong + drift.newly_right - failed} pass now"
    flips += f" ({p_value(drift.p)})"
    since = time.strftime("%d %b %Y", time.gmtime(drift.since.at))
    if not drift.enough:
        return f"not decided: {count(drift.pairs, 'canary', 'canaries')} can't show a drift, {drift.fewest} or more can"
    moved = _moved_words(drift, answers)
    if drift.word == "not decided":
        return (
            f"not decided: the judge or the system changed since {since}: {flips}{moved}; so late in a series of"
            f" checks, a drift takes p below {drift.level:.2g}"
        )
    if drift.shown:
        also = f"{moved}, which may be the judge" if drift.moved else moved
        return f"the judge drifted since {since}: {flips}{also}"
    if drift.word == "system":
        return (
            f"the system changed since {since}, or the judge by less than"
            f" {count(drift.pairs, 'canary', 'canaries')} can show: {flips}{moved}"
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
