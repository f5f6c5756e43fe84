"""What each case came to in each column: one look at a run's small rows, from which rates and means are worked out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping

from evenhand.core.numbered import NumberedTexts
from evenhand.stats.tallies import Tally, tally_of
from evenhand.store.counted import CaseTally

CaseSum = tuple[float, int, int]
"""A case's sum over its trials, how many have a value, and how many are in error."""

SUMMED = "idx, case_id, variant, outcome, score, latency_s"
"""The columns that sums are made of."""
Row = tuple[int, str, int, str, float | None, float | None]


class _ColumnSums:
    """One column's sums, at each case's number. Arrays: a large run has hundreds of thousands of them."""

    def __init__(self) -> None:
        self.first = array("I")
        self.passed, self.failed, self.errors = array("I"), array("I"), array("I")
        self.counts = {"pass": self.passed, "fail": self.failed, "error": self.errors}
        self.score, self.scores, self.unknown = array("d"), array("I"), array("I")
        self.latency, self.latencies = array("d"), array("I")
        self.least, self.most = math.inf, -math.inf

    def grow(self, cases: int) -> None:
        """Makes room for so many cases, and some more."""
        size = cases + cases // 16 + 64
        for each in (self.first, self.score, self.latency):
            each.frombytes(bytes((size - len(each)) * each.itemsize))
        for each in (*self.counts.values(), self.scores, self.unknown, self.latencies):
            each.frombytes(bytes((size - len(each)) * each.itemsize))


class CaseSums:
    """The sums of a run's cases, column by column, the cases in the plan's order.

    Args:
        rows: SUMMED of the trials that count, in the plan's order.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._ids = NumberedTexts()
        self._columns: dict[int, _ColumnSums] = {}
        for place, case, variant, outcome, score, latency in rows:
            number = self._ids.number(case)
            column = self._columns.get(variant)
            if column is None:
                column = self._columns[variant] = _ColumnSums()
            if number >= len(column.first):
                column.grow(len(self._ids))
            counts = column.counts.get(outcome)
            if counts is not None:
                # Nothing is counted yet, so this is the first trial of the case in the column.
                if not (column.passed[number] or column.failed[number] or column.errors[number]):
                    column.first[number] = place
                counts[number] += 1
            if score is not None:
                column.score[number] += score
                column.scores[number] += 1
                column.least, column.most = min(score, column.least), max(score, column.most)
            elif counts is not None:
                column.unknown[number] += 1
            if latency is not None:
                column.latency[number] += latency
                column.latencies[number] += 1

    @property
    def cases(self) -> Mapping[str, int]:
        """Each case and its number, from 1, in the plan's order."""
        return _CaseNumbers(self._ids)

    def of_column(self, variant: int) -> Mapping[str, Tally]:
        """What the trials of a column that passed, failed or are in error came to, by case."""
        return ColumnTallies(self._ids, self._columns.get(variant) or _ColumnSums())

    def tallies(self) -> Iterator[CaseTally]:
        """What the trials that passed, failed or are in error came to, case by case."""
        for variant, column in sorted(self._columns.items()):
            for case, first, *counts in zip(
                self._ids,
                column.first,
                column.passed,
                column.failed,
                column.errors,
                strict=False,  # a column may lack the last cases
            ):
                if any(counts):
                    yield CaseTally(variant, case, first, tally_of(*counts))

    def scores(self, variant: int) -> Iterator[CaseSum]:
        """The scores of a column's cases, and of how many of their trials the score isn't known."""
        return (each for _, each in self.scores_by_case(variant))

    def scores_by_case(self, variant: int) -> Iterator[tuple[str, CaseSum]]:
        """The scores of a column's cases, and of how many of their trials the score isn't known, each with its case.

        That is of those in error, and of those that failed while an expectation was in error.
        """
        column = self._columns.get(variant)
        if column is not None:
            sums = zip(column.score, column.scores, column.unknown, strict=True)
            # a column may lack the last cases
            yield from (each for each in zip(self._ids, sums, strict=False) if any(each[1][1:]))

    def score_range(self, variant: int) -> tuple[float, float] | None:
        """The lowest and the highest score of a column's trials; None for no scores."""
        column = self._columns.get(variant)
        return (column.least, column.most) if column and column.least <= column.most else None

    def latencies(self, variant: int) -> Iterator[CaseSum]:
        """The latencies of a column's cases, in seconds. Errors are not counted: they say nothing of time."""
        return (each for _, each in self.latencies_by_case(variant))

    def latencies_by_case(self, variant: int) -> Iterator[tuple[str, CaseSum]]:
        """The latencies of a column's cases, in seconds, each with its case."""
        column = self._columns.get(variant)
        if column is not None:
            sums = zip(self._ids, column.latency, column.latencies, strict=False)
            yield from ((case, (total, n, 0)) for case, total, n in sums if n)


class _CaseNumbers(Mapping[str, int]):
    """Each case's number, from 1."""

    def __init__(self, ids: NumberedTexts) -> None:
        self._ids = ids

    def __getitem__(self, case: str) -> int:
        number = self._ids.find(case)
        if number < 0:
            raise KeyError(case)
        return number + 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


class ColumnTallies(Mapping[str, Tally]):
    """A column's tallies by case, in the plan's order: a look at arrays, and nothing of its own."""

    def __init__(self, ids: NumberedTexts, column: _ColumnSums) -> None:
        self._ids = ids
        self._column = column

    def __getitem__(self, case: str) -> Tally:
        number, column = self._ids.find(case), self._column
        if 0 <= number < len(column.passed):
            tally = tally_of(column.passed[number], column.failed[number], column.errors[number])
            if tally.n:
                return tally
        raise KeyError(case)

    def __iter__(self) -> Iterator[str]:
        counts = zip(
            self._ids,
            self._column.passed,
            self._column.failed,
            self._column.errors,
            strict=False,  # a column may lack the last cases
        )
        return (case for case, *counts in counts if any(counts))

    def __len__(self) -> int:
        return sum(1 for _ in self)
