"""What trials kept for later ones."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from evenhand.engine.backing import RunJournal

KEPT = 5_000
"""Of so many trials, what they kept stays at hand; of others it is read from the run's file. Twice as many as may wait
there to be written."""


class KeptValues:
    """What the trials of a run kept, the newest at hand.

    Args:
        journal: Has those that are not.
    """

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal
        self._newest: OrderedDict[int, Any] = OrderedDict()

    def note(self, index: int, kept: Any) -> None:
        """The trial at this place kept a value."""
        self._newest[index] = kept
        if len(self._newest) > KEPT:
            self._newest.popitem(last=False)

    def of(self, index: int) -> Any:
        """What the trial at this place kept; None for nothing."""
        if index in self._newest:
            return self._newest[index]
        result = self._journal.result(index)
        if result is not None and result.kept is not None:
            self.note(index, result.kept)
        return None if result is None else result.kept
