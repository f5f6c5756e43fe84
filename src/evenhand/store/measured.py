"""What the trials of a run measure: the numbers of its metrics and expectations, summed up for each column and case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import field

from evenhand.core.record import MutableRecord
from evenhand.core.score import Scale, mean_by_weight, unknown
from evenhand.store.decoding import MeasuredTrial, read_measured
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
        most: The highest.
        without: How many trials came to an end without measuring it.
    """

    cases: dict[str, CaseSum] = field(default_factory=dict[str, CaseSum])
    scale: Scale | None = None
    least: float = math.inf
    most: float = -math.inf
    without: int = 0

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


OWN: Mapping[str, str] = {"score": "score", "latency": "latency_s", "cost": "cost_usd"}
"""What every trial measures, by the name that it has where no expectation is called so."""


def measured(
    run: RunFile, names: Iterable[str]
) -> tuple[dict[tuple[str, int], MetricSums], set[str]]:
    """What trials measure under these names, and the names of all that they measure.

    A name is that of a metric, of an expectation, or one of OWN. A trial in which an expectation of this name is in
    error, or which is in error itself before it came to it, counts as an error; one that did not expect it does not
    count.

    Returns:
        The sums by name and column, and the names that there are.
    """
    columns = tuple(dict.fromkeys(names))
    sums: dict[tuple[str, int], MetricSums] = {}
    there: set[str] = set()
    for trial in measured_trials(run):
        numbers = _numbers(trial)
        there.update(numbers)
        for name in columns:
            number = numbers.get(name)
            if number is None:
                value, scale, failed = _own(trial, name)
            else:
                value, scale, failed = number
            column = sums.setdefault((name, trial.variant), MetricSums())
            if value is not None or failed:
                column.add(trial.case, value, scale)
            else:
                column.without += 1
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
