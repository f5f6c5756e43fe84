"""Calibrations and audits of judges in words, for terminals and reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from evenhand.analysis.summaries.rates import hundredths
from evenhand.analysis.trust.agreement import coefficient
from evenhand.analysis.trust.audit import Audit
from evenhand.analysis.trust.calibrated import OTHER_EVALS, JudgedRate, judged_rates
from evenhand.analysis.trust.calibration import Calibration, JudgeCalibration
from evenhand.analysis.trust.canaries import canaries_of
from evenhand.analysis.trust.cascades import cascade_lines, has_cascade
from evenhand.analysis.trust.corrected_bounds import corrected_misses
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.jury_weights import JuryWeights
from evenhand.analysis.trust.probabilities import ProbabilityCalibration
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.analysis.trust.selective import SelectiveVerdicts, lines_of
from evenhand.analysis.trust.trust_rules import LOOKED, NO_VERDICT, NOT_CHECKED, age
from evenhand.analysis.trust.unchecked import unchecked_rankings
from evenhand.core.errors import UsageError
from evenhand.core.wording.words import count, folded, interval, percent, percents, safe, short_id
from evenhand.render.drift import canary_sentences
from evenhand.render.ranking_calibration import agreement_words, ranking_lines
from evenhand.stats.alternative import Alternative
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import z_of
from evenhand.stats.weighted import half_width_by_strata
from evenhand.store.runfile import RunFile

AUDIT_WIDTH = 100
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
        v = judge.verdicts
        yield f"{safe(judge.metric)} · judged by {safe(judge.model)}"
        yield f"  {judge.verdict}: {judge.why}"
        yield f"  labels     {v.labels} of {count(v.items, 'judged output')}"
        yield f"  raw        {rate(judge.raw)}"
        if judge.corrected is not None:
            yield f"  corrected  {rate(judge.corrected)}"
        yield f"  TPR        {_or_dash(judge.tpr)}   of the outputs that people pass, the judge passes so many"
        yield f"  TNR        {_or_dash(judge.tnr)}   of the outputs that people fail, the judge fails so many"
        yield f"  agreement  {agreement_words(judge, judge.people)}"
        if judge.alternative is not None:
            yield f"  people     {_alternative_words(judge.alternative)}"
        if judge.jury is not None:
            yield from jury_lines(judge.jury)
        if judge.rho2 is not None and v.labels >= FEWEST_WORTH:
            yield f"  worth      replaces {percent(judge.rho2)} of your labels (ρ²)"
        if judge.probabilities is not None and v.labels >= FEWEST_WORTH:
            yield from probability_lines(judge.probabilities)
        if v.labels >= FEWEST_WORTH:
            yield f"  {worth_line(judge)}"
        if judge.scores is not None:
            yield from score_lines(judge)
        for i, line in enumerate(() if judge.cascade is None else judge.cascade.lines()):
            yield f"  {'' if i else 'cascade':<9}  {line}"
        decides = selective.get((judge.metric, judge.model))
        if decides is not None:
            yield from lines_of(decides, calibration.run)
        yield from audit_lines(calibration.audits[judge.metric, judge.model])
        for warning in judge.warnings:
            yield f"  note: {warning}"
        yield ""
    for ranking in calibration.rankings:
        yield from ranking_lines(ranking, calibration.variants)
        yield ""


def judged_or_damaged(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """As `judged_lines`; where the calibration is damaged, that: a report is never withheld for it."""
    try:
        return judged_lines(run, names, width)
    except UsageError as error:
        damage = [
            line
            for text in f"not corrected: {error}".splitlines()
            for line in folded(safe(text.strip()), width, "    ", "      ")
        ]
        return ["  judged metrics", *damage]


def judged_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """A line for each judged metric and variant: what people would have found, or that nobody has looked.

    Rankings have lines of their own, and are here only where calibration is required or accepted, and there is none.
    """
    rates = judged_rates(run)
    calibrated = run.meta.settings.get("calibrated")
    rankings = unchecked_rankings(run) if calibrated else []
    if not rates and not rankings:
        return []
    several = len({one.variant for one in rates}) > 1
    left = sum(not one.trusted for one in rates) + len(rankings)
    lines = ["  judged metrics"]
    if left and calibrated == "required":
        lines = ["  judged metrics: calibration is required, so there is no verdict without it"]
    elif left and calibrated == "accepted":
        lines = ["  judged metrics (accepted without calibration)"]
    undecided = calibrated == "required" and verdict_of(run) == "undecided"
    for miss in corrected_misses(run) if undecided else ():
        of_scores = miss.corrected is not miss.rate.corrected
        number = mean_words(miss.corrected) if of_scores else rate(miss.corrected)
        bound = miss.requirement.bound.worded("{:g}".format if of_scores else percent)
        lines += folded(
            f"no verdict: {safe(miss.rate.metric)} is {number} once corrected, wanted {bound}",
            width,
            "    ",
            "      ",
        )
    for one in rates:
        of = f" · {safe(names[one.variant])}" if several else ""
        lines += folded(f"{safe(one.metric)}{of}: {standing(one)}", width, "    ", "      ")
    for pairs, correction in rankings:
        lines += folded(
            f"{safe(pairs.name)} by {safe(pairs.model)}: {correction.words}",
            width,
            "    ",
            "      ",
        )
    if has_cascade(run):
        for line in cascade_lines(run, judgements(run, verdicts_only=True).metrics):
            lines += folded(safe(line), width, "    ", "      ")
    if any(one.status == "stale" for one in (*rates, *(one for _, one in rankings))):
        name = short_id(run.meta.id)
        again = f"evenhand label {name} --draw 60, then evenhand calibrate {name}"
        lines += folded(f"to calibrate again: {again}", width, "    ", "      ")
    canaries = canaries_of(run)
    for sentence in () if canaries is None else canary_sentences(canaries):
        lines += folded(sentence, width, "    ", "      ")
    return lines


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
        line = f"  {safe(judge.metric)}: {one.labels:,} scores give ±{now:.2f}"
        yield f"{line}; {more} more would bring ±{later:.2f}" if more else line


def mean_words(mean: Estimate) -> str:
    """A mean with its interval: `4.10 [3.81–4.37]`."""
    return f"{hundredths(mean.value)} [{hundredths(mean.low)}–{hundredths(mean.high)}]"


def standing(one: JudgedRate) -> str:
    """A judged rate in words, and the mean of the judge's scores: corrected beside raw, or that nobody checked it."""
    mean = one.mean
    if mean is None or mean.corrected is None:
        looked = f" · {LOOKED}" if one.stopped and one.corrected is not None else ""
        return f"{_rate_words(one)}{looked}"
    corrected = f"{mean_words(mean.corrected)} corrected, {count(mean.labels, 'score')}"
    looked = f" · {LOOKED}" if one.stopped else ""
    return f"{_rate_words(one)} · mean {corrected} · raw mean {mean_words(mean.raw)}{looked}"


