"""Random draws of pairs of outputs that a judge compared, and which of the two people prefer."""

from __future__ import annotations

from typing import Literal

from evenhand.core.record import Record

PairAnswer = Literal["first", "second", "tie"]
"""The text shown first, the other one, or neither."""
Pair = tuple[int, int]
"""Two trials, as places in the plan: the one whose output is shown first, and the other."""


class PairDraw(Record, frozen=True, kw_only=True):
    """Pairs that were drawn at random, each as likely as any other that had not been drawn before.

    Attributes:
        number: Counts a run's draws of pairs, from 1.
        at: Seconds since 1970.
        seed: Which pairs are drawn, in which order, and which output is shown first follows from it.
        metric: The ranking.
        population: How many pairs there were, those that had been drawn before among them.
        pairs: The drawn ones, in their order.
    """

    number: int
    at: float
    seed: int
    metric: str
    population: int
    pairs: tuple[Pair, ...]


class PairLabel(Record, frozen=True):
    """Which of two outputs a person prefers by the criteria of a ranking. The last one of a person counts.

    Attributes:
        at: Seconds since 1970.
        author: Who said it.
        pair: The trials, the one that was shown first before the other.
        metric: The ranking.
        answer: What was said; None takes back what was said before.
    """

    at: float
    author: str
    pair: Pair
    metric: str
    answer: PairAnswer | None

    @property
    def key(self) -> tuple[Pair, str]:
        """The pair, in whichever order it was shown, and the metric that it was compared by."""
        return unordered(self.pair), self.metric


def unordered(pair: Pair) -> Pair:
    """A pair with the trial first that comes first in the plan.

    >>> unordered((7, 2))
    (2, 7)
    """
    return min(pair), max(pair)
