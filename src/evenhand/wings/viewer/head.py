"""A run as a whole: what the page paints first, and what takes a look at every trial and comes after.

The summary is of the whole run, as the console has it: it is worked out once, and no filter of the page changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Annotated, Any

from evenhand.analysis.summaries.classification import (
    MOST_LABELS,
    MOST_TRIALS,
    LabelMatrix,
    classified,
)
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.marks import Marked
from evenhand.analysis.summaries.marks import marked as marked_in
from evenhand.analysis.summaries.rates import Mean, known_scale, latencies, rates, scores
from evenhand.analysis.summaries.slices import Slice, slices_by_tag
from evenhand.analysis.trust.beside_people import (
    JudgedVerdict,
    every_label,
    judged_verdicts,
    labelled_places,
)
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.ranking_corrections import Standings, standings
from evenhand.analysis.trust.requirements import Held, held
from evenhand.core.document import Key, filled
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED
from evenhand.core.run import Totals
from evenhand.core.score import Scale
from evenhand.render.findings import findings
from evenhand.render.judged_rates import standing as standing_words
from evenhand.render.judged_rates import state_of
from evenhand.render.requirements import (
    bound_words,
    failures_allowed,
    interval_words,
    value_words,
    why,
)
from evenhand.render.run_warnings import warnings
from evenhand.render.standings import standing_notes, standing_sentence
from evenhand.store.labels.label import Label, standing
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.blind_verdicts import rankings_of
from evenhand.wings.viewer.listing import FEW, ReadRun, over_all, rate, summary_of, summed
from evenhand.wings.viewer.shapes import (
    ColumnRate,
    ColumnShape,
    ConfusionMatrix,
    Head,
    Interval,
    JudgedShape,
    LabelRow,
    Notes,
    PlaceShape,
    RateShape,
    RequirementRow,
    RequirementWords,
    RunSummary,
    StandingsShape,
    SummaryShape,
    TagRows,
)

COLUMNS = 12
"""Columns whose intervals are worked out for the first paint; those of more take seconds."""


def head(run: RunFile, known: ReadRun | None = None) -> Head:
    """What the first paint needs. Of a run of more than FEW trials or COLUMNS columns the notes are left for later.

    Args:
        known: What is known of it already. Without it everything is worked out, notes and all, however large it is.
    """
    by_variant = known.by_variant if known else run.by_variant()
    summary = known.summary if known else summary_of(run, summed(by_variant))
    meta = run.meta
    large = summary.totals.trials > FEW or len(meta.variants) > COLUMNS
    unfinished = known is not None and large
    head = Head(
        **{field.name: getattr(summary, field.name) for field in fields(RunSummary)},
        seq=run.growth(),
        message=meta.message,
        pass_rate=meta.pass_rate,
        version=meta.version,
        columns=_columns(run, by_variant),
        config=meta.config,
        settings=meta.settings,
        partial=unfinished,
        narrowed=run.narrowed,
    )
    return head if unfinished else replace(head, **_shallow(notes(run)))


def notes(run: RunFile, marked: Callable[[], Marked] | None = None) -> Notes:
    """Intervals, usage, findings and warnings.

    Args:
        marked: Gives the trials that findings are about, where somebody else reads them all; asked last.
    """
    scales = _scales(run)
    columns = [
        replace(
            column,
            rate=rate(pass_rate.share, pass_rate.cases),
            score=_mean(score),
            latency=_mean(latency),
            scales=scales.get(column.index, {}),
        )
        for column, pass_rate, score, latency in zip(
            _columns(run, run.by_variant()), rates(run), scores(run), latencies(run), strict=True
        )
    ]
    grid = Grid(run)
    where = (marked or partial(marked_in, run))() if run.totals().trials else Marked()
    try:
        ranked = standings(run, where.judged) if where.judged and not run.by_outcome else []
        judges, problems = judged(run), []
    except UsageError as error:  # a damaged calibration is no reason not to show the run
        ranked, judges, problems = [], [], [str(error)]
    sentences = [standing_sentence(one, grid.names) for one in ranked]
    highlights = findings(run, grid, where, ranked=sentences) if run.totals().trials else []
    to_label = [] if run.meta.status == "running" else [pairs.name for pairs in rankings_of(run)]
    return Notes(
        rate=over_all(run),
        columns=columns,
        usage=run.usage(),
        findings=highlights,
        warnings=[*warnings(run), *problems],
        judged=judges,
        rankings=to_label,
        standings=[_ranked(one, grid.names) for one in ranked],
    )


def _ranked(one: Standings, names: Sequence[str]) -> StandingsShape:
    places = [
        PlaceShape(
            place.variant,
            RateShape(place.chance.value, *place.chance, one.cases),
            place.corrected and RateShape(place.corrected.value, *place.corrected, one.cases),
        )
        for place in one.ranked
    ]
    return StandingsShape(one.name, places, one.why, list(standing_notes(one, names)))


def judged(run: RunFile) -> list[JudgedShape]:
    """The judged pass rates, metric by metric; none before the run has ended, as every trial is read for them.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    if run.meta.status == "running":
        return []
    return [
        JudgedShape(
            metric=rate.metric,
            column=rate.variant,
            raw=Interval(*rate.raw, rate.items),
            corrected=rate.corrected and Interval(*rate.corrected, rate.labels),
            status=rate.status,
            trusted=rate.trusted,
            state=state_of(rate),
            words=standing_words(rate),
        )
        for rate in judged_rates(run)
    ]


