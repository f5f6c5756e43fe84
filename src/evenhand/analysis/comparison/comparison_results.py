"""What a comparison found: for each metric how the second did beside the first, case by case, and as flat rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.analysis.comparison.judged_differences import JudgedDifference
from evenhand.analysis.comparison.regraded_outputs import RegradedOutputs
from evenhand.analysis.summaries.frames import Kinds
from evenhand.core.json_shapes import finite
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.stats.extremes import Extremes
from evenhand.stats.paired_difference import Word
from evenhand.stats.tallies import OpenNumber

_GRAVEST: tuple[Word, ...] = (
    "worse",
    "undecided",
    "no detectable difference",
    "non-inferior",
    "better",
)


def ends(name: str, number: OpenNumber | None) -> dict[str, float | None]:
    """A number and the two ends between which errors leave it, by name; the number is None where the ends differ.

    An end is None where errors may be any number.
    """
    least, most = (None, None) if number is None else map(finite, number)
    return {name: number and number.value, f"{name}_least": least, f"{name}_most": most}


class CaseChange(Record, frozen=True):
    """One case under both: its mean over repeats, in the metric's own unit, as far as errors leave it known."""

    case: str
    name: str
    first_range: OpenNumber
    second_range: OpenNumber

    @property
    def first(self) -> float | None:
        """The case's mean in the first column; None where errors leave it open."""
        return self.first_range.value

    @property
    def second(self) -> float | None:
        """The case's mean in the second column; None where errors leave it open."""
        return self.second_range.value

    @property
    def difference_range(self) -> OpenNumber:
        """Second minus first, at both ends of what errors can have come to."""
        # Errors of the two sides have nothing to do with each other: the ends are those of an interval's.
        (low, high), (least, most) = self.first_range, self.second_range
        return OpenNumber(least - high, most - low)

    @property
    def difference(self) -> float | None:
        """Second minus first; None where errors leave it open."""
        return self.difference_range.value

    def document(self) -> dict[str, float | None]:
        """The case's numbers as a JSON-ready dict: the ends of both means and of their difference."""
        return {
            **ends("first", self.first_range),
            **ends("second", self.second_range),
            **ends("difference", self.difference_range),
        }


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One metric of two columns. What is said of it holds whatever trials in error would have come to.

    Attributes:
        columns: The two columns, as their tables name them.
        several: Whether there are other pairs of columns beside this one.
        lower: Whether less of it is better.
        verdict: What the data say of the second.
        data: The cases' differences, second minus first, in the metric's own unit.
        first_range: The mean over the cases of both, in the first; None for no cases.
        low: The lower end of the difference's interval, 95 %.
        p: The two-sided p-value that there is no difference, corrected for the number of comparisons; 1 where errors
            leave open which of the two is ahead.
        p_alone: The same without the correction.
        smallest: The smallest difference that the cases could have shown; None where none, however large.
        changed: The cases that scored differently, whatever became of errors; the worst change first.
        alike: How many scored the same.
        unsettled: Cases of which errors leave open whether they scored differently.
        only_first: Cases, by name, that only the first has.
        only_second: Cases that only the second has.
        errors: Cases left out because all of their trials are in error on a side, and no trial says what the metric's
            values are.
        other: Cases left out because the metric did not apply, or was not measured.
        trials_in_error: Trials in error of the cases that were paired: they may have had any value. Of pass rates that
            is 0 or 1, of metrics whose scale is known what is on it, of others whatever some trial had.
        open: Whether those are why nothing was decided.
        judges: The judges of the first and of the second, where they are not the same.
        unlike: Cases left out because they are another test in the second, by what differs, in words.
        withheld: Why nothing can be concluded from the difference, in words; empty where something can.
        other_judge: Whether that is so because another judge judged the second.
        constant: Whether every case of both has the same value: nothing can differ, and nothing is tested.
        tests: How many comparisons p and smallest are corrected for.
        predicted: Of how many cases the second was not run, and is predicted from the first's and earlier runs.
        helped: The share of the differences' spread that those runs explain, 0 to 1.
        same_as: The metric whose result this is, too, where nobody asked for both: it isn't shown again. Else empty.
    """

    metric: str
    columns: tuple[str, str]
    several: bool
    lower: bool
    verdict: Word
    data: Extremes
    first_range: OpenNumber | None
    second_range: OpenNumber | None
    low: float
    high: float
    p: float
    p_alone: float
    smallest: float | None
    changed: Sequence[CaseChange]
    alike: int
    unsettled: Sequence[str]
    only_first: Sequence[str]
    only_second: Sequence[str]
    errors: Sequence[str]
    other: Sequence[str]
    trials_in_error: int
    open: bool
    judges: tuple[tuple[str, ...], tuple[str, ...]] | None
    unlike: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    withheld: str = ""
    other_judge: bool = False
    constant: bool = False
    tests: int = 1
    predicted: int = 0
    helped: float = 0.0
    same_as: str = ""

    @property
    def n(self) -> int:
        """How many cases were paired."""
        return self.data.n

    @property
    def first(self) -> float | None:
        """The first's mean; None for no cases, and where errors leave it open."""
        return self.first_range and self.first_range.value

    @property
    def second(self) -> float | None:
        """The second's mean; None for no cases, and where errors leave it open."""
        return self.second_range and self.second_range.value

    @property
    def difference_range(self) -> OpenNumber | None:
        """Second minus first, in the metric's own unit; for pass rates from −1 to 1. None for no cases."""
        return self.data.mean

    @property
    def difference(self) -> float | None:
        """Second minus first as one number; None for no cases, and where errors leave it open."""
        return self.difference_range and self.difference_range.value


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """Two runs, or columns of runs, on the cases of both.

    Attributes:
        first: What is compared with, as it was named.
        results: One for each pair of columns and metric.
        margin: How much worse is still accepted; None where that was not asked.
        cluster: The variable, or key of the metadata, that says which cases belong together; empty for none.
        notes: What else there is to know: columns without a counterpart, metrics of one side, runs that did not finish.
        judged: The judged metrics of each pair of columns, corrected where people labelled them.
        in_full: The names of each pair of columns in full, where tables cut them.
        outputs: How far the outputs of both are the same; None where neither judges those of the other again.
    """

    first: str
    second: str
    results: tuple[Compared, ...]
    margin: float | None = None
    cluster: str = ""
    notes: tuple[str, ...] = ()
    judged: tuple[JudgedDifference, ...] = ()
    in_full: Mapping[tuple[str, str], tuple[str, str]] = field(
        default_factory=dict[tuple[str, str], tuple[str, str]]
    )
    outputs: RegradedOutputs | None = None

    @property
    def verdict(self) -> Word:
        """The gravest of its results': worse, else undecided, else no detectable difference, non-inferior or better."""
        verdicts = {result.verdict for result in self.results}
        return next(word for word in _GRAVEST if word in verdicts)


