"""What the trials of a run measure: the numbers of its metrics and expectations, summed up for each column and case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import field

from evenhand.core.record import MutableRecord
from evenhand.core.score import Scale, mean_by_weight, unknown
from evenhand.core.variant import Variant
from evenhand.store.decoding import MeasuredTrial, read_measured
from evenhand.store.open_numbers import NumberedOutcome
from evenhand.store.runfile import RunFile
from evenhand.store.sums import CaseSum


def measured_trials(run: RunFile) -> Iterable[MeasuredTrial]:
    """The settled trials of a run in the plan's order, without their texts."""
    return map(read_measured, run.results())


class MetricSums(MutableRecord):
    """One metric in one column.

    Attributes:
        cases: For each case the sum over its trials, how many have a value, and how many are in error.
        scale: The lowest and the highest value there can be; None where some scorer does not say.
        least: The lowest value there is; infinite for none.
        without: How many trials came to an end without measuring it.
        expected: Whether some trial has an expectation that measures it, or was to.
    """

    cases: dict[str, CaseSum] = field(default_factory=dict[str, CaseSum])
    scale: Scale | None = None
    least: float = math.inf
    most: float = -math.inf
    without: int = 0
    expected: bool = False

    @property
    def values(self) -> int:
        """How many trials have a value."""
        return sum(n for _, n, _ in self.cases.values())

    @property
    def errors(self) -> int:
        """How many trials are in error instead."""
        return sum(errors for *_, errors in self.cases.values())

    def add(self, case: str, value: float | None, scale: Scale | None = None) -> None:
        """Adds a trial: its value, or None where it is in error."""
        total, n, errors = self.cases.get(case, (0.0, 0, 0))
        if value is None:
            self.cases[case] = (total, n, errors + 1)
            return
        self.cases[case] = (total + value, n + 1, errors)
        self.least, self.most = min(value, self.least), max(value, self.most)
        if scale is not None:
            low, high = self.scale or scale
            self.scale = min(low, scale[0]), max(high, scale[1])


K = TypeVar("K")


class FurtherNumbers(Generic[K]):
    """Trials of a column with an expectation in error that gives numbers of other names elsewhere.

    Such an expectation gives none when it is in error, and nothing in its trial says that they are missing:
    `Score(…, named=…)` of a scorer that raised. Where another expectation of the trial gives a number of this name,
    that is one part of a mean whose other part is missing.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._in_error: list[tuple[K, frozenset[str] | None, list[str], Mapping[str, float]]] = []

    def add(
        self,
        key: K,
        trial: NumberedTrial,
        numbers: Mapping[str, float | None],
        there: Iterable[str] = (),
    ) -> Mapping[str, float]:
        """Takes a trial, and returns those of its numbers that wait for `late`.

        Args:
            key: What `late` names it by.
            numbers: Its numbers by name.
            there: What it measures beside that, and beside what its expectations are called.
        """
        for one in trial.outcomes:
            if one.outcome in ("pass", "fail") or one.named:
                self._names.setdefault(one.name, set()).update(one.named)
        in_error = [one.name for one in trial.outcomes if one.outcome == "error"]
        if not in_error:
            return {}
        failed = {n for o in trial.outcomes if o.outcome == "error" for n in (o.name, o.metric)}
        further = {name for one in trial.outcomes for name in one.named} - failed
        waiting = {name: n for name in further if (n := numbers.get(name)) is not None}
        own = (name for one in trial.outcomes for name in (one.name, one.metric))
        # A trial in error is an error of everything that it doesn't measure, without this.
        known = None if trial.outcome == "error" else frozenset((*numbers, *there, *own, *OWN))
        self._in_error.append((key, known, in_error, waiting))
        return waiting

    def late(self, metric: str) -> Iterator[tuple[K, float | None]]:
        """Numbers of this name that waited, and None for each that an expectation in error leaves open.

        An expectation that passes or fails in no trial of the column may have given any that its trial lacks.
        """
        anywhere = any(metric in names for names in self._names.values())
        for key, known, names, waiting in self._in_error if anywhere else ():
            if metric in waiting:
                gave = any(metric in self._names.get(name, ()) for name in names)
                yield key, None if gave else waiting[metric]
            elif known is None or metric in known:
                pass
            elif any(metric in self._names.get(name, (metric,)) for name in names):
                yield key, None


class CaseMetrics:
    """What the cases of a config measure: its tests list that, whatever a trial comes to. Evals decide as they run.

    A trial in error leaves open what its case measures where another trial of it came to an end, and nothing else.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self._evals = [bool(one.eval) for one in variants]
        self._names: dict[str, set[str]] = {}

    def add(self, variant: int, case: str, trial: NumberedTrial, numbers: Iterable[str]) -> None:
        """Notes what a trial has expectations of, and numbers."""
        if trial.outcome != "error" and not self._evals[variant]:
            names = self._names.setdefault(case, set())
            names.update(numbers)
            for one in trial.outcomes:
                names.update((one.name, one.metric), one.named)

    def may_have(self, variant: int, case: str, metric: str) -> bool:
        """Whether an error of such a trial may be why it has no number; asked once all trials are added."""
        names = self._names.get(case)
        return self._evals[variant] or names is None or metric in names


