"""A point for each run in the charts over several runs: what it came to, and what its judges said of canaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from evenhand.analysis.history.run_changes import RunChange, changes, evidence_of
from evenhand.analysis.summaries.clusters import sums_in
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.rates import (
    Mean,
    known_scale,
    latencies,
    mean_in,
    mean_of,
    rates,
    scores,
)
from evenhand.analysis.trust.canaries import beside_earlier, finished_checks
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.run import Totals
from evenhand.core.score import unknown
from evenhand.render.calibration_text import drift_words
from evenhand.stats.correction import Estimate
from evenhand.store.decoding import read_named_scores
from evenhand.store.encoding import written_case
from evenhand.store.measured import CaseMetrics, FurtherNumbers, MetricSums
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.shapes import Interval, MeanShape

MOST = 200_000
"""Trials of a run whose metrics are read: they stand in the results only, of which 100,000 take two seconds."""


class MeasuredColumn(Record, frozen=True, kw_only=True):
    """One column of a run in a chart over several runs: its rate, the mean over cases of each number, and its cost.

    Metrics begin with `~`. The cost, and the cost per passed trial, are sums of the column, and have no interval.
    """

    name: str
    least: Annotated[
        float | None,
        Key("Between these errors leave the pass rate; null where nothing has a verdict."),
    ]
    most: float | None
    low: Annotated[float | None, Key("The ends of its interval.")]
    high: float | None
    means: Mapping[str, MeanShape]
    partial: Annotated[bool, Key("The run is so large that its metrics were not read.")]


class CanaryPoint(Record, frozen=True, kw_only=True):
    """What one judge of a run said of canaries: outputs with a verdict of people's that stay the same."""

    run: str
    metric: str
    judge: str
    right: Annotated[
        Interval | None, Key("The share that it was right on; null where it gave no verdict.")
    ]
    passed: Annotated[
        Interval | None, Key("Its own pass rate in the run; null where that is not known.")
    ]
    words: Annotated[str, Key("Whether the judge drifted, or the system.")]


def measures(run: RunFile) -> list[MeasuredColumn]:
    """Each column's measures, in the order of the columns. Metrics begin with `~`.

    Raises:
        StoreError: The file cannot be read.
    """
    partial = run.settled() > MOST
    metrics = [{} for _ in run.meta.variants] if partial else _metrics(run)
    columns: list[MeasuredColumn] = []
    unread = partial and bool(run.totals().cached)
    costs = [None for _ in metrics] if unread else run.full_costs()
    for name, totals, rate, score, latency, (named, cost) in zip(
        column_names(run.meta.variants),
        run.by_variant(),
        rates(run),
        scores(run),
        latencies(run),
        zip(metrics, costs, strict=True),
        strict=True,
    ):
        share = rate.share
        means = {"score": score, "latency": _never_negative(latency), **named}
        columns.append(
            MeasuredColumn(
                name=name or run.meta.title,
                least=share and share.least,
                most=share and share.most,
                low=share and share.low,
                high=share and share.high,
                means={measure: _shape(mean) for measure, mean in means.items() if mean is not None}
                | _costs(totals, cost),
                partial=partial,
            )
        )
    return columns


def _shape(mean: Mean) -> MeanShape:
    least, most = mean.between
    return MeanShape(least, most, mean.low, mean.high, mean.cases)


def changes_since(run: RunFile, before: RunFile) -> list[RunChange]:
    """What is otherwise in a run than in an earlier one, as `evenhand runs history` marks it.

    Raises:
        StoreError: A file cannot be read.
    """
    return changes(evidence_of(before), evidence_of(run))


def canary_points(files: Iterable[Path]) -> list[CanaryPoint]:
    """What the judges of one config's runs said of its newest canaries: of each run the last check.

    Args:
        files: Checks of canaries of that config. Those that didn't finish, or cannot be read, are left out.
    """
    checks = sorted(finished_checks(files), key=lambda check: check.check)
    same = [check for check in checks if check.digest == checks[-1].digest]
    points: list[CanaryPoint] = []
    for check in {check.run: check for check in same}.values():
        report = beside_earlier(check, same)
        for key, answers in check.answers.items():
            points.append(
                CanaryPoint(
                    run=check.run,
                    metric=answers.metric,
                    judge=answers.model,
                    right=_interval(answers.rate, len(answers.right)),
                    passed=_interval(answers.pass_rate, answers.judged),
                    words=drift_words(report.drift(key), answers),
                )
            )
    return points


def _interval(estimate: Estimate | None, count: int) -> Interval | None:
    return estimate and Interval(estimate.value, estimate.low, estimate.high, count)


def _costs(totals: Totals, cost: float | None) -> dict[str, MeanShape]:
    """What a column cost, and for each trial that passed; nothing where a price is not known.

    Whoever paid: answers from the cache make no variant cheaper.
    """
    n = totals.trials
    if cost is None or not n:
        return {}
    costs = {"cost": MeanShape(cost, cost, None, None, n)}
    if totals.passed:
        each = cost / totals.passed
        costs["cost per pass"] = MeanShape(each, each, None, None, totals.passed)
    return costs


def _never_negative(mean: Mean | None) -> Mean | None:
    """A mean of times: its interval begins at 0 at the least."""
    return mean and replace(mean, low=None if mean.low is None else max(0.0, mean.low))


def _metrics(run: RunFile) -> list[dict[str, Mean | None]]:
    """For each column the mean of each metric. A trial in error may have come to anything in those that it lacks."""
    columns: Sequence[dict[str, MetricSums]] = [{} for _ in run.meta.variants]
    errors: list[tuple[str, int, frozenset[str]]] = []
    further = [FurtherNumbers[str]() for _ in columns]
    cases = CaseMetrics(run.meta.variants)
    for trial in map(read_named_scores, run.results()):
        cases.add(trial.variant, trial.case, trial, trial.named_scores)
        column = columns[trial.variant]
        waiting = further[trial.variant].add(trial.case, trial, trial.named_scores)
        for name, value in trial.named_scores.items():
            measured = column.get(name)
            if measured is None:
                measured = column[name] = MetricSums()
            if name not in waiting:
                measured.add(trial.case, value)
        if trial.outcome == "error":
            errors.append((trial.case, trial.variant, frozenset(trial.named_scores)))
            continue
        in_error = {o.metric for o in trial.outcomes if unknown(o.outcome, o.score)} - {""}
        for name in in_error:
            column.setdefault(name, MetricSums()).add(trial.case, None)
    for case, variant, there in errors:  # once it is known which metrics there are
        for name, measured in columns[variant].items():
            if name not in there and cases.may_have(variant, case, name):
                measured.add(case, None)
    for column, failed in zip(columns, further, strict=True):
        for name, measured in column.items():
            for case, value in failed.late(name):
                measured.add(case, value)
    scales, groups = run.scales(), run.groups()
    return [
        {
            f"~{name}": mean_in(
                run.meta,
                mean_of(
                    sums_in(
                        ((written_case(case), each) for case, each in of.cases.items()),
                        groups[variant],
                    ),
                    known_scale(scales.get((variant, name)), of.least, of.most),
                ),
            )
            for name, of in column.items()
        }
        for variant, column in enumerate(columns)
    ]
