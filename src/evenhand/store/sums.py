"""What each case came to in each column: one look at a run's small rows, from which rates and means are worked out."""

from __future__ import annotations

import math
from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import compress, repeat
from operator import or_

from evenhand.core.numbered import NumberedTexts
from evenhand.stats.tallies import Tally, tally_of
from evenhand.store.counted import CaseTally

CaseSum = tuple[float, int, int]
"""A case's sum over its trials, how many have a value, and how many are in error."""

SUMMED = "idx, case_id, variant, outcome, score, latency_s"
"""The columns that sums are made of."""
Row = tuple[int, str, int, str, float | None, float | None]


_UNMET = 0xFFFFFFFF
"""In place of the first trial of a case that has none in the column."""


class _ColumnSums:
    """One column's sums, at each case's number. Arrays: a large run has hundreds of thousands of them."""

    def __init__(self) -> None:
        self.first = array("I")
        self.passed, self.failed, self.errors = array("I"), array("I"), array("I")
        self.counts = {"pass": self.passed, "fail": self.failed, "error": self.errors}
        self.score, self.scores, self.unknown = array("d"), array("I"), array("I")
        self.latency, self.latencies = array("d"), array("I")
        self.cases = 0
        self.least, self.most = math.inf, -math.inf

    def grow(self, cases: int) -> None:
        """Makes room for so many cases, and some more."""
        more = cases + cases // 16 + 64 - len(self.first)
        self.first.extend(repeat(_UNMET, more))
        for each in (*self.counts.values(), self.scores, self.unknown, self.latencies):
            each.frombytes(bytes(more * each.itemsize))
        for each in (self.score, self.latency):
            each.frombytes(bytes(more * each.itemsize))

    def tallies(self) -> Iterator[Tally]:
        """What came of the case with each number; Tally() of one without a trial in any count."""
        return map(tally_of, self.passed, self.failed, self.errors)

    def score_sums(self) -> Iterator[CaseSum]:
        """The scores of the cases that have one, or may have one."""
        sums = zip(self.score, self.scores, self.unknown, strict=True)
        return compress(sums, self.scored())

    def latency_sums(self) -> Iterator[CaseSum]:
        """The latencies of the cases that have one."""
        return compress(zip(self.latency, self.latencies, repeat(0)), self.latencies)

    def scored(self) -> Iterator[int]:
        """By number whether a case has a score, or may have one."""
        return map(or_, self.scores, self.unknown)


class CaseSums:
    """The sums of a run's cases, column by column, the cases in the plan's order.

    Args:
        rows: SUMMED of the trials that count, in the plan's order.
        room: For how many cases there is room from the start.
    """

    def __init__(self, rows: Iterable[Row], room: int = 0) -> None:
        self._ids = NumberedTexts(room)
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
                counts[number] += 1
                if column.first[number] == _UNMET:
                    column.first[number] = place
                    column.cases += 1
            if score is not None:
                column.score[number] += score
                column.scores[number] += 1
                if score < column.least:  # noqa: PLR1730 (no call for every trial)
                    column.least = score
                if score > column.most:  # noqa: PLR1730 (as above)
                    column.most = score
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
        return ColumnTallies(self._ids, self._column(variant))

    def tallies(self) -> Iterator[CaseTally]:
        """What the trials that passed, failed or are in error came to, case by case."""
        for variant, column in sorted(self._columns.items()):
            # A column may lack the last cases.
            for case, first, tally in zip(self._ids, column.first, column.tallies(), strict=False):
                if any(tally):
                    yield CaseTally(variant, case, first, tally)

    def scores(self, variant: int) -> Iterator[CaseSum]:
        """The scores of a column's cases, and of how many of their trials the score isn't known.

        That is of those in error, and of those that failed while an expectation was in error.
        """
        return self._column(variant).score_sums()

    def scores_by_case(self, variant: int) -> Iterator[tuple[str, CaseSum]]:
        """As `scores`, each with its case."""
        column = self._column(variant)
        return zip(compress(self._ids, column.scored()), column.score_sums(), strict=True)

    def score_range(self, variant: int) -> tuple[float, float] | None:
        """The lowest and the highest score of a column's trials; None for no scores."""
        column = self._column(variant)
        return (column.least, column.most) if column.least <= column.most else None

    def latencies(self, variant: int) -> Iterator[CaseSum]:
        """The latencies of a column's cases, in seconds. Errors are not counted: they say nothing of time."""
        return self._column(variant).latency_sums()

    def latencies_by_case(self, variant: int) -> Iterator[tuple[str, CaseSum]]:
        """As `latencies`, each with its case."""
        column = self._column(variant)
        return zip(compress(self._ids, column.latencies), column.latency_sums(), strict=True)

    def _column(self, variant: int) -> _ColumnSums:
        """A column's sums; empty ones for a column without trials."""
        return self._columns.get(variant) or _ColumnSums()


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
        return (case for case, _ in self.items())

    def __len__(self) -> int:
        return self._column.cases

    def items(self) -> ItemsView[str, Tally]:
        """Each case with its tally."""
        return _Items(self)

    def values(self) -> ValuesView[Tally]:
        """The tallies."""
        return _Values(self)

    def by_number(self) -> Iterator[tuple[str, Tally]]:
        """Each case with its tally; what `items` goes through."""
        cases = zip(self._ids, self._column.tallies(), strict=False)  # it may lack the last cases
        return (each for each in cases if any(each[1]))

    def without_cases(self) -> Iterator[Tally]:
        """The tallies; what `values` goes through, without a look at the texts."""
        return filter(any, self._column.tallies())


class _Items(ItemsView[str, Tally]):
    _mapping: ColumnTallies

    def __iter__(self) -> Iterator[tuple[str, Tally]]:
        return self._mapping.by_number()


class _Values(ValuesView[Tally]):
    _mapping: ColumnTallies

    def __iter__(self) -> Iterator[Tally]:
        return self._mapping.without_cases()
