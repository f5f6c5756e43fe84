"""What a comparison found: for each metric how the second did beside the first, case by case."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.stats.paired import Differences, Word

_GRAVEST: tuple[Word, ...] = (
    "worse",
    "undecided",
    "no detectable difference",
    "non-inferior",
    "better",
)


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case under both: its mean over repeats, in the metric's own unit."""

    case: str
    name: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


@dataclass(frozen=True)
class Compared:
    """One metric of two columns.

    Attributes:
        metric: Its name.
        columns: The two columns, as their tables name them.
        several: Whether there are other pairs of columns beside this one.
        lower: Whether less of it is better.
        verdict: What the data say of the second.
        data: The cases' differences, second minus first, in the metric's own unit.
        first: The mean over the cases of both, in the first; None for no cases.
        second: The same in the second.
        low: The lower end of the difference's interval, 95 %.
        high: The upper end.
        p: The two-sided p-value that there is no difference, corrected for the number of comparisons.
        p_alone: The same without the correction.
        smallest: The smallest difference that the cases could have shown; None where none, however large.
        changed: The cases that scored differently, the worst change first.
        alike: How many scored the same.
        only_first: Cases, by name, that only the first has.
        only_second: Cases that only the second has.
        errors: Cases left out because all their trials are in error, in one or both.
        other: Cases left out because the metric did not apply, or was not measured.
        partial: Trials in error of cases that have others with a value: those are counted without them.
        open: Whether the cases in error could have turned the verdict.
        extremes: The differences as they would be had the cases in error scored as low in the second, and as high in
            the first, as can be, and the other way round; empty without such cases. A rate can be 0 or 1, a score
            whatever some case scored.
        judges: The judges of the first and of the second, where they are not the same.
    """

    metric: str
    columns: tuple[str, str]
    several: bool
    lower: bool
    verdict: Word
    data: Differences
    first: float | None
    second: float | None
    low: float
    high: float
    p: float
    p_alone: float
    smallest: float | None
    changed: tuple[CaseChange, ...]
    alike: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    errors: tuple[str, ...]
    other: tuple[str, ...]
    partial: int
    open: bool
    extremes: tuple[Differences, ...]
    judges: tuple[tuple[str, ...], tuple[str, ...]] | None

    @property
    def n(self) -> int:
        """How many cases were paired."""
        return self.data.n

    @property
    def difference(self) -> float | None:
        """Second minus first, in the metric's own unit; for pass rates from −1 to 1. None for no cases."""
        return self.data.mean


@dataclass(frozen=True)
class ComparedRuns:
    """Two runs, or columns of runs, on the cases of both.

    Attributes:
        first: What is compared with, as it was named.
        second: What is judged.
        results: One for each pair of columns and metric.
        margin: How much worse is still accepted; None where that was not asked.
        cluster: The key of the metadata that says which cases belong together; empty for none.
        notes: What else there is to know: columns without a counterpart, metrics of one side, runs that did not finish.
    """

    first: str
    second: str
    results: tuple[Compared, ...]
    margin: float | None = None
    cluster: str = ""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Word:
        """The gravest of its results': worse, else undecided, else no detectable difference, non-inferior or better."""
        found = {result.verdict for result in self.results}
        return next(word for word in _GRAVEST if word in found)
