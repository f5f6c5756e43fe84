"""What became of every cell of a run, by column and case: read once, without the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.analysis.summaries.clusters import together
from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import clip, safe
from evenhand.stats.tallies import Tally, worth_of
from evenhand.store.counted import TrialOutcome
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.stats.extremes import Extremes

KEPT = 10
KEPT_OF_ALL = 1000
KEPT_ERRORS = 200
_NONE = Tally()


class Grid:
    """A run's cells.

    Attributes:
        names: What each column is called: the shortest name that tells it from the others, as people type it; or what
            a report calls it instead, such as a number that its table explains.
        renamed: Whether it is something else.
        evals: The eval that each column runs; empty texts for a config.
        numbers: Each case's number, from 1, in the plan's order.
        groups: For each column what its cases belong to, of those that do not stand alone; copies belong together.
        tallies: For each column and case with a trial that passed, failed or is in error: how many did.
        failed: For each column the places of its first failures, at most `kept`.
        kept: KEPT_OF_ALL shared out among the columns, and at least KEPT.
        errors: The places of the first errors, at most KEPT_ERRORS for each column.
        scores: For each column its failures' lowest and highest score.
    """

    def __init__(self, run: RunFile, names: Sequence[str] | None = None) -> None:
        variants = run.meta.variants
        typed = column_names(variants)
        self.names = names or typed
        self.renamed = self.names != typed
        self.evals = [variant.eval for variant in variants]
        self.totals = run.by_variant()
        self.groups = run.groups(copies=True)
        sums = run.sums()
        # Of a narrowed run a case keeps its number, whatever is left out.
        self.numbers: Mapping[str, int] = (
            {case: number for number, case in enumerate(run.cases(), 1)}
            if run.narrowed
            else sums.cases
        )
        self.tallies = [sums.of_column(variant.index) for variant in variants]
        self.kept = max(KEPT, KEPT_OF_ALL // max(1, len(variants)))
        self.failed: list[list[int]] = [[] for _ in variants]
        self.errors: list[list[int]] = [[] for _ in variants]
        self.scores: list[tuple[float, float] | None] = [None for _ in variants]
        self._not_applicable: set[tuple[int, str]] = set()
        self._repeats = run.meta.repeats
        # Passes are counted in the sums already, and most trials pass.
        for row in run.outcomes(but="pass"):
            self._add(row)

    def _add(self, row: TrialOutcome) -> None:
        index, variant = row.index, row.variant
        if row.outcome == "not_applicable":
            self._not_applicable.add((variant, row.case))
        elif row.outcome == "error" and len(self.errors[variant]) < KEPT_ERRORS:
            self.errors[variant].append(index)
        elif row.outcome == "fail":
            if len(self.failed[variant]) < self.kept:
                self.failed[variant].append(index)
            if row.score is not None:
                low, high = self.scores[variant] or (row.score, row.score)
                self.scores[variant] = min(low, row.score), max(high, row.score)

    def state(self, variant: int, case: str) -> str:
        """What became of a cell: pass, fail, error, not_applicable, `mixed` repeats, or `missing`."""
        tally = self.tallies[variant].get(case, _NONE)
        if not tally.n:
            return "not_applicable" if (variant, case) in self._not_applicable else "missing"
        if tally.errors:
            return "error"
        return "mixed" if tally.flaky else "pass" if tally.passed else "fail"

    def meet(self, first: int, second: int) -> bool:
        """Whether two columns have a case in common, whatever became of it."""
        if not self.tallies[first].keys().isdisjoint(self.tallies[second]):
            return True
        return not self._cases(first).isdisjoint(self._cases(second))

    def _cases(self, variant: int) -> set[str]:
        return {*self.tallies[variant], *(case for v, case in self._not_applicable if v == variant)}

    def case_name(self, trial: TrialResult, room: int = 40) -> str:
        """A trial's case for people: its number, as much of its description as has room, and which repeat."""
        text = numbered(self.number(trial), clip(safe(trial.description), room))
        return f"{text} · repeat {trial.repeat + 1}" if self._repeats > 1 else text

    def place(self, trial: TrialResult) -> str:
        """A cell for people: its column, where there is more than one, and its case."""
        name = self.case_name(trial)
        return f"{self.names[trial.variant]} · {name}" if len(self.names) > 1 else name

    def line(self, variant: int, text: str) -> str:
        """What is told of a column, after what it is called."""
        return ": ".join(filter(None, (self.names[variant], text)))

    def number(self, trial: TrialResult) -> int:
        """The number of a trial's case."""
        return self.numbers.get(written_case(trial.case), trial.index + 1)


def compared(grid: Grid, first: int, second: int) -> Extremes:
    """How much more often each case passed in the first column, for the cases that both have a trial of."""
    from evenhand.stats.extremes import Extremes, certain  # noqa: PLC0415 (for runs of several columns only)
    from evenhand.stats.paired_difference import Differences  # noqa: PLC0415 (as above)

    theirs = grid.tallies[second]
    mine = grid.tallies[first].items()
    both = [(case, (tally, theirs[case])) for case, tally in mine if case in theirs]
    repeats = worth_of(tally.n for _, pair in both for tally in pair)
    clusters = list(together(both, grid.groups[first]))
    least = Differences([[a.least - b.most for a, b in each] for each in clusters], True, repeats)
    # Nothing is open: the second computation would be that of the first.
    if not any(a.errors or b.errors for each in clusters for a, b in each):
        return certain(least)
    most = Differences([[a.most - b.least for a, b in each] for each in clusters], True, repeats)
    return Extremes(least, most)


def numbered(number: int, name: str) -> str:
    """A case for people: its number and its name, if it has one that says more.

    >>> numbered(2, "receipt"), numbered(2, "Row #2"), numbered(2, "")
    ('2 receipt', 'Row #2', 'case 2')
    """
    return name if name == f"Row #{number}" else f"{number} {name}" if name else f"case {number}"
