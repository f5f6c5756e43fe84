"""Random draws of a run's trials for people to label, and what people say of them, metric by metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LabelledVerdict = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True)
class Draw:
    """Trials that were drawn at random, each with the same probability.

    Attributes:
        number: Counts a run's draws, from 1.
        at: Seconds since 1970.
        seed: The order in which trials are drawn follows from it.
        metrics: What is to be labelled of each.
        population: How many trials there were to draw from.
        places: The drawn trials' places in the plan, in the order in which they were drawn.
    """

    number: int
    at: float
    seed: int
    metrics: tuple[str, ...]
    population: int
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetricLabel:
    """Whether a person finds that a trial's output meets what a metric asks for. The last one of a person counts.

    Attributes:
        at: Seconds since 1970.
        author: Who said it.
        index: The trial's place in the plan.
        metric: What it is about.
        verdict: What was said; None takes back what was said before.
    """

    at: float
    author: str
    index: int
    metric: str
    verdict: LabelledVerdict | None
