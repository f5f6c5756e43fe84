"""Whether a run keeps what it has to reach, column by column, and the verdict that follows from it.

Bounds are held against what was measured, not against the ends of its interval: 91 of 100 keep "at least 90 %". What
the interval says of it is told beside it. Trials in error, and trials that were never run, may have come to anything:
a bound is kept if it would have been kept whatever they came to, and missed if it would have been missed. What is
required of a column, and applied to none of its trials, was not put to the test: it is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET

from evenhand.analysis.summaries.clusters import OfCase, sums_in, together
from evenhand.analysis.summaries.rates import known_scale, mean_of, share_of_cases
from evenhand.core.document import Key, filled
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED, Requirement
from evenhand.core.run import DecidedColumn, RunMeta, Totals
from evenhand.core.variant import RunVariant
from evenhand.stats.tallies import Tally, rate_over_clusters, share_of
from evenhand.store.encoding import written_case
from evenhand.store.measured import LOWER, MetricSums, measured, measured_trials
from evenhand.store.runfile import RunFile

State = Literal["kept", "missed", "open"]


class Held(Record, frozen=True, kw_only=True):
    """One requirement, held against one column.

    Attributes:
        variant: The column's index; None where no column has the metric at all.
        state: Kept, missed, or open: errors and trials that were not run could turn it, or it applied to none.
        least: The mean, had errors been as low as can be; None where nothing is measured, or anything is possible.
        most: The same, had they been as high as can be.
        low: The lower end of the interval, 95 %; None where it is not known.
        cases: How many cases it rests on.
        errors: How many trials could have come to anything: in error, or not run.
        there: The metrics that there are, where this one is not.
        decided: Whether the run stopped as soon as it was decided, or after a sample; the state is that of all cases.
        left_out: Of a sample, how many cases were not run. The value and its interval are about these as well.
        predicted: Whether the baseline predicted them.
        about: Whether it is only estimated how many of them count.
    """

    requirement: Requirement
    variant: int | None
    state: State
    least: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0
    errors: int = 0
    there: tuple[str, ...] = ()
    decided: bool = False
    left_out: int = 0
    predicted: bool = False
    about: bool = False

    @property
    def unapplied(self) -> bool:
        """Whether what is required applied to none of the column's trials."""
        return self.variant is not None and not self.cases and not self.errors

    @property
    def sure(self) -> bool:
        """Whether the whole interval lies on the side of the bound where the mean lies."""
        if self.low is None or self.high is None or self.state == "open":
            return False
        ends = {self.requirement.bound.keeps(end) for end in (self.low, self.high)}
        return ends == {self.state == "kept"}


def held(run: RunFile, totals: Totals | None = None) -> list[Held]:
    """Each requirement of a run, held against each of its columns, in the order in which they are written."""
    requirements = run.meta.requirements
    if not requirements:
        return []
    missing = max(0, run.meta.planned - (totals or run.totals()).trials)
    names = [one.metric for one in requirements if one.metric != PASSED]
    sums, there = measured(run, names) if names else ({}, set[str]())
    results: list[Held] = []
    for one in requirements:
        if one.metric == PASSED:
            results += _shares(run, one, missing)
        else:
            columns = {v: sums[one.metric, v] for v in one.variants if (one.metric, v) in sums}
            results += _means(run, one, columns, missing, tuple(sorted(there)))
    return sorted([*results, *_unapplied(run, results)], key=_written(requirements))


def _written(requirements: Sequence[Requirement]) -> Callable[[Held], tuple[int, int]]:
    """The order in which requirements are written, and of each that of the columns."""
    places = {one: place for place, one in enumerate(requirements)}
    return lambda one: (places[one.requirement], -1 if one.variant is None else one.variant)


def _unapplied(run: RunFile, results: Iterable[Held]) -> Iterator[Held]:
    """The columns in which no trial has a number for what is expected of some.

    What is expected there never applied, as where no passage was retrieved. An eval that expects nothing of the kind is
    none that it is required of.
    """
    reported = {(one.requirement, one.variant) for one in results}
    left = [
        (one, variant)
        for one in run.meta.requirements
        if (one, None) not in reported
        # Nothing at all would miss a pass rate of 0.
        and not (one.metric == PASSED and one.bound.keeps(0) and one.bound.keeps(1))
        for variant in one.variants
        if (one, variant) not in reported
    ]
    if not left:
        return
    expected: set[tuple[int, str, str]] = set()
    for trial in measured_trials(run):
        names = {name for one in trial.outcomes for name in (one.name, one.metric, PASSED, "score")}
        if trial.calls or trial.cached:  # a call has a price and takes its time, known or not
            names |= LOWER
        expected |= {(trial.variant, case, name) for name in names for case in ("", trial.case)}
    decided = run.meta.status == "decided"
    yield from (
        Held(requirement=one, variant=variant, state="open", decided=decided)
        for one, variant in left
        if (variant, one.case, one.metric) in expected
    )


