"""The settled trials of a run as a sequence, each read from the run file when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import overload

from evenhand.core.run import TrialResult
from evenhand.core.wording.words import count
from evenhand.store.runfile import RunFile


class Trials(Sequence[TrialResult]):
    """Settled trials in the plan's order: `run.trials()[0]`, `run.trials()[-3:]`, `len(run.trials())`.

    It holds the trials that were settled when it was made. A slice is a list.
    """

    def __init__(self, file: RunFile, places: Sequence[int]) -> None:
        self._file = file
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[TrialResult]:
        places = iter(self._places)
        place = next(places, None)
        if place is None:
            return
        # One query for all of them, where `at` would make one for each. A run that goes on settles others between them.
        for trial in self._file.trials(place):
            if trial.index == place:
                yield trial
                place = next(places, None)
                if place is None:
                    return

    @overload
    def __getitem__(self, key: int) -> TrialResult: ...

    @overload
    def __getitem__(self, key: slice) -> list[TrialResult]: ...

    def __getitem__(self, key: int | slice) -> TrialResult | list[TrialResult]:
        if isinstance(key, slice):
            return list(self._file.at(self._places[key]))
        if not hasattr(key, "__index__"):
            raise TypeError(
                f"trials are numbered from 0, and {key!r} is not a number; those of a case are"
                " [trial for trial in run.trials() if trial.case == '…']"
            )
        number = index(key)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no trial {number}: {count(len(self), 'trial')} settled")
        (trial,) = self._file.at([self._places[number]])
        return trial

    def __repr__(self) -> str:
        return f"<Trials: {len(self):,} settled>"
