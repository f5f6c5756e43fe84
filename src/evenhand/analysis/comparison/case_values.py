"""What each case of a column came to in each metric: what a comparison looks at."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from evenhand.analysis.comparison.case_judges import (
    AskedJudges,
    CaseJudges,
    judges_asked,
    judges_of,
)
from evenhand.analysis.comparison.case_tests import CaseTests
from evenhand.analysis.summaries.metrics import described
from evenhand.core.json_shapes import is_mapping
from evenhand.core.numbered import NumberedTexts, PackedTexts
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.score import SHARES, Outcome, Scale, mean_by_weight, unknown
from evenhand.core.wording.words import clip, safe
from evenhand.stats.tallies import OpenNumber
from evenhand.store.groups import cluster_in, copies_among, number_of, shared
from evenhand.store.measured import LOWER, FurtherNumbers
from evenhand.store.runfile import RunFile

PASSED = "passed"
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


_VALUE, _ERROR, _OTHER = range(3)


class Measured:
    """One metric of a column: what each of its cases came to, by the case's place in the column.

    Trials come in any order. They are arranged by case when the first case is asked for; from then on none is added.
    """

    def __init__(self) -> None:
        self._places: array[int] | None = None
        """Each trial's case; None as long as they are the first case, the second and so on, each with one trial."""
        self._values: array[Any] = array("B")
        """Bytes as long as all are 0 or 1, as in pass rates."""
        self._states = array("B")
        self._starts: Sequence[int] = ()

    def add(self, place: int, value: float | str) -> None:
        """One trial's: a number, `error` or `not_applicable`."""
        state = _ERROR if value == "error" else _OTHER if isinstance(value, str) else _VALUE
        # The first trial out of order: from here on each one's case has to be written down.
        if self._places is None and place != len(self._values):
            self._places = array("I", range(len(self._values)))
        if self._places is not None:
            self._places.append(place)
        if isinstance(value, str):
            self._values.append(0)
        elif self._values.typecode == "d":
            self._values.append(value)
        elif value in SHARES:
            self._values.append(int(value))
        else:
            # The first value that is neither 0 nor 1 widens all before it, once.
            self._values = array("d", self._values)
            self._values.append(value)
        self._states.append(state)

    def of(self, place: int) -> Values:
        """What the case at this place came to."""
        starts = self._starts or self._arranged()
        # A case that came after the last value: this metric was not measured in it.
        if place + 1 >= len(starts):
            return Values()
        first, end = starts[place], starts[place + 1]
        # By far the most common: no repeats, no error.
        if end - first == 1 and self._states[first] == _VALUE:
            return Values([float(self._values[first])])
        states = self._states[first:end]
        return Values(
            [float(self._values[first + i]) for i, state in enumerate(states) if state == _VALUE],
            states.count(_ERROR),
            states.count(_OTHER),
        )

    @property
    def in_error(self) -> bool:
        """Whether some trial is in error."""
        return _ERROR in self._states

    def values(self) -> Iterator[float]:
        """All numbers, trial by trial."""
        return (float(v) for v, s in zip(self._values, self._states, strict=True) if s == _VALUE)

    def _arranged(self) -> Sequence[int]:
        """Where each case's trials begin, after they were put behind one another."""
        places, last = self._places, -1
        if places is None:
            self._starts = range(len(self._values) + 1)
            return self._starts
        # A counting sort: places are small numbers, and it is stable, so repeats keep their order.
        counts = array("I", bytes(4 * (max(places) + 2)))
        together = True
        for place in places:
            counts[place + 1] += 1
            together = together and place >= last
            last = place
        self._starts = starts = array("I", accumulate(counts))
        if not together:
            values, states = self._values[:], self._states[:]
            free = starts[:]
            for i, place in enumerate(places):
                values[free[place]], states[free[place]] = self._values[i], self._states[i]
                free[place] += 1
            self._values, self._states = values, states
        self._places = array("I")
        return starts


class CaseIds(NumberedTexts):
    """The ids of cases, each with its line for people."""

    def __init__(self) -> None:
        super().__init__()
        self._names = PackedTexts()
        """Empty where a case's name is its id."""

    def named(self, case: str, name: str) -> int:
        """The number of the case with this id. Its first name is kept."""
        number = self.number(case)
        if number == len(self._names):
            self._names.add("" if name == case else name)
        return number

    def name(self, number: int) -> str:
        """A case's line for people, as it was first met."""
        return self._names[number] or self[number]