class NumberedTrial(Protocol):
    """As much of a trial as says which numbers its expectations give."""

    @property
    def outcome(self) -> str: ...
    @property
    def outcomes(self) -> Sequence[NumberedOutcome]: ...


LOWER = frozenset({"latency", "cost"})
"""What every trial measures in seconds or dollars: less is better, and there is no highest value."""
OWN: Mapping[str, str] = {"score": "score", "latency": "latency_s", "cost": "full_cost_usd"}
"""What every trial measures, by the name that it has where no expectation is called so."""


def measured(
    run: RunFile, names: Iterable[str]
) -> tuple[dict[tuple[str, int], MetricSums], set[str]]:
    """What trials measure under these names, and the names of all that they measure.

    A name is that of a metric, of an expectation, or one of OWN. A trial in which an expectation of this name is in
    error, or one that gives such a number elsewhere, or which is in error itself before it came to it, counts as an
    error; one that did not expect it does not count.

    Returns:
        The sums by name and column, and the names that there are.
    """
    columns = tuple(dict.fromkeys(names))
    sums: dict[tuple[str, int], MetricSums] = {}
    there: set[str] = set()
    further: dict[int, FurtherNumbers[str]] = {}
    cases, broken = CaseMetrics(run.meta.variants), list[tuple[str, int, str]]()
    for trial in measured_trials(run):
        numbers = _numbers(trial)
        cases.add(trial.variant, trial.case, trial, numbers)
        there.update(numbers)
        waiting = further.setdefault(trial.variant, FurtherNumbers()).add(
            trial.case, trial, {name: value for name, (value, *_) in numbers.items()}
        )
        for name in columns:
            # What does not apply is known to have no number, and applies in other trials.
            expected = any(name in (one.name, one.metric) for one in trial.outcomes)
            own = (None, None, False) if expected else _own(trial, name)
            value, scale, failed = numbers.get(name, own)
            column = sums.setdefault((name, trial.variant), MetricSums())
            column.expected = column.expected or expected
            if failed and name not in numbers and name not in OWN:
                broken.append((name, trial.variant, trial.case))
            elif name not in waiting and (value is not None or failed):
                column.add(trial.case, value, scale)
            else:
                column.without += 1
    for name, variant, case in broken:
        if cases.may_have(variant, case, name):
            sums[name, variant].add(case, None)
        else:
            sums[name, variant].without += 1
    for (name, variant), column in sums.items():
        for case, value in further[variant].late(name):
            column.add(case, value)
            column.without -= 1
    return sums, there


_Number = tuple[float | None, Scale | None, bool]
"""A value, its scale, and whether it is missing because of an error."""


def _numbers(trial: MeasuredTrial) -> dict[str, _Number]:
    """What a trial's expectations measure. Of several with one name it is their mean; an error leaves that open."""
    values: dict[str, list[tuple[float, float, Scale | None]]] = {}
    errors: set[str] = set()
    for one in trial.outcomes:
        # A set, so that a metric called like its expectation counts once.
        names = {one.name, one.metric} - {""}
        for name in names:
            if one.score is not None:
                values.setdefault(name, []).append((one.score, one.weight, one.scale))
            elif unknown(one.outcome, one.score):
                errors.add(name)
        for name, value in one.named.items():
            if name not in names:
                values.setdefault(name, []).append((value, one.weight, None))
    numbers: dict[str, _Number] = dict.fromkeys(errors, (None, None, True))
    for name, each in values.items():
        if name not in errors:
            mean = mean_by_weight([(value, weight) for value, weight, _ in each])
            numbers[name] = mean, next((scale for *_, scale in each if scale), None), False
    return numbers


def _own(trial: MeasuredTrial, name: str) -> _Number:
    """What a trial measures without being asked; an error where it broke off before anything else could be known."""
    value: float | None = getattr(trial, OWN[name]) if name in OWN else None
    if value is not None:
        return value, trial.scale if name == "score" else None, False
    failed = trial.outcome == "error" or (
        name == "score" and any(unknown(one.outcome, one.score) for one in trial.outcomes)
    )
    return None, None, failed
