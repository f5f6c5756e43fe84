"""A scorer's answer, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import convert, field
from msgspec.structs import force_setattr

from evenhand.core.arguments import ArgumentsError, CheckedRecord
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record

Scale = tuple[float, float]
"""The lowest and the highest score there can be."""

LARGEST = 1e100
"""No score is further from 0 than this: sums of squares over any number of trials are still numbers."""

SHARES: Scale = (0.0, 1.0)
"""The scale of shares, rates, and yes or no."""

OFF_SCALE = "the judge gave "
"""How a warning begins of a score that is on another scale than its threshold, as 60 of 100 with one of 0.7."""

TRIGGER_PRECISION = "trigger precision"
TRIGGER_RECALL = "trigger recall"
TRIGGER_MEASURES = "trigger "
"""What the names of both measures of trigger tests begin with."""

GateVerdict = Literal["worse", "nothing", "undecided", "not worse", "better"]
State = Literal["pass", "fail", "error", "not_applicable"]
"""What became of an expectation or a trial. An error is never a score, and what did not apply is never 0."""

PASSED: Mapping[State, bool | None] = {"pass": True, "fail": False}
"""What is true or false of it; errors and what did not apply are neither."""


class Score(Record, frozen=True, metaclass=CheckedRecord):
    """What a scorer says of one output.

    Attributes:
        value: The number, on the scorer's own scale; None where the question did not apply, or `passed` stands
            although the number isn't known.
        passed: The scorer's own verdict; None where it only measures and a bound decides.
        reason: Why, in a line or two, for people.
        metadata: What else is worth keeping: a judge's raw answer, confidence, prompt version.
        named: Further numbers, by metric name.
        parts: What it was put together from.
        scale: The lowest and the highest value there can be; None where the scorer does not say.
        named_weights: What further numbers weigh among others of their name, where that isn't 1.
    """

    value: float | None
    passed: bool | None = None
    reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[Score, ...] = ()
    scale: Scale | None = None
    named_weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        passed: object = self.passed
        if passed is None or passed is True or passed is False:
            return
        # Every verdict but False passes: 0, "no" and NumPy's False would.
        if not is_bool(passed):
            raise ArgumentsError(
                f"the verdict of a Score is {passed!r}, and has to be True, False or None",
                hint="Write Score(value, passed); a number is the value.",
            )
        force_setattr(self, "passed", bool(passed))


def is_bool(value: object) -> bool:
    """Whether this is true or false, NumPy's too.

    >>> is_bool(False), is_bool(0), is_bool("no")
    (True, False, False)
    """
    kind = type(value)
    # Compared by name, so that NumPy is not imported.
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def unknown(outcome: str, score: float | None) -> bool:
    """Whether an expectation that applied has no number: it may have come to any, and so may every mean with it.

    >>> unknown("error", None), unknown("fail", None), unknown("not_applicable", None), unknown("fail", 0.0)
    (True, True, False, False)
    """
    return score is None and outcome != "not_applicable"


def mean_by_weight(pairs: Sequence[tuple[float, float]]) -> float:
    """The mean of values with their weights. Where all of them weigh 0, they are only measured, and weigh the same.

    >>> mean_by_weight([(1.0, 3.0), (0.0, 1.0)]), mean_by_weight([(1.0, 0.0), (0.0, 0.0)])
    (0.75, 0.5)
    """
    total = math.fsum(weight for _, weight in pairs)
    if not total:
        return math.fsum(value for value, _ in pairs) / len(pairs)
    return math.fsum(value * weight for value, weight in pairs) / total


def usable(value: float) -> bool:
    """Whether this number can be a score: not NaN, not an infinity, and not beyond `LARGEST`.

    >>> usable(0.5), usable(float("nan")), usable(1e308)
    (True, False, False)
    """
    return -LARGEST <= value <= LARGEST


def check(passed: bool, reason: str = "", **metadata: Any) -> Score:
    """The score of a yes-or-no question: 1 or 0, and the verdict."""
    return Score(1.0 if passed else 0.0, passed, reason, metadata)


class Outcome(Record, frozen=True):
    """One settled expectation.

    Attributes:
        name: The label that people read, e.g. `contains "30 days"`.
        outcome: pass, fail, error or not_applicable.
        score: The number; None for an error, for what did not apply, and where the verdict alone is known.
        weight: Its share in the trial's score; 0 keeps it out of score and verdict.
        metric: The name under which its score is also counted; empty for none.
        named: Further numbers, by metric name.
        metadata: What the scorer and the user attached.
        error: The slug of what went wrong, for an error.
        at_least: The bound that the score had to reach; None for none.
        at_most: The bound that it had to stay under; None for none.
        hint: What to do about an error, or where it was raised; empty where there is nothing to say.
        rests_on: The model calls that were made for it, each by its request's key and its number among the trial's
            identical requests, as the journal has them.
        scale: The lowest and the highest score there can be; None where the scorer does not say.
        named_weights: What further numbers weigh among others of their name, where that isn't 1.
    """

    name: str
    outcome: State
    score: float | None
    reason: str = ""
    weight: float = 1.0
    metric: str = ""
    named: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    at_least: float | None = None
    at_most: float | None = None
    hint: str = ""
    rests_on: tuple[tuple[str, int], ...] = ()
    scale: Scale | None = None
    named_weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool | None:
        """Whether the expectation is met; None for an error, and for what did not apply."""
        return PASSED.get(self.outcome)


COMPONENTS = "components"
"""In an outcome's metadata: those that count as one in it, as JSON-ready dicts."""

DEFINITION = "definition"
"""In the metadata of such a part: what it asks."""


def with_parts(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Outcomes, each followed by those that count as one in it, as far as these are kept whole.

    What a judge says inside an `assert-set` is a verdict of its own: it is labelled, corrected and audited as others.
    """
    for outcome in outcomes:
        yield outcome
        parts = outcome.metadata.get(COMPONENTS)
        if is_array(parts):
            # What graders and other tools say of their parts is no outcome of ours.
            whole = [part for part in parts if is_mapping(part) and "metadata" in part]
            yield from with_parts(convert(part, Outcome) for part in whole)


class Verdict(Record, frozen=True):
    """What a trial's outcomes come to, by its rule.

    Attributes:
        threshold: What the score had to reach; None where it was not the score that decided.
        scale: The lowest and the highest score there can be; None where some scorer does not say.
    """

    outcome: State
    score: float | None
    reason: str = ""
    named_scores: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    scale: Scale | None = None