class ColumnCases:
    """The cases of a column, in the order in which they were met.

    Args:
        ids: Numbers them, together with those of what it is compared with.
    """

    def __init__(self, ids: CaseIds) -> None:
        self.ids = ids
        self._numbers = array("I")
        self._places = array("I")
        """By number one more than the case's place; 0 where it is not in the column."""
        self._names: dict[int, str] = {}
        """Where the column calls a case otherwise than the first column that has it."""

    def place(self, case: str, name: str) -> int:
        """The place of the case with this id; a new one is put behind the others."""
        number = self.ids.named(case, name)
        if number >= len(self._places):
            self._places.frombytes(bytes(4 * (number + 1 - len(self._places))))
        if not self._places[number]:
            self._numbers.append(number)
            self._places[number] = len(self._numbers)
            if self.ids.name(number) != name:
                self._names[number] = name
        return self._places[number] - 1

    def place_of(self, number: int) -> int:
        """The place of a case that is in the column."""
        return self._places[number] - 1

    def name(self, number: int) -> str:
        """A case's line for people."""
        return self._names.get(number) or self.ids.name(number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._places) and self._places[number] > 0

    def meets(self, other: ColumnCases) -> bool:
        """Whether the two have a case in common."""
        return any(number in other for number in self)


@dataclass(kw_only=True)
class Seen:
    """A column's trials, as far as a comparison looks at them.

    Attributes:
        metrics: For each metric what each case came to.
        clusters: What each case belongs to, of those that do not stand alone: by a variable or its metadata, or as a
            copy.
        clustered: Whether a variable or its metadata says of some case what it belongs to.
        labels: Everything that could be compared, by name.
        bounded: For each metric which bounds there were: `least`, `most`.
        scales: For each metric the lowest and the highest value there can be, as far as scorers say so.
        lower: Metrics of which the run itself says that less is better.
        judges: For each metric the judges, with the versions of what they were told.
        keys: The names of the cases' variables and metadata.
        tests: What the cases say and are asked.
    """

    cases: ColumnCases
    metrics: dict[str, Measured] = field(default_factory=dict[str, Measured])
    clusters: dict[int, int] = field(default_factory=dict[int, int])
    clustered: bool = False
    labels: dict[str, None] = field(default_factory=dict[str, None])
    bounded: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    judges: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    lower: frozenset[str] = frozenset()
    scales: Mapping[str, Scale] = field(default_factory=dict[str, Scale])
    keys: set[str] = field(default_factory=set[str])
    tests: CaseTests = field(default_factory=CaseTests)
    judged_by: CaseJudges = field(default_factory=CaseJudges)

    @property
    def copies(self) -> int:
        """How many cases say the same as one before them, under another id."""
        return copies_among(self.clusters.values())

    def value(self, metric: str, number: int) -> Values:
        """What a case of the column came to in a metric that it has."""
        return self.metrics[metric].of(self.cases.place_of(number))

    def fail(self, place: int, measured: Collection[str]) -> None:
        """A trial of the case at this place is in error, and with it every metric but those that it measured."""
        for metric, values in self.metrics.items():
            if metric not in measured:
                values.add(place, "error")

    def fail_late(self, errors: Iterable[tuple[int, int]], further: FurtherNumbers[int]) -> None:
        """Adds the errors of metrics that weren't known yet when a trial was read.

        Args:
            errors: Of each trial in error its place, and how many metrics were known. Those that a later trial was the
                first to have are in error, too.
            further: The other trials.
        """
        metrics = list(self.metrics.items())
        for place, known in errors:
            for _, values in metrics[known:]:
                values.add(place, "error")
        for metric, values in metrics:
            for place, value in further.late(metric):
                values.add(place, "error" if value is None else value)

    def bounds(self, metric: str) -> frozenset[str]:
        """Which bounds there were on a metric: `least`, `most`. Of some, the run says itself that less is better."""
        if metric in LOWER or metric in self.lower:
            return frozenset({"most"})
        return frozenset(self.bounded.get(metric, ()))

    def find(self, metric: str, case: str) -> Values | None:
        """What the case with this id came to; None where it has nothing of the kind."""
        number = self.cases.ids.find(case)
        if number not in self.cases or metric not in self.metrics:
            return None
        values = self.value(metric, number)
        return values if values.n or values.other else None