def _rate_words(one: JudgedRate) -> str:
    left_out = f" · {count(one.errors, 'output')} left out: {NO_VERDICT}" if one.errors else ""
    fallback = f" · {count(one.items, 'verdict')} of the fallback" if one.fallback else ""
    return f"{_standing_words(one)}{fallback}{left_out}"


def _standing_words(one: JudgedRate) -> str:
    if one.corrected is not None:
        labels = f"{count(one.labels, 'label')}, {age(one.labelled_at)}"
        votes = " by weighted votes" if one.by_votes else ""
        return (
            f"{rate(one.corrected)} corrected{votes}, {labels} · raw {rate(one.raw)} by {safe(one.model)}"
            f"{doubt_about(one)}"
        )
    raw = f"{rate(one.raw)} by {safe(one.model)}"
    if one.status == "stale":
        return f"{raw} · calibration is stale: {', '.join(one.changed)} changed"
    if one.why:
        return f"{raw} · labelled, and not corrected: {one.why}"
    if one.status == "fresh":
        return f"{raw} · labelled, and not corrected: see `evenhand calibrate`"
    if one.changed:
        other = "other evals" if OTHER_EVALS in one.changed else "another judge"
        return f"{raw} · {NOT_CHECKED}: the calibration is of {other}"
    return f"{raw} · {NOT_CHECKED}"


