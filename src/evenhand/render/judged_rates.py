"""Pass rates of judges in words: as the judge has them, and as people would have found them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenhand.analysis.summaries.rates import hundredths
from evenhand.analysis.trust.calibrated import OTHER_EVALS, JudgedRate, judged_rates
from evenhand.analysis.trust.calibration_file import other_copy, place_of
from evenhand.analysis.trust.canaries import canaries_of
from evenhand.analysis.trust.cascades import cascade_lines, has_cascade
from evenhand.analysis.trust.corrected_bounds import (
    CorrectedMiss,
    corrected_misses,
    unchecked_rankings,
)
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labelled_cases import of_clusters
from evenhand.analysis.trust.labels.what_next import to_label_again
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.analysis.trust.trust_rules import (
    CROWD,
    LOOKED,
    NO_VERDICT,
    NOT_CHECKED,
    ONE_METRIC,
    age,
    stale_words,
    without_split,
)
from evenhand.core.errors import UsageError
from evenhand.core.wording.bounds import beside, percent_as_written, percent_beside
from evenhand.core.wording.words import count, digits_within, folded, interval, safe, short_id
from evenhand.render.calibration_text import canary_sentences, mean_words, rate
from evenhand.stats.correction import Estimate
from evenhand.stats.paired_difference import FEWEST as FEWEST_PAIRS
from evenhand.store.runfile import RunFile

MANY = 4
"""So many variants of a metric share a line, where they differ in nothing but their numbers."""
JUDGED = "judged metrics: pass rates"
"""Above what judges passed: a metric's mean score, which comparisons have, is another number."""


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
        return [f"  {JUDGED}", *damage]


def judged_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """What people would have found of each judged metric, or that nobody has looked: by variant, or for MANY at once.

    Rankings have lines of their own, and are here only where calibration is required or accepted, and there is none.
    """
    rates = judged_rates(run)
    calibrated = run.meta.settings.get("calibrated")
    rankings = unchecked_rankings(run) if calibrated else []
    if not rates and not rankings:
        return []
    left = sum(not one.trusted for one in rates) + len(rankings)
    lines = [f"  {JUDGED}"]
    if left and calibrated == "required":
        lines = ["  judged metrics: calibration is required, so there is no verdict without it"]
    elif left and calibrated == "accepted":
        lines = [f"  {JUDGED} (accepted without calibration)"]
    texts: list[str] = []
    undecided = calibrated == "required" and verdict_of(run) == "undecided"
    texts += [_missed(miss) for miss in corrected_misses(run)] if undecided else []
    texts += _metric_lines(rates, names)
    texts += _of_another_copy(run, rates)
    texts += [
        f"{safe(pairs.name)} by {safe(pairs.model)}: {correction.words}"
        for pairs, correction in rankings
    ]
    if has_cascade(run):
        texts += map(safe, cascade_lines(run, judgements(run, verdicts_only=True).metrics))
    if any(one.status == "stale" for one in (*rates, *(one for _, one in rankings))):
        name = short_id(run.meta.id)
        again = f"{to_label_again(run)}, then evenhand calibrate {name}"
        texts.append(f"to calibrate again: {again}")
    if note := of_clusters(run.meta.variants[index] for index in {one.variant for one in rates}):
        texts.append(note)
    canaries = canaries_of(run)
    texts += () if canaries is None else canary_sentences(canaries)
    for text in texts:
        lines += folded(text, width, "    ", "      ", names=names)
    return lines


def _of_another_copy(run: RunFile, rates: Sequence[JudgedRate]) -> Iterator[str]:
    """Whose calibration that is, or whose it would be, where the project was copied or moved since the run."""
    place = place_of(run.meta)
    here = other_copy(run.path, place)
    if here is None:
        return
    origin = (
        f"this run was made in {safe(str(place.parent))}, and its file is in {safe(str(here))} now"
    )
    with_labels = [one for one in rates if one.status != "missing"]
    if any(not one.own for one in with_labels):
        yield f"by the {place.name} of another copy of the project: {origin}"
    elif not with_labels and (here / place.name).exists():
        yield f"the {place.name} beside it is not that of this run: {origin}. Runs made here go by it"


def _missed(miss: CorrectedMiss) -> str:
    """Which corrected number withholds the verdict, beside the bound that it misses."""
    one, bound = miss.corrected, miss.requirement.bound
    ends = (bound.at_least, bound.at_most)
    if one is miss.rate.corrected:
        share = percent_beside(one.value, *ends, digits=digits_within(one.low, one.high))
        number, least = f"{share} [{interval(one.low, one.high)}]", bound.worded(percent_as_written)
    else:
        mean = beside(one.value, *ends, digits=2, form="f")
        number, least = (
            f"{mean} [{hundredths(one.low, end=True)}–{hundredths(one.high, end=True)}]",
            str(bound),
        )
    otherwise = ""
    if miss.value != one.value:
        share = percent_beside(miss.value, *ends)
        otherwise = f", and {share} if people decide otherwise where they are split"
    return f"no verdict: {safe(miss.rate.metric)} is {number} once corrected{otherwise}, wanted {least}"


