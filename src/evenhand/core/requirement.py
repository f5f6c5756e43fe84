"""What a run has to reach as a whole: a share of trials that pass, or a mean of what is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenhand.core.arguments import checked
from evenhand.core.ranges import NUMBER
from evenhand.core.record import Record

CLOSE = 1e-9
PASSED = ""
"""The metric of a requirement that asks for a share of trials that pass."""


class Bound(Record, frozen=True):
    """What a number has to reach, or to stay under; both ends are included.

    Attributes:
        at_least: The least that will do; None for no such bound.
        at_most: The most that will do; None for no such bound.
    """

    at_least: float | None = None
    at_most: float | None = None

    def keeps(self, value: float) -> bool:
        """Whether a number is within it; a difference of 1e-9 is none."""
        low, high = self.at_least, self.at_most
        return (low is None or value >= low - CLOSE) and (high is None or value <= high + CLOSE)

    def __str__(self) -> str:
        return self.worded("{:.12g}".format)

    def worded(self, number: Callable[[float], str]) -> str:
        """The requirement in words, with its numbers written so: `at least 0.9`, `at least 90 %`."""
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {number(end)}" for word, end in ends if end is not None)


@checked
def at_least(number: float) -> Bound:
    """A mean over the run must reach this number: what `EvalSet` takes as `require={"accuracy": …}`.

    Raises:
        UsageError: It is not a finite number.
    """
    NUMBER.check("at_least", number)
    return Bound(at_least=number)


@checked
def at_most(number: float) -> Bound:
    """A mean over the run must not pass this number: what `EvalSet` takes as `require={"latency": …}`.

    Raises:
        UsageError: It is not a finite number.
    """
    NUMBER.check("at_most", number)
    return Bound(at_most=number)


class Requirement(Record, frozen=True):
    """A bound that holds for some variants of a run, each of which has to keep it.

    Attributes:
        metric: What is measured, by the name of a metric or an expectation; PASSED for the share of trials that pass.
        bound: What its mean over the cases of a variant has to be.
        variants: The variants, by index.
        case: The one case that it is about, by id; empty for all of them.
    """

    metric: str
    bound: Bound
    variants: tuple[int, ...]
    case: str = ""


def share_required(requirements: Sequence[Requirement], otherwise: float) -> float | None:
    """The share of trials that has to pass; None where none has to, or not the same everywhere.

    Args:
        requirements: What a run has to reach.
        otherwise: The share where they are empty.
    """
    shares = {one.bound.at_least for one in requirements if one.metric == PASSED}
    if not requirements:
        return otherwise
    return shares.pop() if len(shares) == 1 else None