def doubt_about(*rates: JudgedRate) -> str:
    """Why corrected rates may not stand in a gate; empty where they may."""
    doubts = dict.fromkeys(rate.doubt for rate in rates if rate.doubt)
    return f" · {', '.join(doubts)}: see `evenhand calibrate`" if doubts else ""


def state_of(one: JudgedRate) -> str:
    """Where a judged rate stands, in two or three words."""
    if one.corrected is not None:
        return one.doubt or "corrected"
    if one.status == "stale":
        return "calibration is stale"
    return "labelled, not corrected" if one.why or one.status == "fresh" else "not checked"


def rate(estimate: Estimate) -> str:
    """A rate with its interval: `71 % [65–77]`."""
    return f"{percents(estimate.value, estimate.value)} [{interval(estimate.low, estimate.high)}]"


def worth_line(judge: JudgeCalibration) -> str:
    """What the labels are worth so far, and what more of them would bring."""
    v = judge.verdicts
    if not v.labels:
        return f"{safe(judge.metric)}: no labels yet"
    more = _more(v.labels, v.items)
    now, later = half_width(judge, v.labels), half_width(judge, v.labels + more)
    labels = "1 label gives" if v.labels == 1 else f"{v.labels:,} labels give"
    line = f"{safe(judge.metric)}: {labels} ±{percent(now)}"
    return f"{line}; {more} more would bring ±{percent(later)}" if more else line


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
    left = 1 - (judge.rho2 or 0.0) * others / max(1, labels + others)
    return z_of() * math.sqrt(people * (1 - people) / labels * left * effect)


def probability_lines(one: ProbabilityCalibration) -> Iterator[str]:
    """What a decision model's probabilities mean by the labels, how good they are, and what they add."""
    yield (
        f"  Brier      {_hundredths(one.brier)} as it says, {_hundredths(one.recalibrated)} recalibrated on other"
        " cases; 0 is perfect, 0.25 a coin's"
    )
    lead = "  reliable   "
    for point in one.curve:
        of_labels = f"{point.labels} labels" if point.labels > 1 else "1 label"
        yield f"{lead}says {percent(point.stated)}: people pass {rate(point.passed)} of {of_labels}"
        lead = " " * len(lead)
    yield (
        f"  graded     its probabilities take away {percent(one.explained)} of the corrected rate's error"
        if one.explained
        else "  graded     its probabilities add nothing to its verdicts that these labels show"
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
    gain = points(jury.difference)
    yield f"             {words.get(jury.word, 'no gain from weighting is shown')}: {gain}, p = {jury.p:.2g}"
    for member in jury.members:
        agrees = "never voted" if member.agrees is None else f"agrees on {rate(member.agrees)}"
        yield f"             {safe(member.model)}: weight {member.weight:.2f}, {agrees}"


def points(difference: Estimate) -> str:
    """A difference of shares with its interval: `+12 points [+1, +23]`."""
    ends = f"[{difference.low * 100:+.0f}, {difference.high * 100:+.0f}]"
    return f"{difference.value * 100:+.0f} points {ends}"


def _alternative_words(one: Alternative) -> str:
    word = "can" if one.passed else "can't"
    return (
        f"the judge {word} stand in for a person: for {one.replaced} of {one.people}; "
        f"it agrees with the others at least as much as they do on {percent(one.advantage)} of outputs"
    )


def _or_dash(estimate: Estimate | None) -> str:
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
        yield (
            "  audits     no bias shown" if tests else "  audits     no bias could be tested for"
        )
    # Only neighbours are put together, so the audits stay in their order.
    for words, group in groupby(
        audits, key=lambda audit: _AUDIT_RESULTS[audit.result] + audit.words
    ):
        names = ", ".join(audit.name for audit in group)
        yield from folded(f"{names}: {words}", AUDIT_WIDTH, "    ", "      ", whole=True)