class RunRequirement(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a requirement in a column."""

    metric: Annotated[str, Key("`passed`, or the name of a metric or an expectation")]
    at_least: Annotated[
        float | None, Key("the lower bound", "the metric's", null="there is no lower bound")
    ]
    at_most: Annotated[
        float | None, Key("the upper bound", "the metric's", null="there is no upper bound")
    ]
    variant: Annotated[RunVariant | None, Key("the variant", null="no variant has the metric")]
    case: Annotated[str, Key("the one case that it is about; empty for all")]
    state: Annotated[State, Key("`kept`, `missed` or `open`")]
    value: Annotated[
        float | None,
        Key("the value", "the metric's", null="errors leave it open, or nothing was measured"),
    ]
    least: Annotated[
        float | None,
        Key(
            "its lowest value, whatever errors would have come to",
            "the metric's",
            null="nothing is known",
        ),
    ]
    most: Annotated[float | None, Key("its highest", "the metric's", null="nothing is known")]
    low: Annotated[
        float | None, Key("the lower end of the 95 % interval", "the metric's", null="not known")
    ]
    high: Annotated[float | None, Key("the upper end", "the metric's", null="not known")]
    sure: Annotated[bool, Key("whether the whole interval agrees")]
    cases: Annotated[int, Key("that were counted", "cases")]
    errors: Annotated[int, Key("in error", "trials")]
    left_out: Annotated[
        int,
        Key(
            "of a sample, how many were not run: the value and its interval are about them as well",
            "cases",
        ),
    ]


def requirement_rows(run: RunFile) -> list[RunRequirement]:
    """The requirements of a run in the keys of its document, one for each requirement and column."""
    variants = run.meta.variants
    return [
        filled(
            RunRequirement,
            one,
            metric=one.requirement.metric or "passed",
            at_least=one.requirement.bound.at_least,
            at_most=one.requirement.bound.at_most,
            variant=None if one.variant is None else variants[one.variant].names,
            case=one.requirement.case,
            value=one.least if one.least == one.most else None,
        )
        for one in held(run)
    ]


def _shares(run: RunFile, required: Requirement, missing: int) -> Iterator[Held]:
    """The share of trials that pass, in each column that has trials that count."""
    tallies: dict[int, dict[str, Tally]] = {variant: {} for variant in required.variants}
    for case in run.tallies():
        if case.variant in tallies and required.case in ("", case.case):
            tallies[case.variant][case.case] = case.tally
    groups = run.groups()
    for variant, counted in tallies.items():
        if run.meta.status == "decided":
            yield from _decided(run, required, variant, counted)
            continue
        clusters = list(together(counted.items(), groups[variant]))
        share = (
            share_of(*_with_missing(run.meta, variant, clusters, missing))
            if missing
            else rate_over_clusters(clusters)
        )
        if share is None:
            continue
        errors = missing + sum(tally.errors for tally in counted.values())
        yield Held(
            requirement=required,
            variant=variant,
            state=_state(required, share.least, share.most),
            least=share.least,
            most=share.most,
            low=share.low,
            high=share.high,
            cases=len(counted),
            errors=errors,
        )


def _with_missing(
    meta: RunMeta, variant: int, clusters: Sequence[Sequence[Tally]], missing: int
) -> tuple[list[float], list[float]]:
    """The least and the most that each case or cluster can come to, had trials that were never run come to anything.

    Nobody knows whose they are: each may be a repeat of a case that has been run, a further case of its cluster, or a
    case of its own. So each of these has as many of them as it can have.
    """
    more = missing if meta.variants[variant].cluster else 0
    ends = [(0.0, 1.0)] * missing
    for cluster in clusters:
        absent = [min(missing, max(0, meta.repeats - tally.n)) for tally in cluster]
        trials = [tally.n + n for tally, n in zip(cluster, absent, strict=True)]
        least = math.fsum(t.passed / n for t, n in zip(cluster, trials, strict=True))
        failed = math.fsum(t.failed / n for t, n in zip(cluster, trials, strict=True))
        size = len(cluster) + more
        ends.append((least / size, 1 - failed / size))
    return [least for least, _ in ends], [most for _, most in ends]


def _sums_with_missing(
    meta: RunMeta, variant: int, cases: Iterable[OfCase], missing: int
) -> Iterator[OfCase]:
    """The sums of cases or clusters with the trials that were never run, wherever these may belong."""
    more = missing if meta.variants[variant].cluster else 0
    for total, n, errors in cases:
        absent = min(missing, max(0.0, meta.repeats - n - errors))
        yield total, n, errors + absent + more * max(1.0, n + errors + absent)
    yield from [(0.0, 0.0, 1.0)] * missing


def _decided(
    run: RunFile, required: Requirement, variant: int, counted: Mapping[str, Tally]
) -> Iterator[Held]:
    """The share of a run that stopped as soon as it was decided, or after a sample: of all cases then."""
    share = share_of_cases(run.meta, counted.values())
    if share is None:
        return
    columns = [msgspec.convert(one, DecidedColumn) for one in run.meta.decided.get("columns") or []]
    column = next((one for one in columns if one.variant == variant), None)
    ends: Mapping[str, float | int | bool] = share._asdict()
    if column is not None and column.of is not UNSET:
        names = "least", "most", "low", "high", "predicted"
        ends = {name: getattr(column, name) for name in names}
        ends |= {"left_out": column.of - len(counted)}
        ends |= {"about": column.about is True}
    yield Held(
        requirement=required,
        variant=variant,
        state="open" if column is None else column.state,
        **ends,
        cases=len(counted),
        errors=sum(tally.errors for tally in counted.values()),
        decided=True,
    )


def _means(
    run: RunFile,
    required: Requirement,
    columns: dict[int, MetricSums],
    missing: int,
    there: tuple[str, ...],
) -> Iterator[Held]:
    """The mean of a metric, in each column that has it."""
    # An eval that measures it in no trial that came to an end is none that it is required of.
    measuring = {
        v: one for v, one in columns.items() if one.values or one.expected or not one.without
    }
    errors = missing + sum(column.errors for column in measuring.values())
    if not any(column.values for column in measuring.values()):
        if measuring and not errors:  # it was not applicable to any trial of any column
            return
        yield Held(requirement=required, variant=None, state="open", errors=errors, there=there)
        return
    groups = run.groups()
    scales = [_scale(required, one) for one in measuring.values() if one.values]
    for variant, column in measuring.items():
        # A column with errors alone has the scale of the others, if one is known.
        scale = _scale(required, column) if column.values else next(filter(None, scales), None)
        errors = column.errors + missing
        each = ((written_case(case), of_case) for case, of_case in column.cases.items())
        cases: list[OfCase] = list(sums_in(each, groups[variant]))
        if missing:
            cases = list(_sums_with_missing(run.meta, variant, cases, missing))
        if not cases:  # it was not applicable to any
            continue
        least, most = _ends(cases, scale)
        mean = mean_of(cases, scale, floor=0.0 if required.metric in LOWER else None)
        yield Held(
            requirement=required,
            variant=variant,
            state=_state(required, least, most),
            least=least,
            most=most,
            low=mean and mean.low,
            high=mean and mean.high,
            cases=sum(1 for _, n, _ in column.cases.values() if n),
            errors=errors,
        )


def _scale(required: Requirement, column: MetricSums) -> tuple[float, float] | None:
    # Seconds and dollars have no highest value, however many lie between 0 and 1.
    if required.metric in LOWER:
        return None
    # Nor have words of which there may be three, though each case has one.
    bounds = (required.bound.at_least, required.bound.at_most)
    ends = [column.least, column.most]
    if column.scale is None:
        ends += [bound for bound in bounds if bound is not None]
    return known_scale(column.scale, min(ends), max(ends))


def _ends(
    cases: Sequence[OfCase], scale: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """The lowest and the highest mean over cases there can be; None where errors leave it open without an end."""
    if scale is None:
        if any(errors for *_, errors in cases):
            return None, None
        scale = (0.0, 0.0)  # nothing is in error: it is not looked at
    least, most = (
        _mean((total + errors * end) / (n + errors) for total, n, errors in cases) for end in scale
    )
    return least, most


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _state(required: Requirement, least: float | None, most: float | None) -> State:
    if least is None or most is None:
        return "open"
    ends = {required.bound.keeps(end) for end in (least, most)}
    return "open" if len(ends) > 1 else "kept" if True in ends else "missed"
