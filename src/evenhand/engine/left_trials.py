"""Trials that a run goes on without, because a model that they need can't be had.

How this works: a key that is refused, an account without quota, a model that doesn't exist and a vendor that doesn't
answer are matters of the trials that need them. These are left without a result, for `evenhand resume`; all others go
on. A variant that has come to nothing so many times in a row isn't begun any more: its own code would run in vain.
"""

from __future__ import annotations

from collections import Counter

from evenhand.core.errors import ProviderError, Unreachable
from evenhand.core.plan import PlannedTrial
from evenhand.store.earlier import Settled

IN_A_ROW = 30
"""Cases may differ in the models that they need: fewer say little about the next one."""


class LeftTrials:
    """The trials that one walk through the plan has left.

    Args:
        size: Trials of the plan.

    Attributes:
        calls: The calls that they made, which they make again if they are run again.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.begin()

    def begin(self) -> None:
        """Starts anew: the plan is walked again."""
        self._trials = Settled(self._size)
        self._in_a_row: Counter[int] = Counter()
        self._reasons: dict[str, str] = {}
        self.calls = 0

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def reasons(self) -> str:
        """Why trials were left: each reason once, the first one first."""
        return "\n".join(self._reasons.values())

    def add(self, planned: PlannedTrial, error: ProviderError | None = None) -> None:
        """Leaves a trial for this reason; None where it is left because of others."""
        self._trials.add(planned.index)
        if error is not None:
            self._in_a_row[planned.variant.index] += not _is_doubt(error)
            self._reasons.setdefault(error.message, str(error))

    def came_through(self, variant: int) -> None:
        """Notes that a trial of this variant has a result."""
        self._in_a_row.pop(variant, None)

    def skips(self, planned: PlannedTrial) -> bool:
        """Whether a trial isn't worth beginning: its variant comes to nothing, or a trial that it needs was left."""
        return self._in_a_row[planned.variant.index] >= IN_A_ROW or any(
            index in self._trials for index in planned.after
        )


def _is_doubt(error: ProviderError) -> bool:
    """Whether other trials are to be tried at that account: it is they that tell."""
    return isinstance(error, Unreachable) and not error.for_good