def read(
    run: RunFile,
    columns: Collection[int],
    metrics: Sequence[str],
    cluster: str,
    ids: CaseIds,
    names: Mapping[str, str] | None = None,
    *,
    more: Sequence[TrialResult] = (),
) -> dict[int, Seen]:
    """What the trials of these columns came to.

    Args:
        run: The run, read once.
        columns: Which.
        metrics: The metrics; with none, whether trials passed and everything that was counted under a name.
        cluster: The variable, or key of the metadata, that says what belongs together; empty for that of the run's
            sets.
        ids: Numbers the cases, those of both that are compared.
        names: Other ids for some cases: what the run that it is compared with calls them.
        more: Trials of earlier runs of the same system, with the variants of this one: further repeats.
    """
    clusters = {column: cluster or run.meta.variants[column].cluster for column in columns}
    counted = dict.fromkeys(_counted(run), SHARES)
    scales = {(column, name): scale for column in columns for name, scale in counted.items()}
    trials: Iterable[TrialResult] = run.trials() if not more else chain(run.trials(), more)
    if names:
        trials = (replace(one, case=names.get(one.case, one.case)) for one in trials)
    return read_trials(
        trials,
        columns,
        metrics,
        clusters,
        ids=ids,
        scales={**scales, **run.scales()},
        lower=_lower(run),
        imported=recorder_of(run.meta),
        judges=judges_asked(run),
    )


def recorder_of(meta: RunMeta) -> str:
    """The program that recorded an imported run; empty for ours."""
    imported = meta.settings.get("imported")
    if not is_mapping(imported):
        return ""
    name = imported.get("from")
    # Whatever made the traces.
    return str(name) if name and name != "traces" else "another program"


def read_trials(
    trials: Iterable[TrialResult],
    columns: Collection[int],
    metrics: Sequence[str] = (),
    clusters: Mapping[int, str] | None = None,
    *,
    ids: CaseIds,
    scales: Scales,
    lower: frozenset[str] = frozenset(),
    imported: str = "",
    judges: AskedJudges | None = None,
) -> dict[int, Seen]:
    """What each column's cases came to, read from trials of any source.

    Args:
        trials: In any order; those of other columns are passed over.
        metrics: The metrics; see `read`.
        clusters: For each column the variable, or key of the metadata, that says what belongs together; without it,
            copies alone do.
        ids: Numbers the cases, those of both that are compared.
        scales: As far as scorers say so.
        lower: Metrics of which less is better, whatever their bounds.
        imported: The program that recorded them; empty for ours.
        judges: What its judges were asked by, as far as that is known.
    """
    sides = {
        column: Seen(
            cases=ColumnCases(ids),
            lower=lower,
            tests=CaseTests(imported=imported),
            judged_by=CaseJudges(judges),
            scales={
                metric or "score": scale
                for (variant, metric), scale in scales.items()
                if variant == column
            },
        )
        for column in columns
    }
    keys = {column: (clusters or {}).get(column, "") for column in columns}
    groups = {column: array("Q") for column in columns}
    """For each case, by its place in the column, a number of what it belongs to; 0 where nothing is known."""
    in_error = {column: (array("I"), array("I")) for column in columns}
    """Where trials are in error, and how many metrics of the column were known then."""
    further = {column: FurtherNumbers[int]() for column in columns}
    for trial in trials:
        side = sides.get(trial.variant)
        if side is None:
            continue
        place = side.cases.place(trial.case, trial.description or trial.case)
        side.tests.add(place, trial)
        side.judged_by.add(place, trial)
        key, of_cases = keys[trial.variant], groups[trial.variant]
        # The first trial of the case: later repeats say the same of what it belongs to.
        if place == len(of_cases):
            if key:
                side.keys.update(trial.metadata)
                side.keys.update(trial.vars)
            cluster = cluster_in(key, trial.vars, trial.metadata)
            of_cases.append(number_of(cluster, trial.copy_key))
            side.clustered = side.clustered or bool(cluster)
        by_name = _by_name(trial.outcomes)
        side.labels.update(dict.fromkeys((*trial.named_scores, *by_name)))
        every = (PASSED, *trial.named_scores, *_named(trial.outcomes))
        waiting = further[trial.variant].add(place, trial, trial.named_scores, every)
        for metric in metrics or dict.fromkeys(every):
            if (value := _value(trial, metric, by_name.get(metric, ()))) is not None:
                if metric not in side.metrics:
                    side.metrics[metric] = Measured()
                if metric not in waiting:
                    side.metrics[metric].add(place, value)
            for outcome in trial.outcomes if metric == PASSED else by_name.get(metric, ()):
                _note(side, metric, outcome)
        # What else the column measures is in error, too.
        if not metrics and trial.outcome == "error":
            side.fail(place, every)
            places, known = in_error[trial.variant]
            places.append(place)
            known.append(len(side.metrics))
    for column, numbers in groups.items():
        _group(sides[column], numbers)
    for column, side in sides.items():
        side.fail_late(zip(*in_error[column], strict=True), further[column])
    return sides