def _shallow(notes: Notes) -> dict[str, Any]:
    return {field.name: getattr(notes, field.name) for field in fields(notes)}


def _columns(run: RunFile, by_variant: Sequence[Totals]) -> list[ColumnShape]:
    variants = run.meta.variants
    return [
        ColumnShape(
            index=variant.index,
            name=name or run.meta.title,
            prompt=variant.prompt,
            prompt_raw=variant.prompt_raw,
            model=variant.model,
            provider_id=variant.provider_id,
            axes=variant.axes,
            eval=variant.eval,
            where=variant.where,
            totals=totals,
        )
        for variant, name, totals in zip(variants, column_names(variants), by_variant, strict=True)
    ]


def _scales(run: RunFile) -> dict[int, dict[str, Scale]]:
    """By column and metric the lowest and the highest value there can be; of scores, under "", what is known of all."""
    by_column: dict[int, dict[str, Scale]] = {}
    for (variant, metric), scale in run.scales().items():
        by_column.setdefault(variant, {})[metric] = scale
    sums = run.sums()
    for variant in run.meta.variants:
        scales = by_column.setdefault(variant.index, {})
        ends = sums.score_range(variant.index)
        scale = known_scale(scales.pop("", None), *ends) if ends else None
        if scale:
            scales[""] = scale
    return by_column


def _mean(mean: Mean | None) -> Interval | None:
    return mean and Interval(mean.value, mean.low, mean.high, mean.cases)


class LabelsShape(Record, frozen=True, kw_only=True):
    """What people said of a run's trials, and what judges said of those that people judged."""

    labels: Annotated[Sequence[Label], Key("Every event, in the order in which it was given.")]
    judged: Annotated[
        Sequence[JudgedVerdict], Key("Of trials with a person's verdict on a judged metric.")
    ]


def run_labels(run: RunFile) -> LabelsShape:
    """All labels of a run; without any, both lists are empty.

    Raises:
        StoreError: The run cannot be read.
    """
    labels = every_label(run)
    return LabelsShape(
        labels=labels, judged=judged_verdicts(run, labelled_places(standing(labels)))
    )


MOST_TAGS = 200
"""Tags that are sent, in their order; of more, how many there are."""


def summary(run: RunFile) -> SummaryShape:
    """Requirements, tags and labels of a run.

    Raises:
        StoreError: The file cannot be read.
    """
    meta = run.meta
    names = [name or meta.title for name in column_names(meta.variants)]
    if run.by_outcome:
        why_not = (
            "These trials were chosen by their outcomes, so nothing follows from how many passed."
        )
        return SummaryShape(
            requirements=[],
            failures_allowed=False,
            pass_rate=None,
            tags=[],
            more_tags=0,
            labels=[],
            without=why_not,
        )
    tags = slices_by_tag(run)
    return SummaryShape(
        requirements=[_required(one, names) for one in held(run)],
        failures_allowed=failures_allowed(meta.requirements),
        pass_rate=None if meta.requirements else meta.pass_rate,
        tags=[
            TagRows(tag, [_column_rate(one, names[one.rate.variant]) for one in columns])
            for tag, columns in list(tags.items())[:MOST_TAGS]
        ],
        more_tags=max(0, len(tags) - MOST_TAGS),
        labels=[_confusion(one, names[one.variant]) for one in classified(run)],
        without=""
        if run.settled() <= MOST_TRIALS
        else f"Tags and labels are left out of runs of more than {MOST_TRIALS:,} trials.",
    )


def _column_rate(one: Slice, name: str) -> ColumnRate:
    own = one.rate
    return ColumnRate(
        column=name,
        passed=own.passed,
        trials=own.trials,
        rate=rate(own.share, own.cases),
        pooled=rate(one.pooled, own.cases),
    )


def _required(one: Held, names: list[str]) -> RequirementRow:
    required = one.requirement
    return filled(
        RequirementRow,
        one,
        metric=required.metric,
        column=None if one.variant is None else names[one.variant],
        shares=required.metric == PASSED,
        at_least=required.bound.at_least,
        at_most=required.bound.at_most,
        words=RequirementWords(
            value_words(one), interval_words(one), bound_words(required), why(one)
        ),
    )


def _confusion(one: LabelMatrix, name: str) -> ConfusionMatrix:
    labels, answers = one.labels[:MOST_LABELS], one.answers
    hidden = set(one.labels[MOST_LABELS:])
    across = [answer for answer in answers if answer not in hidden]
    return ConfusionMatrix(
        column=name,
        errors=one.errors,
        answers=across,
        labels=[
            LabelRow(
                label,
                [one.matrix[label, answer] for answer in across],
                sum(one.matrix[label, answer] for answer in hidden),
                rate(one.precision[label].share, one.precision[label].cases),
                rate(one.recall[label].share, one.recall[label].cases),
            )
            for label in labels
        ],
        more=len(hidden),
    )
