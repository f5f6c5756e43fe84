"""What a run came to in each of its measures, column by column: a point for each in the charts over several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evenhand.report.column_names import column_names
from evenhand.report.means import Mean, known_scale, mean_of
from evenhand.report.rates import latencies, rates, scores
from evenhand.report.run_changes import RunChange, changes, evidence_of
from evenhand.store.decoding import read_named_scores
from evenhand.store.measured import MetricSums
from evenhand.store.runfile import RunFile
from evenhand.viewer.shapes import Interval

MOST = 200_000
"""Trials of a run whose metrics are read: they stand in the results only, of which 100,000 take two seconds."""


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """One column: its name, what it passed of, and the mean over cases of each number that it has.

    Errors leave the pass rate between `least` and `most`; both are None where nothing has a verdict. With `partial`,
    the run has more than MOST trials, and its metrics were not read; pass rate, score and latency are there.
    """

    name: str
    least: float | None
    most: float | None
    low: float | None
    high: float | None
    means: Mapping[str, Interval]
    partial: bool


def measures(run: RunFile) -> list[MeasuredColumn]:
    """Each column's measures, in the order of the columns. Metrics begin with `~`.

    Raises:
        StoreError: The file cannot be read.
    """
    partial = run.settled() > MOST
    metrics = [{} for _ in run.meta.variants] if partial else _metrics(run)
    columns: list[MeasuredColumn] = []
    for name, rate, score, latency, named in zip(
        column_names(run.meta.variants),
        rates(run),
        scores(run),
        latencies(run),
        metrics,
        strict=True,
    ):
        share = rate.share
        means = {"score": score, "latency": _never_negative(latency), **named}
        columns.append(
            MeasuredColumn(
                name or run.meta.title,
                share and share.least,
                share and share.most,
                share and share.low,
                share and share.high,
                {
                    measure: Interval(mean.value, mean.low, mean.high, mean.cases)
                    for measure, mean in means.items()
                    if mean is not None
                },
                partial,
            )
        )
    return columns


def changes_since(run: RunFile, before: RunFile) -> list[RunChange]:
    """What is otherwise in a run than in an earlier one, as `evenhand history` marks it.

    Raises:
        StoreError: A file cannot be read.
    """
    return changes(evidence_of(before), evidence_of(run))


def _never_negative(mean: Mean | None) -> Mean | None:
    """A mean of times: its interval begins at 0 at the least."""
    return mean and replace(mean, low=None if mean.low is None else max(0.0, mean.low))


def _metrics(run: RunFile) -> list[dict[str, Mean | None]]:
    """For each column the mean of each metric. A trial in error may have come to anything in those that it lacks."""
    columns: Sequence[dict[str, MetricSums]] = [{} for _ in run.meta.variants]
    errors: list[tuple[str, int, frozenset[str]]] = []
    for trial in map(read_named_scores, run.results()):
        column = columns[trial.variant]
        for name, value in trial.named_scores.items():
            measured = column.get(name)
            if measured is None:
                measured = column[name] = MetricSums()
            measured.add(trial.case, value)
        if trial.outcome == "error":
            errors.append((trial.case, trial.variant, frozenset(trial.named_scores)))
    for case, variant, there in errors:  # once it is known which metrics there are
        for name, measured in columns[variant].items():
            if name not in there:
                measured.add(case, None)
    scales = run.scales()
    return [
        {
            f"~{name}": mean_of(
                of.cases.values(), known_scale(scales.get((variant, name)), of.least, of.most)
            )
            for name, of in column.items()
        }
        for variant, column in enumerate(columns)
    ]
