"""Pass rates of the cases of each tag, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from evenhand.analysis.summaries.clusters import Groups, clusters_among
from evenhand.analysis.summaries.marks import TAGS
from evenhand.analysis.summaries.rates import Rate, share_in, share_row
from evenhand.analysis.summaries.share_rows import High, Low, PassRate, PassRateLeast, PassRateMost
from evenhand.analysis.summaries.standouts import p_of_extreme
from evenhand.core.document import Key
from evenhand.core.json_shapes import is_array
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.variant import RunVariant
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.tallies import Tally, counted
from evenhand.store.decoding import MeasuredTrial
from evenhand.store.encoding import written_case
from evenhand.store.measured import measured_trials
from evenhand.store.runfile import RunFile

MOST_TRIALS = 200_000


def slices(run: RunFile) -> dict[str, list[Rate]]:
    """For each tag the pass rate of its cases in each column that has some. Each case counts once in each of its tags.

    Tags that all cases have say nothing, and are left out; so is everything of a run too large to look through.
    """
    return {tag: [one.rate for one in each] for tag, each in tested_slices(run).items()}


class Slice(Record, frozen=True):
    """The cases of a tag in a column.

    Attributes:
        rate: Their pass rate.
        q: The p-value that they are like the cases without the tag, corrected for the number of slices; see
            `group_p` and `benjamini_hochberg`.
    """

    rate: Rate
    q: float


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


def tested_slices(run: RunFile) -> dict[str, list[Slice]]:
    """The slices of a run by tag: a tag's cases in a column, held against the column's other cases."""
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
    for (tag, rate), q in zip(rates, benjamini_hochberg(ps), strict=True):
        by_tag.setdefault(tag, []).append(Slice(rate, q))
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
    variants = run.meta.variants
    return [
        RunSlice(
            tag=tag,
            variant=variants[rate.variant].names,
            passed=rate.passed,
            trials=rate.trials,
            errors=rate.errors,
            cases=rate.cases,
            q=q,
            **share_row(rate.share),
        )
        for tag, each in tested_slices(run).items()
        for one in each
        for rate, q in [(one.rate, one.q)]
    ]


def _tags(trial: MeasuredTrial) -> list[str]:
    tags = trial.metadata.get("tags")
    if not is_array(tags):
        return []
    return [tag for tag in dict.fromkeys(tags) if isinstance(tag, str)]