def _alike(rates: Sequence[JudgedRate]) -> list[list[JudgedRate]]:
    """Rates in their order; in one list those of a metric that differ in nothing but their numbers."""
    groups: dict[tuple[object, ...], list[JudgedRate]] = {}
    for one in rates:
        means = one.mean is not None and one.mean.corrected is not None
        same = (
            one.split is None,
            one.status,
            one.changed,
            one.why,
            one.doubt,
            one.by_votes,
            one.stopped,
        )
        key = (one.metric, one.model, one.fallback, one.corrected is None, means, *same)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def shared_standing(alike: Sequence[JudgedRate], names: Sequence[str]) -> str:
    """What `standing` says of each of several rates: the lowest and the highest, and what holds for all of them.

    Args:
        alike: Rates of one metric that differ in nothing but their numbers.
        names: What variants are called, by their index.
    """
    first = alike[0]
    raw = f"{_spread([(one.raw, names[one.variant]) for one in alike])} by {safe(first.model)}"
    corrected = [(one.corrected, names[one.variant]) for one in alike if one.corrected is not None]
    if corrected:
        split = sum(one.split_items for one in alike)
        labels = f"{_least_and_most([one.labels for one in alike])} labels each{without_split(split, 'output')}"
        people = f"{_spread(corrected)} corrected, {labels} · {raw}"
        parts = [f"{raw} · {labels}{doubt_about(first)}" if first.doubt else people]
    else:
        parts = [f"{raw} · {_uncorrected(first)}"]
    means = [one.mean for one in alike if one.mean is not None and one.mean.corrected is not None]
    if means:
        values = [hundredths(one.corrected.value) for one in means if one.corrected is not None]
        parts.append(f"mean {min(values, key=float)} to {max(values, key=float)} corrected")
    if first.stopped and (corrected or means):
        parts.append(LOOKED)
    if first.fallback:
        parts.append(f"{count(sum(one.items for one in alike), 'verdict')} of the fallback")
    if errors := sum(one.errors for one in alike):
        parts.append(f"{count(errors, 'output')} left out: {NO_VERDICT}")
    return " · ".join(parts)


def _spread(rates: Sequence[tuple[Estimate, str]]) -> str:
    """The lowest and the highest of some rates, each with its interval and whose it is."""
    least, most = (end(rates, key=lambda one: one[0].value)[0] for end in (min, max))
    if rate(least) == rate(most):
        return rate(least)
    ends: list[str] = []
    for end in (least, most):
        owners = [safe(name) for one, name in rates if rate(one) == rate(end)]
        others = f" and {len(owners) - 1} more" if len(owners) > 1 else ""
        ends.append(f"{rate(end)} ({owners[0]}{others})")
    return " to ".join(ends)


def _least_and_most(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _metric_lines(rates: Sequence[JudgedRate], names: Sequence[str]) -> Iterator[str]:
    several = len({one.variant for one in rates}) > 1
    crowds = crowded(rates)
    for alike in _alike([one for one in rates if one.metric not in crowds]):
        if len(alike) < MANY:
            for one in alike:
                of = f" · {safe(names[one.variant])}" if several else ""
                yield f"{safe(one.metric)}{of}: {standing(one)}"
        else:
            metric = f"{safe(alike[0].metric)} · {len(alike)} variants, each in --json"
            yield f"{metric}: {shared_standing(alike, names)}"
    yield from crowd_lines(crowds, rates)


def crowded(rates: Iterable[JudgedRate]) -> dict[str, str]:
    """Unlabelled metrics that are named by their criteria, of one kind and many, each with few outputs: their kinds.

    Criteria that are filled in from the case, or written for each test, make such metrics: one for each case. A line
    for each would say nothing.
    """
    kinds: dict[str, str] = {}
    large: set[str] = set()
    for one in rates:
        kind, quote, _ = one.metric.partition(' "')
        if quote and one.status == "missing" and not one.fallback and one.items < FEWEST_PAIRS:
            kinds[one.metric] = kind
        else:
            large.add(one.metric)
    kinds = {metric: kind for metric, kind in kinds.items() if metric not in large}
    sizes = Counter(kinds.values())
    return {metric: kind for metric, kind in kinds.items() if sizes[kind] >= CROWD}


def crowd_lines(crowds: Mapping[str, str], rates: Iterable[JudgedRate]) -> Iterator[str]:
    """A line for each kind of such metrics: how many they are, and how to make them one."""
    outputs: Counter[str] = Counter()
    models: dict[str, dict[str, None]] = {}
    for one in rates:
        if (kind := crowds.get(one.metric)) is not None:
            outputs[kind] += one.items
            models.setdefault(kind, {})[one.model] = None
    sizes = Counter(crowds.values())
    for kind, of in outputs.items():
        by = ", ".join(map(safe, models[kind]))
        yield (
            f"{safe(kind)}: {sizes[kind]:,} criteria, {count(of, 'output')}, by {by} · {NOT_CHECKED};"
            f" {ONE_METRIC}"
        )


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
        labels += without_split(one.split_items, "output")
        votes = " by weighted votes" if one.by_votes else ""
        corrected, raw = f"{rate(one.corrected)} corrected{votes}, {labels}", rate(one.raw)
        # A correction that gates ignore doesn't come first.
        if one.doubt:
            return f"{raw} by {safe(one.model)} · {corrected}{doubt_about(one)}"
        return f"{corrected} · raw {raw} by {safe(one.model)}"
    return f"{rate(one.raw)} by {safe(one.model)} · {_uncorrected(one)}"


def _uncorrected(one: JudgedRate) -> str:
    """Why a rate isn't corrected."""
    if one.status == "stale":
        return f"calibration is stale: {stale_words(one.changed)}"
    if one.why:
        return f"labelled, and not corrected: {one.why}"
    if one.status == "fresh":
        return "labelled, and not corrected: see `evenhand calibrate`"
    if one.changed:
        other = "other evals" if OTHER_EVALS in one.changed else "another judge"
        return f"{NOT_CHECKED}: the calibration is for {other}"
    return NOT_CHECKED


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
