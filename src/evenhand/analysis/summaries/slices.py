"""Pass rates of each tag's cases by column, and each drawn towards those of all tags, as far as these are alike."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Annotated

from evenhand.analysis.summaries.clusters import Groups, OfCase, clusters_among, sums_in, together
from evenhand.analysis.summaries.marks import TAGS
from evenhand.analysis.summaries.rates import Rate, known_scale, share_in, share_row
from evenhand.analysis.summaries.share_rows import (
    High,
    Low,
    PassRate,
    PassRateLeast,
    PassRateMost,
    ShareRow,
    share_of,
)
from evenhand.core.document import Key
from evenhand.core.json_shapes import is_array
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.score import Scale
from evenhand.core.variant import RunVariant
from evenhand.core.wording.words import share_words
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.pooling import (
    FEWEST_GROUPS,
    GroupRate,
    pooled_means,
    pooled_rates,
    worth_of_units,
)
from evenhand.stats.standouts import group_p
from evenhand.stats.tallies import OpenNumber, Share, Tally, counted, worth_of
from evenhand.store.decoding import MeasuredTrial
from evenhand.store.encoding import written_case
from evenhand.store.measured import measured_trials
from evenhand.store.runfile import RunFile
from evenhand.store.sums import CaseSum

MOST_TRIALS = 200_000


class Slice(Record, frozen=True):
    """The cases of a tag in a column.

    Attributes:
        q: The p-value that they are like the cases without the tag, corrected for the number of slices; see
            `group_p` and `benjamini_hochberg`.
        pooled: Their pass rate, drawn towards those of all tags of the column; see `pooled_slices`. None for fewer than
            FEWEST_GROUPS tags, and in runs that stopped as soon as they were decided.
        cases: They, in any of the columns.
    """

    rate: Rate
    q: float
    pooled: Share | None = None
    cases: Collection[str] = ()


class RunSlice(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of the cases of a tag in a column."""

    tag: str
    variant: Annotated[RunVariant, Key("the variant")]
    passed: Annotated[int, Key("", "trials")]
    trials: Annotated[int, Key("that count", "trials")]
    errors: Annotated[int, Key("in error", "trials")]
    cases: Annotated[int, Key("", "cases")]
    q: Annotated[
        float,
        Key(
            "the p-value that they are like the cases without the tag (Fisher), corrected for the "
            "number of slices (Benjamini–Hochberg)",
            "0 to 1",
        ),
    ]
    rate: PassRate
    rate_least: PassRateLeast
    rate_most: PassRateMost
    low: Low
    high: High
    pooled: Annotated[
        ShareRow | None,
        Key(
            "the rate drawn towards those of all tags of the column (partial pooling), with an interval that holds for "
            "95 % of them, on average",
            null="fewer than 4 tags, nothing counts, or the run stopped as soon as it was decided",
        ),
    ]
    score: Annotated[
        PooledScore | None,
        Key(
            "the mean score of the tag's cases",
            null="as `pooled`, and where a tag has no score, all are alike, or errors are on no known scale",
        ),
    ]


def slices_by_tag(run: RunFile) -> dict[str, list[Slice]]:
    """By tag its cases in each column that has some, held against the column's other cases.

    Each case counts once in each of its tags. Tags that all cases have say nothing, and are left out; so is everything
    of a run too large to look through.
    """
    if run.by_outcome or run.settled() > MOST_TRIALS:
        return {}
    if not any(TAGS in result for result in run.results()):
        return {}  # and nothing is decoded
    columns: dict[int, dict[str, Tally]] = {}
    cases: dict[str, set[str]] = {}
    for trial in measured_trials(run):
        case = written_case(trial.case)
        column = columns.setdefault(trial.variant, {})
        column[case] = counted(column.get(case, Tally()), trial.outcome)
        for tag in _tags(trial):
            cases.setdefault(tag, set()).add(case)
    every = {case for column in columns.values() for case in column}
    groups = run.groups()
    rates: list[tuple[str, Rate]] = []
    ps: list[float] = []
    for tag in sorted(cases):
        if len(cases[tag]) == len(every):
            continue
        for variant, column in sorted(columns.items()):
            own = {case: tally for case, tally in column.items() if case in cases[tag]}
            if own:
                rates.append((tag, _rate(run.meta, variant, own, groups[variant])))
                ps.append(_p(own, column, groups[variant]))
    by_tag: dict[str, list[Slice]] = {}
    pooled: dict[tuple[str, int], Share] = {}
    # No interval of a mixture of rates allows for looking at them after each case.
    for variant, column in columns.items() if not run.meta.ended_early else ():
        own = [(tag, rate) for tag, rate in rates if rate.variant == variant and rate.share]
        shares = pooled_slices([rate for _, rate in own], column, groups[variant])
        if shares is not None:
            pooled |= {(tag, variant): s for (tag, _), s in zip(own, shares, strict=True)}
    for (tag, rate), q in zip(rates, benjamini_hochberg(ps), strict=True):
        one = Slice(rate, q, pooled.get((tag, rate.variant)), cases[tag])
        by_tag.setdefault(tag, []).append(one)
    return by_tag


