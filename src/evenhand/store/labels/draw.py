"""Random draws of a run's trials for people to label, and what people say of them, metric by metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from evenhand.core.record import Record

LabelledVerdict = Literal["pass", "fail"]
VERDICTS: Mapping[str, LabelledVerdict] = {"pass": "pass", "fail": "fail"}

REVIEW = "(review)"
"""What stands for the metric of a draw whose outputs are reviewed: read for whatever is wrong with them."""

Design = Literal["uniform", "active", "equal", "proportional", "failures"]
"""uniform: every trial alike · active: those of which the judge is unsure are likelier · equal: as many of each
stratum · proportional: of each stratum as many as its size asks for · failures: those that failed are likelier."""


class Stratum(Record, frozen=True):
    """Trials that were equally likely to be drawn.

    Attributes:
        name: What they have in common, in a few words.
        drawn: How many were drawn.
        inclusion: How likely each was to be drawn that had not been drawn before, from 0 to 1.
        places: All of them, drawn or not, as places in the plan.
    """

    name: str
    drawn: int
    inclusion: float
    places: tuple[int, ...]


class Draw(Record, frozen=True, kw_only=True):
    """Trials that were drawn at random, with known probabilities.

    Attributes:
        number: Counts a run's draws, from 1.
        at: Seconds since 1970.
        seed: The order in which trials are drawn follows from it.
        metrics: What is to be labelled of each.
        population: How many trials there were to draw from.
        places: The drawn trials' places in the plan, in the order in which they were drawn.
        design: How likely each was to be drawn.
        by: The column of the cases that the strata are of; empty for none.
        strata: What was drawn from, where some trials were likelier than others; empty for a uniform draw of all. Where
            trials were settled since, a uniform draw has strata, too: what it was drawn from, and what else there was.
    """

    number: int
    at: float
    seed: int
    metrics: tuple[str, ...]
    population: int
    places: tuple[int, ...]
    design: Design = "uniform"
    by: str = ""
    strata: tuple[Stratum, ...] = ()


class MetricLabel(Record, frozen=True):
    """Whether a person finds that a trial's output meets what a metric asks for. The last one of a person counts.

    Attributes:
        at: Seconds since 1970.
        index: The trial's place in the plan.
        verdict: What was said; None takes back what was said before.
    """

    at: float
    author: str
    index: int
    metric: str
    verdict: LabelledVerdict | None


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
        pair: The trials, the one that was shown first before the other.
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