def unlike_words(result: Compared) -> str:
    """Which cases are another test in the second, and why."""
    return "; ".join(f"{count(len(cases), 'case')} {why}" for why, cases in result.unlike.items())


_COLUMNS: Kinds = {"metric": "text", "first_column": "text", "second_column": "text"}
_ENDS: Kinds = {
    f"{name}{end}": "number"
    for name in ("first", "second", "difference")
    for end in ("", "_least", "_most")
}
"""As `ends` names them."""
CASES: Kinds = {**_COLUMNS, "case": "text", "name": "text", **_ENDS}
"""The columns of `case_rows`."""
METRICS: Kinds = {
    **_COLUMNS,
    "verdict": "text",
    "better": "text",
    "n": "whole",
    **_ENDS,
    "low": "number",
    "high": "number",
    "p": "number",
    "p_alone": "number",
    "smallest": "number",
    "changed": "whole",
    "same": "whole",
    "unsettled": "whole",
    "trials_in_error": "whole",
    "withheld": "text",
}
"""The columns of `metric_rows`."""


def case_rows(comparison: ComparedRuns) -> list[dict[str, Any]]:
    """A row for each case that changed in a metric, the worst change first."""
    return [
        {**_columns(result), "case": change.case, "name": change.name, **change.document()}
        for result in comparison.results
        for change in result.changed
    ]


def metric_rows(comparison: ComparedRuns) -> list[dict[str, Any]]:
    """A row for each metric of each pair of columns. An end that the interval doesn't have is None."""
    return [
        {
            **_columns(result),
            "verdict": result.verdict,
            "better": "lower" if result.lower else "higher",
            "n": result.n,
            **ends("first", result.first_range),
            **ends("second", result.second_range),
            **ends("difference", result.difference_range),
            "low": result.low if math.isfinite(result.low) else None,
            "high": result.high if math.isfinite(result.high) else None,
            "p": result.p,
            "p_alone": result.p_alone,
            "smallest": result.smallest,
            "changed": len(result.changed),
            "same": result.alike,
            "unsettled": len(result.unsettled),
            "trials_in_error": result.trials_in_error,
            "withheld": result.withheld or None,
        }
        for result in comparison.results
    ]


def _columns(result: Compared) -> dict[str, Any]:
    first, second = result.columns
    return {"metric": result.metric, "first_column": first, "second_column": second}
