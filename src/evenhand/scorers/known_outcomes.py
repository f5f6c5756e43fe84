"""Questions that are settled before they are asked: the answer is known, or none can be had."""

from __future__ import annotations

from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import Traits


class Answered(Record, frozen=True):
    """An answer that is known once there is a reply, whatever the output says."""

    traits: ClassVar[Traits] = Traits(asks=())
    label: str
    answer: Score

    def score(self, output: Any, trial: Trial) -> Score:
        del output, trial
        return self.answer

    def __str__(self) -> str:
        return self.label


class Raised(Record, frozen=True):
    """A question that could not be put: an error, wherever it is asked."""

    traits: ClassVar[Traits] = Traits(asks=())
    label: str
    error: Exception

    def score(self, output: Any, trial: Trial) -> Score:
        del output, trial
        raise self.error

    def __str__(self) -> str:
        return self.label