def _p(own: Mapping[str, Tally], column: Mapping[str, Tally], groups: Groups) -> float:
    """How likely chance alone is to set cases apart from the others of their column. Errors say nothing of it."""
    shares = {
        case: passed / (passed + failed)
        for case, (passed, failed, _) in column.items()
        if passed + failed
    }
    return p_of_extreme(own, shares, groups)


def _rate(meta: RunMeta, variant: int, by_case: dict[str, Tally], groups: Groups) -> Rate:
    tallies = {case: tally for case, tally in by_case.items() if tally.n}
    return Rate(
        variant=variant,
        passed=sum(tally.passed for tally in tallies.values()),
        trials=sum(tally.n for tally in tallies.values()),
        errors=sum(tally.errors for tally in tallies.values()),
        cases=len(tallies),
        share=share_in(meta, tallies, groups),
        clusters=clusters_among(tallies, groups),
    )


def slice_rows(run: RunFile) -> list[RunSlice]:
    """The pass rates by tag in the keys of the run's document, one for each tag and column."""
    by_tag = slices_by_tag(run)
    scores = _scores(run, by_tag)
    return [
        RunSlice(
            tag=tag,
            variant=run.meta.variants[one.rate.variant].names,
            passed=one.rate.passed,
            trials=one.rate.trials,
            errors=one.rate.errors,
            cases=one.rate.cases,
            q=one.q,
            pooled=one.pooled and share_of(one.pooled),
            score=scores.get((tag, one.rate.variant)),
            **share_row(one.rate.share),
        )
        for tag, each in by_tag.items()
        for one in each
    ]


def _scores(
    run: RunFile, by_tag: Mapping[str, list[Slice]]
) -> Mapping[tuple[str, int], PooledScore]:
    """The mean scores by tag and column."""
    if not by_tag or run.meta.ended_early:
        return {}
    scores: dict[tuple[str, int], PooledScore] = {}
    sums, scales = run.sums(), run.scales()
    for variant, groups in enumerate(run.groups()):
        ends = sums.score_range(variant)
        tags = [
            (tag, one.cases)
            for tag, each in by_tag.items()
            for one in each
            if one.rate.variant == variant
        ]
        pooled = ends and pooled_scores(
            [cases for _, cases in tags],
            sums.scores_by_case(variant),
            groups,
            known_scale(scales.get((variant, "")), *ends),
        )
        if pooled:
            scores |= {(tag, variant): s for (tag, _), s in zip(tags, pooled, strict=True)}
    return scores


def _tags(trial: MeasuredTrial) -> list[str]:
    tags = trial.metadata.get("tags")
    if not is_array(tags):
        return []
    return [tag for tag in dict.fromkeys(tags) if isinstance(tag, str)]


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


NAMED = 3
METHOD = "corrected for their number: Benjamini–Hochberg"
LEVEL = 0.05
"""Of those that stand out, no larger a share is chance."""


class Entry(Record, frozen=True):
    """A group of cases in a list that is read for its extremes.

    Attributes:
        name: What it is called, in words that are safe to print.
        q: The p-value that it is like the cases that are not in it, corrected for how many groups there are.
        pooled: Its rate drawn towards those of all groups; None where none is.
    """

    name: str
    rate: str
    q: float
    pooled: Share | None = None

    @property
    def words(self) -> str:
        """The rate drawn towards the others with its interval and the raw one, or that alone."""
        if self.pooled is None:
            return self.rate
        return f"{share_words(*self.pooled)} (raw {self.rate})"


def p_of_extreme(own: Container[str], shares: Mapping[str, float], groups: Groups) -> float:
    """How likely chance alone is to set cases apart from the others.

    Args:
        shares: For each case, in the group or not, how often it passed, from 0 to 1.
        groups: What cases belong to, of those that do not stand alone.
    """
    inside = [each for each in shares.items() if each[0] in own]
    outside = [each for each in shares.items() if each[0] not in own]
    group, others = ([fmean(each) for each in together(part, groups)] for part in (inside, outside))
    return group_p(group, others)


def worth_of_extremes(number: str, entries: Sequence[Entry], of: str = "cases") -> str:
    """Which of the groups say more than the extremes of so many do by chance; empty for a single one.

    Args:
        number: How many of what there are, in words.
        entries: The groups that have a rate.
        of: What the groups are of, in words.
    """
    if len(entries) < 2:
        return ""
    out = sorted((one for one in entries if one.q <= LEVEL), key=lambda one: (one.q, one.name))
    if not out:
        return f"{number}: none differs by more than chance ({METHOD})"
    listed = "; ".join(
        f"{one.name} at {one.words}, q {'< 0.001' if one.q < 0.001 else f'= {one.q:.3f}'}"
        for one in out[:NAMED]
    )
    more = f" and {len(out) - NAMED:,} more" if len(out) > NAMED else ""
    stand = "stands" if len(out) == 1 else "stand"
    return f"{number}: {len(out):,} {stand} out from the other {of} ({METHOD}): {listed}{more}"
