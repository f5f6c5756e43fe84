"""What each case of a column came to in each metric: what a comparison looks at."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from evenhand.core.encoding import encode
from evenhand.core.run import TrialResult
from evenhand.core.score import SHARES, Outcome, Scale
from evenhand.report.summaries import described
from evenhand.report.words import clip, safe
from evenhand.stats.tallies import OpenNumber
from evenhand.store.runfile import RunFile

PASSED = "passed"
LOWER = frozenset({"latency", "cost"})
BUILT_IN = (PASSED, "score", *sorted(LOWER))

Scales = Mapping[tuple[int, str], Scale]
"""By variant and metric the lowest and the highest value there can be; the metric of trials' own scores is empty."""


@dataclass(slots=True)
class Values:
    """What one case came to in one metric, over its repeats."""

    values: list[float] = field(default_factory=list[float])
    errors: int = 0
    other: int = 0

    @property
    def n(self) -> int:
        """How many repeats have a value or are in error."""
        return len(self.values) + self.errors

    def mean(self, scale: OpenNumber | None) -> OpenNumber | None:
        """The mean over those repeats, an error having any value of the scale; None where nothing is known.

        Args:
            scale: The lowest and the highest value that an error may have had; None where nobody knows.
        """
        if not self.errors:
            if not self.values:
                return None
            mean = self.values[0] if len(self.values) == 1 else fmean(self.values)
            return OpenNumber(mean, mean)
        if scale is None:
            return None
        total = math.fsum(self.values)
        least, most = ((total + self.errors * end) / self.n for end in scale)
        return OpenNumber(least, most)


@dataclass
class Seen:
    """A column's trials, as far as a comparison looks at them.

    Attributes:
        metrics: For each metric the cases, by id.
        names: The cases' lines for people.
        clusters: What each case belongs to; missing where its metadata does not say.
        labels: Everything that could be compared, by name.
        bounded: For each metric which bounds there were: `least`, `most`.
        scales: For each metric the lowest and the highest value there can be, as far as scorers say so.
        lower: Metrics of which the run itself says that less is better.
        judges: For each metric the judges, with the versions of what they were told.
        keys: The metadata that cases have.
    """

    metrics: dict[str, dict[str, Values]] = field(default_factory=dict[str, dict[str, Values]])
    names: dict[str, str] = field(default_factory=dict[str, str])
    clusters: dict[str, bytes] = field(default_factory=dict[str, bytes])
    labels: dict[str, None] = field(default_factory=dict[str, None])
    bounded: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    judges: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    lower: frozenset[str] = frozenset()
    scales: Mapping[str, Scale] = field(default_factory=dict[str, Scale])
    keys: set[str] = field(default_factory=set[str])


def read(
    run: RunFile, columns: Collection[int], wanted: Sequence[str], cluster: str
) -> dict[int, Seen]:
    """What the trials of these columns came to.

    Args:
        run: The run, read once.
        columns: Which.
        wanted: The metrics; with none, whether trials passed and everything that was counted under a name.
        cluster: The key of the metadata that says what belongs together; empty for none.
    """
    counted = dict.fromkeys(_counted(run), SHARES)
    scales = {(column, name): scale for column in columns for name, scale in counted.items()}
    return read_trials(
        run.trials(), columns, wanted, cluster, scales={**scales, **run.scales()}, lower=_lower(run)
    )


