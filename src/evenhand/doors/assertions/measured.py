"""The scorers that simple types come to: a number and its bound, a yes or no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.wording.bounds import as_written, beside
from evenhand.scorers.text import text_of

EPSILON = 2.2e-16
"""What a float may miss a bound by."""


@dataclass(frozen=True, slots=True)
class Reaches:
    """A number from 0 to 1, which is the score, reaches a bound.

    Attributes:
        measure: Takes the number of an output's text.
    """

    label: str
    measure: Callable[[str], float] = field(repr=False)
    at_least: float

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        value = self.measure(text_of(output))
        passed = value >= self.at_least - EPSILON
        number = beside(value, self.at_least, digits=3)
        reason = "" if passed else f"{number}, wanted {as_written(self.at_least)}"
        return Score(value, passed, reason)

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Decided:
    """A yes or no with its reason, which a function finds in the output as it is.

    Attributes:
        decide: Whether it passes, and why.
    """

    label: str
    decide: Callable[[Any], tuple[bool, str]] = field(repr=False)

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        passed, reason = self.decide(output)
        return Score(1.0 if passed else 0.0, passed, reason)

    def __str__(self) -> str:
        return self.label
