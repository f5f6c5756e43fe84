"""Metrics over the cases of a run: n, mean, interval, spread, extremes, and what is in no mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import field

from evenhand.analysis.summaries.clusters import Groups, sums_in
from evenhand.analysis.summaries.frames import Kinds
from evenhand.analysis.summaries.rates import known_scale, mean_of
from evenhand.core.document import Key, filled
from evenhand.core.json_shapes import as_array
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import TrialResult
from evenhand.core.score import SHARES, unknown
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile
from evenhand.store.sums import CaseSum

OVERALL = "overall"
SUMMARIES: Kinds = {
    "tag": "text",
    "metric": "text",
    "n": "whole",
    "mean": "number",
    "low": "number",
    "high": "number",
    "sd": "number",
    "least": "number",
    "most": "number",
    "not_applicable": "whole",
    "errors": "whole",
    "failed": "whole",
}
"""The columns of `summary_rows`."""


class Summary(Record, frozen=True, kw_only=True):
    """One metric over all cases that it has a number for.

    Attributes:
        metric: Its name; `overall` for the weighted mean of each case.
        n: How many cases have a number.
        mean: Their mean, in which each cluster counts once where cases belong together; None for none.
        low: The lower end of its 95 % interval: see `mean_of`. Cases in error may have had any number that there can
            be. None where nobody knows: numbers without ends of fewer than five cases, or all alike.
        sd: The standard deviation of the cases, n − 1 below; None for fewer than two.
        least: The lowest number.
        not_applicable: Cases to which it did not apply. They are in no mean.
        errors: Cases of which it is not known. Neither are they.
        failed: Cases that missed their bound.
    """

    metric: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    sd: float | None
    least: float | None
    most: float | None
    not_applicable: int
    errors: int
    failed: int


class RunMetric(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a metric."""

    tag: Annotated[str | None, Key("the cases with this tag", null="over all cases")]
    metric: Annotated[str, Key("its name; `overall` for the weighted mean of each case")]
    n: Annotated[int, Key("with a number", "cases")]
    mean: Annotated[float | None, Key("", "the metric's", null="no case has a number")]
    low: Annotated[
        float | None, Key("the lower end of the 95 % interval", "the metric's", null="not known")
    ]
    high: Annotated[float | None, Key("the upper end", "the metric's", null="not known")]
    sd: Annotated[
        float | None,
        Key("the standard deviation, n − 1 below", "the metric's", null="fewer than two cases"),
    ]
    least: Annotated[float | None, Key("the lowest", "the metric's", null="no case has a number")]
    most: Annotated[float | None, Key("the highest", "the metric's", null="no case has a number")]
    not_applicable: Annotated[int, Key("in no mean", "cases")]
    errors: Annotated[int, Key("in no mean", "cases")]
    failed: Annotated[int, Key("that missed their bound", "cases")]


class _MetricValues(MutableRecord, kw_only=True):
    """One metric's numbers as they come."""

    counted: bool
    groups: Groups
    values: list[float] = field(default_factory=list[float])
    cases: list[str] = field(default_factory=list[str])
    in_error: list[str] = field(default_factory=list[str])
    not_applicable: int = 0
    failed: int = 0

    def add(self, case: str, value: float | None, *, error: bool) -> None:
        if value is not None:
            self.values.append(value)
            self.cases.append(case)
        if error:
            self.in_error.append(case)

    def summed(self, metric: str) -> Summary:
        values = self.values
        n = len(values)
        mean = math.fsum(values) / n if n else None
        sd = low = high = None
        if mean is not None and n > 1:
            sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
        least, most = (min(values), max(values)) if values else (None, None)
        if least is not None and most is not None:
            scale = known_scale(SHARES, least, most) if self.counted else None
            sums: list[tuple[str, CaseSum]] = [
                (c, (v, 1, 0)) for c, v in zip(self.cases, values, strict=True)
            ]
            sums += [(case, (0.0, 0, 1)) for case in self.in_error]
            if estimate := mean_of(sums_in(sums, self.groups), scale):
                mean = estimate.value if self.groups else mean
                low, high = estimate.low, estimate.high
        return Summary(
            metric=metric,
            n=n,
            mean=mean,
            low=low,
            high=high,
            sd=sd,
            least=least,
            most=most,
            not_applicable=self.not_applicable,
            errors=len(self.in_error),
            failed=self.failed,
        )


class _Together(MutableRecord):
    """All metrics over the cases that are added, and `overall`."""

    metrics: dict[str, _MetricValues]

    @staticmethod
    def of(run: RunFile) -> _Together:
        """Nothing yet of what a run measures."""
        groups = run.groups()[0]
        counted = {one["name"]: one["counted"] for one in described(run)}
        return _Together(
            {
                name: _MetricValues(counted=is_, groups=groups)
                for name, is_ in {**counted, OVERALL: True}.items()
            }
        )

    def add(self, trial: TrialResult) -> None:
        together, case = self.metrics[OVERALL], written_case(trial.case)
        # A trial that missed a bound while another metric was in error has no overall number either.
        error = trial.score is None and (
            trial.outcome == "error" or any(unknown(o.outcome, o.score) for o in trial.outcomes)
        )
        together.add(case, trial.score, error=error)
        together.not_applicable += trial.score is None and not error
        together.failed += trial.outcome == "fail"
        for outcome in trial.outcomes:
            one = self.metrics.get(outcome.name)
            if one is None:
                continue
            one.add(case, outcome.score, error=outcome.outcome == "error")
            one.not_applicable += outcome.outcome == "not_applicable"
            one.failed += outcome.outcome == "fail"
        if trial.error is not None and not trial.outcomes:  # the pipeline came to nothing
            for name, one in self.metrics.items():
                if name != OVERALL:
                    one.in_error.append(case)

    def summaries(self) -> list[Summary]:
        return [one.summed(name) for name, one in self.metrics.items()]


def summaries_of(run: RunFile) -> list[Summary]:
    """Each metric over all cases of a run of `score` or `score_batch`, and `overall` at the end."""
    together = _Together.of(run)
    for trial in run.trials():
        together.add(trial)
    return together.summaries()


def summaries_by_tag(run: RunFile) -> dict[str, list[Summary]]:
    """For each tag, the metrics over its cases. A case counts under each of its tags; one without, under ''.

    Empty where no case has a tag: '' would only repeat what holds for all.
    """
    tags: dict[str, _Together] = {}
    for trial in run.trials():
        for tag in dict.fromkeys(_tags(trial)):
            if tag not in tags:
                tags[tag] = _Together.of(run)
            tags[tag].add(trial)
    return {tag: tags[tag].summaries() for tag in sorted(tags)} if tags.keys() - {""} else {}


def summary_rows(run: RunFile) -> list[RunMetric]:
    """Each metric, and each of each tag, in the keys of the run's document; `tag` is None over all cases."""
    slices: dict[str | None, list[Summary]] = {None: summaries_of(run), **summaries_by_tag(run)}
    return [
        filled(RunMetric, one, tag=tag) for tag, summaries in slices.items() for one in summaries
    ]


def described(run: RunFile) -> list[dict[str, Any]]:
    """What a run of `score` or `score_batch` keeps of its metrics: name, best, counted. Empty for any other run."""
    metrics = run.meta.config.get("metrics")
    rows = as_array(metrics)
    return [one for one in rows if isinstance(one, dict) and {"name", "best", "counted"} <= {*one}]


def _tags(trial: TrialResult) -> Sequence[str]:
    tags = trial.metadata.get("tags") or [""]
    return [str(tag) for tag in tags] if isinstance(tags, list) else [str(tags)]