def _group(column: Seen, numbers: Sequence[int]) -> None:
    """Says what the cases belong to that do not stand alone, by their numbers in the column's order."""
    if several := shared(numbers):
        cases = zip(column.cases, numbers, strict=True)
        column.clusters.update((case, number) for case, number in cases if number in several)


def _lower(run: RunFile) -> frozenset[str]:
    """The metrics of `score` and `score_batch` of which less is better; other runs say it by their bounds."""
    return frozenset(one["name"] for one in described(run) if one["best"] == "low")


def _counted(run: RunFile) -> frozenset[str]:
    """The metrics of `score` and `score_batch` that are from 0 to 1, and the score that is made of them."""
    metrics = described(run)
    return frozenset([one["name"] for one in metrics if one["counted"]] + ["score"] * bool(metrics))


def _by_name(outcomes: Sequence[Outcome]) -> Mapping[str, Sequence[Outcome]]:
    """The expectations by their metric, and by their label."""
    by_name: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.metric:
            by_name.setdefault(outcome.metric, []).append(outcome)
        if outcome.name and outcome.name != outcome.metric:
            by_name.setdefault(outcome.name, []).append(outcome)
    return by_name


def _named(outcomes: Sequence[Outcome]) -> list[str]:
    """The metrics that have no number in this trial: an error, or what did not apply."""
    return [outcome.metric for outcome in outcomes if outcome.metric and outcome.score is None]


def _value(trial: TrialResult, metric: str, outcomes: Sequence[Outcome]) -> float | str | None:
    """What a trial came to: a number, `error`, `not_applicable`, or None where it was not measured."""
    if metric == PASSED:
        return (
            float(trial.outcome == "pass") if trial.outcome in ("pass", "fail") else trial.outcome
        )
    if trial.outcome == "error" and not outcomes and metric not in trial.named_scores:
        return "error"
    if metric in BUILT_IN and not outcomes:
        value = {"score": trial.score, "latency": trial.latency_s, "cost": trial.full_cost_usd}[
            metric
        ]
        if value is None and metric == "score" and _open(trial.outcomes):
            return "error"
        return value if value is not None else "not_applicable"
    if _open(outcomes):
        return "error"  # a mean over what is left would be of other questions
    if metric in trial.named_scores:
        return float(trial.named_scores[metric])
    scores = [(outcome.score, outcome.weight) for outcome in outcomes if outcome.score is not None]
    return mean_by_weight(scores) if scores else "not_applicable" if outcomes else None


def _open(outcomes: Iterable[Outcome]) -> bool:
    return any(unknown(outcome.outcome, outcome.score) for outcome in outcomes)


def _note(column: Seen, metric: str, outcome: Outcome) -> None:
    for judge in judges_of(outcome) if outcome.metadata else ():
        column.judges.setdefault(metric, set()).add(clip(safe(judge), 80))
    if metric != PASSED:
        bounds = column.bounded.setdefault(metric, set())
        if outcome.at_least is not None:
            bounds.add("least")
        if outcome.at_most is not None:
            bounds.add("most")