def read_trials(
    trials: Iterable[TrialResult],
    columns: Collection[int],
    wanted: Sequence[str] = (),
    cluster: str = "",
    *,
    scales: Scales,
    lower: frozenset[str] = frozenset(),
) -> dict[int, Seen]:
    """The same of trials, wherever they come from.

    Args:
        trials: In any order; those of other columns are passed over.
        columns: Which.
        wanted: The metrics; see `read`.
        cluster: The key of the metadata that says what belongs together; empty for none.
        scales: As far as scorers say so.
        lower: Metrics of which less is better, whatever their bounds.
    """
    seen = {
        column: Seen(
            lower=lower,
            scales={
                metric or "score": scale
                for (variant, metric), scale in scales.items()
                if variant == column
            },
        )
        for column in columns
    }
    broken: list[tuple[int, str, Collection[str]]] = []
    for trial in trials:
        side = seen.get(trial.variant)
        if side is None:
            continue
        asked = _asked(trial.outcomes)
        side.labels.update(dict.fromkeys((*trial.named_scores, *asked)))
        every = (PASSED, *trial.named_scores, *_named(trial.outcomes))
        if not wanted and trial.outcome == "error":
            broken.append((trial.variant, trial.case, every))
        for metric in wanted or dict.fromkeys(every):
            value = _value(trial, metric, asked.get(metric, ()))
            if value is not None:
                cases = side.metrics.setdefault(metric, {})
                values = cases.get(trial.case)
                if values is None:
                    values = cases[trial.case] = Values()
                _count(values, value)
            for outcome in trial.outcomes if metric == PASSED else asked.get(metric, ()):
                _note(side, metric, outcome)
        side.names.setdefault(trial.case, trial.description or trial.case)
        if cluster:
            side.keys.update(trial.metadata)
            if trial.metadata.get(cluster) is not None:
                side.clusters.setdefault(trial.case, encode(trial.metadata[cluster]))
    for column, case, measured in broken:  # what else the column measures is in error, too
        for metric, cases in seen[column].metrics.items():
            if metric not in measured:
                cases.setdefault(case, Values()).errors += 1
    return seen


def _lower(run: RunFile) -> frozenset[str]:
    """The metrics of `score` and `score_batch` of which less is better; other runs say it by their bounds."""
    return frozenset(one["name"] for one in described(run) if one["best"] == "low")


def _counted(run: RunFile) -> frozenset[str]:
    """The metrics of `score` and `score_batch` that are from 0 to 1, and the score that is made of them."""
    metrics = described(run)
    return frozenset([one["name"] for one in metrics if one["counted"]] + ["score"] * bool(metrics))


def _asked(outcomes: Sequence[Outcome]) -> Mapping[str, Sequence[Outcome]]:
    """The expectations by their metric, and by their label."""
    by_name: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        for name in {outcome.metric, outcome.name} - {""}:
            by_name.setdefault(name, []).append(outcome)
    return by_name


def _named(outcomes: Sequence[Outcome]) -> list[str]:
    """The metrics that have no number in this trial: an error, or what did not apply."""
    return [outcome.metric for outcome in outcomes if outcome.metric and outcome.score is None]


def _value(trial: TrialResult, metric: str, asked: Sequence[Outcome]) -> float | str | None:
    """What a trial came to: a number, `error`, `not_applicable`, or None where it was not measured."""
    if metric == PASSED:
        return (
            float(trial.outcome == "pass") if trial.outcome in ("pass", "fail") else trial.outcome
        )
    if trial.outcome == "error" and not asked and metric not in trial.named_scores:
        return "error"
    if metric in BUILT_IN and not asked:
        value = {"score": trial.score, "latency": trial.latency_s, "cost": trial.cost_usd}[metric]
        return value if value is not None else "not_applicable"
    if any(outcome.outcome == "error" for outcome in asked):
        return "error"  # a mean over what is left would be of other questions
    if metric in trial.named_scores:
        return float(trial.named_scores[metric])
    scores = [outcome.score for outcome in asked if outcome.score is not None]
    return fmean(scores) if scores else "not_applicable" if asked else None


def _count(values: Values, value: float | str) -> None:
    if isinstance(value, float | int):
        values.values.append(value)
    elif value == "error":
        values.errors += 1
    else:
        values.other += 1


def _note(seen: Seen, metric: str, outcome: Outcome) -> None:
    judge = outcome.metadata.get("judge")
    if judge is not None:
        version = outcome.metadata.get("prompt")
        label = f"{judge} ({version})" if version is not None else str(judge)
        seen.judges.setdefault(metric, set()).add(clip(safe(label), 80))
    if metric != PASSED:
        bounds = seen.bounded.setdefault(metric, set())
        if outcome.at_least is not None:
            bounds.add("least")
        if outcome.at_most is not None:
            bounds.add("most")
