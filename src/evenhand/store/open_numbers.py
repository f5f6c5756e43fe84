"""Numbers of single trials that are means of less than they say, as one of the scorers that give them is in error.

    tone(output) -> Score(1.0, named={"style": 0.5}), form(output) -> Score(1.0, named={"style": 1.0})

A trial's `style` is the mean of both. Where `tone` raised, nothing in the trial says that half of it is missing: other
trials of the column do, in which `tone` gave it. Such a number isn't known, and is left out, as one of an expectation
in error is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from evenhand.store.decoding import read_named_scores


class NumberedOutcome(Protocol):
    """As much of an expectation's outcome as says which numbers it gives."""

    @property
    def name(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def named(self) -> Mapping[str, float]: ...


class NamedTrial(Protocol):
    """As much of a trial as has its numbers by name."""

    @property
    def variant(self) -> int: ...
    @property
    def named_scores(self) -> Mapping[str, float]: ...
    @property
    def outcomes(self) -> Sequence[NumberedOutcome]: ...


class OpenNumbers:
    """Which numbers of a run's trials are open.

    Args:
        results: Reads the run's results from the first on; called once, when a trial needs it.
    """

    def __init__(self, results: Callable[[], Iterable[bytes]]) -> None:
        self._results = results
        self._names: dict[tuple[int, str], set[str]] | None = None

    def known(self, trial: NamedTrial) -> Mapping[str, float]:
        """The numbers of a trial, without those that are open."""
        numbers = trial.named_scores
        # Nearly all trials end here: the rest reads the whole run.
        if not numbers or not any(one.outcome == "error" for one in trial.outcomes):
            return numbers
        further = {name for one in trial.outcomes for name in one.named} & numbers.keys()
        if not further:
            return numbers
        if self._names is None:
            self._names = self._read()
        broken = {one.name for one in trial.outcomes if one.outcome == "error"}
        theirs = set[str]().union(*(self._names.get((trial.variant, name), ()) for name in broken))
        missing = further & theirs
        return {name: n for name, n in numbers.items() if name not in missing}

    def _read(self) -> dict[tuple[int, str], set[str]]:
        """By column and expectation the numbers that it gives beside its own."""
        names: dict[tuple[int, str], set[str]] = {}
        for trial in map(read_named_scores, self._results()):
            for one in trial.outcomes:
                if one.named:
                    names.setdefault((trial.variant, one.name), set()).update(one.named)
        return names
