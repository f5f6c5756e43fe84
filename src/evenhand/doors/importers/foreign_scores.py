"""Other tools' scores as outcomes.

Most tools keep a number and no bound. Such a number is measured and decides nothing, also if it is 0 or 1: what a score
is can't be told from the values that it happens to have. Truth values are verdicts, and so is what the tool itself
decided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import field

from evenhand.core.record import Record
from evenhand.core.score import Outcome, State, usable
from evenhand.languages.documents.foreign import Notes, shown


class ForeignScore(Record, frozen=True):
    """A score as its tool recorded it.

    Attributes:
        value: A number, a truth value, a label, or None.
        where: The file and the path inside it.
        passed: What the tool decided; None where it decided nothing.
        error: Why there is no score; empty where nothing failed.
        at_least: The tool's bound.
        metadata: What else it recorded.
    """

    name: str
    value: object
    where: str
    reason: str = ""
    passed: bool | None = None
    error: str = ""
    at_least: float | None = None
    at_most: float | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


def outcome_of(one: ForeignScore, notes: Notes) -> Outcome:
    """The outcome that a score stands for."""
    number = finite(one.value)
    metadata = dict(one.metadata)
    if one.error:
        return Outcome(
            one.name, "error", None, one.error, metric=one.name, metadata=metadata, error="judge"
        )
    if one.passed is not None:
        measures = one.at_least is not None or one.at_most is not None
        measures = measures or isinstance(one.value, (int, float))  # NaN, say
        if number is None and not measures:  # or else a number is missing, which is neither 0 nor 1
            number = float(one.passed)
        return Outcome(
            one.name,
            "pass" if one.passed else "fail",
            number,
            one.reason,
            metric=one.name,
            metadata=metadata,
            at_least=one.at_least,
            at_most=one.at_most,
        )
    if number is None:
        return _no_number(one, metadata, notes)
    if isinstance(one.value, bool):
        state = "pass" if number == 1 else "fail"
        return Outcome(one.name, state, number, one.reason, metric=one.name, metadata=metadata)
    notes.changed(one.where, measured_note(one.name))
    reason = one.reason or f"measured: {number:g}"
    named = {one.name: number}
    return Outcome(one.name, "not_applicable", None, reason, named=named, metadata=metadata)


def measured_note(name: str) -> str:
    """What is said of a score that decides nothing."""
    return f"{shown(name)} is a number without a bound: it is measured, and decides nothing"


def state_of(outcomes: Sequence[Outcome], *, failed: bool = False) -> State | None:
    """The outcome of a trial of which its tool says none; None for what its outcomes come to."""
    if failed:
        return "error"
    return None if outcomes else "not_applicable"


def _no_number(one: ForeignScore, metadata: dict[str, object], notes: Notes) -> Outcome:
    reason = one.reason or "no score was recorded"
    if one.value is None:
        notes.changed(one.where, f"{shown(one.name)} has no score: it does not apply")
    else:
        text = (
            f"{shown(one.name)} is {shown(one.value)}, no number: it is kept, and decides nothing"
        )
        notes.changed(one.where, text)
        # JSON has no form for NaN and infinity.
        too_large = isinstance(one.value, float) and not math.isfinite(one.value)
        metadata["value"] = str(one.value) if too_large else one.value
        reason = f"{one.value}: {one.reason}" if one.reason else str(one.value)
    return Outcome(one.name, "not_applicable", None, reason, metric=one.name, metadata=metadata)


def finite(value: object) -> float | None:
    """A truth value or a number as a float; None where it is neither, or cannot be a score."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if usable(number) else None
    return None
