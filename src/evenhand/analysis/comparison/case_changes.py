"""The cases of a comparison, and what each came to on both sides: arrays, and objects as they are asked for."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from math import isclose
from typing import TypeVar, overload

from evenhand.analysis.comparison.case_values import ColumnCases
from evenhand.analysis.comparison.comparison_results import CaseChange
from evenhand.stats.tallies import OpenNumber

_SORTED_AT_ONCE = 1 << 16
_T = TypeVar("_T")


class CaseNames:
    """What to call the cases of two columns: as the first does, and those that it lacks as the second."""

    def __init__(self, first: ColumnCases, second: ColumnCases) -> None:
        self.ids = first.ids
        self._first, self._second = first, second

    def of(self, number: int) -> str:
        """A case's line for people."""
        return (self._first if number in self._first else self._second).name(number)


class _Looked(Sequence[_T]):
    """Items that are made when they are looked at; equal to any other sequence of equal items."""

    def _at(self, place: int) -> _T:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        # A range does what a sequence has to: negative indices, steps, and IndexError.
        places = range(len(self))[index]
        return self._at(places) if isinstance(places, int) else tuple(map(self._at, places))

    def __iter__(self) -> Iterator[_T]:
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)  # pyright: ignore[reportUnknownArgumentType]

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return repr(tuple(self))


class ListedCases(_Looked[str]):
    """Cases by name."""

    def __init__(self, numbers: Iterable[int], names: CaseNames) -> None:
        self._numbers = array("I", numbers)
        self._names = names

    def __len__(self) -> int:
        return len(self._numbers)

    def _at(self, place: int) -> str:
        return self._names.of(self._numbers[place])


def _difference(first: float, second: float) -> float:
    """The second minus the first; 0 for what two ways to compute the same number leave between them."""
    return 0.0 if isclose(first, second, rel_tol=1e-9, abs_tol=1e-12) else second - first


class CasePairs(_Looked[CaseChange]):
    """Cases with their means on both sides."""

    def __init__(self, names: CaseNames) -> None:
        self._names = names
        self.numbers = array("I")
        self._first, self._second = array("d"), array("d")
        self._open = array("I")
        """The places of those that errors leave open, whose highest means follow; the others have one mean."""
        self._first_most, self._second_most = array("d"), array("d")

    def add(self, number: int, first: OpenNumber, second: OpenNumber) -> None:
        """Puts one behind the others."""
        # Errors are rare: only cases that have some take the room of two more numbers.
        if first.least != first.most or second.least != second.most:
            self._open.append(len(self.numbers))
            self._first_most.append(first.most)
            self._second_most.append(second.most)
        self.numbers.append(number)
        self._first.append(first.least)
        self._second.append(second.least)

    def __len__(self) -> int:
        return len(self.numbers)

    def _means(self, place: int) -> tuple[OpenNumber, OpenNumber]:
        first, second = self._first[place], self._second[place]
        # Places are added in order, so the open ones are sorted.
        at = bisect_left(self._open, place) if self._open else 0
        if at == len(self._open) or self._open[at] != place:
            return OpenNumber(first, first), OpenNumber(second, second)
        return (OpenNumber(first, self._first_most[at]), OpenNumber(second, self._second_most[at]))

    def _at(self, place: int) -> CaseChange:
        number = self.numbers[place]
        return CaseChange(self._names.ids[number], self._names.of(number), *self._means(place))

    def differences(self) -> tuple[array[float], array[float]]:
        """Each one's lowest and highest difference, second minus first; the same array where errors leave none open.

        Values that differ by rounding alone do not differ.
        """
        least = array("d", map(_difference, self._first, self._second))
        if not self._open:
            return least, least
        most = least[:]
        for at, place in enumerate(self._open):
            # The largest drop there can be: the first at its best, the second at its worst.
            least[place] = _difference(self._first_most[at], self._second[place])
            most[place] = _difference(self._first[place], self._second_most[at])
        return least, most

    def means(self) -> tuple[tuple[array[float], array[float]], tuple[array[float], array[float]]]:
        """The lowest and the highest means of the first side, and those of the second."""
        if not self._open:
            return (self._first, self._first), (self._second, self._second)
        first, second = self._first[:], self._second[:]
        for at, place in enumerate(self._open):
            first[place], second[place] = self._first_most[at], self._second_most[at]
        return (self._first, first), (self._second, second)

    def chosen(self, places: Iterable[int]) -> CasePairs:
        """The cases at these places, in that order."""
        chosen = CasePairs(self._names)
        for place in places:
            chosen.add(self.numbers[place], *self._means(place))
        return chosen


def in_order(places: Sequence[int], key: Callable[[int], float]) -> Iterator[int]:
    """Places by their keys, the lowest first; equal ones stay as they are. Only a part of them is sorted at once."""
    runs = [
        array("I", sorted(places[first : first + _SORTED_AT_ONCE], key=key))
        for first in range(0, len(places), _SORTED_AT_ONCE)
    ]
    # Sorting all at once would make a Python float of each key; merge holds one of each part.
    return merge(*runs, key=key)
