"""A run as a whole: what the page paints first, and what takes a look at every trial and comes after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from evenhand.analysis.summaries.grid import Grid, column_names
from evenhand.analysis.summaries.marks import Marked
from evenhand.analysis.summaries.marks import marked as marked_in
from evenhand.analysis.summaries.rates import Mean, known_scale, latencies, rates, scores
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.standings import Standings, standings
from evenhand.core.errors import UsageError
from evenhand.core.run import Totals
from evenhand.core.score import Scale
from evenhand.render.calibration_text import standing, state_of
from evenhand.render.findings import findings
from evenhand.render.run_warnings import warnings
from evenhand.render.standings import standing_notes, standing_sentence
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.drawn_pairs import rankings_of
from evenhand.wings.viewer.listing import FEW, ReadRun, over_all, rate, summary_of, summed
from evenhand.wings.viewer.shapes import (
    ColumnShape,
    Head,
    Interval,
    JudgedShape,
    Notes,
    PlaceShape,
    RateShape,
    RunSummary,
    StandingsShape,
)

COLUMNS = 12
"""Columns whose intervals are worked out for the first paint; those of more take seconds."""


def head(run: RunFile, known: ReadRun | None = None) -> Head:
    """What the first paint needs. Of a run of more than FEW trials or COLUMNS columns the notes are left for later.

    Args:
        run: It.
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
        run: The run.
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
            words=standing(rate),
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
