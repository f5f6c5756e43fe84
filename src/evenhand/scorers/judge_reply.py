"""Reads a judge's verdict out of what the judge wrote. What cannot be read without guessing is refused.

How this works: all JSON objects in the reply are looked at, read with good will (fences, prose around them, single
quotes, trailing commas). Exactly one of them may hold a verdict, or several that say the same. Each field is then taken
only if it means one thing: `"8/10"`, `NaN`, a score off its scale or an object without a verdict are errors, never
scores.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from evenhand.core.errors import JudgeError
from evenhand.scorers.found_json import UnreadableError, objects_in

_YES = frozenset({"true", "yes", "pass", "passed", "y"})
_NO = frozenset({"false", "no", "fail", "failed", "n"})
_FIELDS = frozenset({"pass", "score"})
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a judge said.

    Attributes:
        passed: Its verdict; None where it gave only a score.
        score: Its score; None where it gave only a verdict.
        reason: Its words.
    """

    passed: bool | None
    score: float | None
    reason: str


def read_ruling(text: str, *, scale: tuple[float, float] | None = (0.0, 1.0)) -> Ruling:
    """The ruling in a judge's reply.

    Args:
        text: The reply, prose and fences included.
        scale: The lowest and the highest score there is; None where the judge was told a scale of the user's own.

    Raises:
        JudgeError: There is none, there are several that differ, or it cannot be read without guessing.
    """
    if not text.strip():
        raise JudgeError("the judge's reply is empty")
    try:
        found = [value for value in objects_in(text, strict=True) if not _FIELDS.isdisjoint(value)]
    except UnreadableError as error:
        raise JudgeError(f"the judge's reply {error}: {shown(text)}") from None
    if not found:
        raise JudgeError(f"the judge's reply holds no verdict: {shown(text)}")
    rulings = {_ruling(value, scale) for value in found}
    verdicts = {(ruling.passed, ruling.score) for ruling in rulings}
    if len(verdicts) > 1:
        raise JudgeError(
            f"the judge's reply holds {len(found)} verdicts that differ: {shown(text)}"
        )
    return max(rulings, key=lambda ruling: len(ruling.reason))


def _ruling(value: Mapping[str, object], scale: tuple[float, float] | None) -> Ruling:
    passed = yes_or_no(value["pass"]) if value.get("pass") is not None else None
    score = number(value["score"], scale) if value.get("score") is not None else None
    if passed is None and score is None:
        raise JudgeError(f"the judge gave neither a verdict nor a score: {shown(str(value))}")
    reason = value.get("reason")
    return Ruling(
        passed, score, reason if isinstance(reason, str) else "" if reason is None else str(reason)
    )


def the_object(text: str, keys: Collection[str]) -> Mapping[str, object]:
    """The one JSON object in a judge's reply that has any of these keys.

    Raises:
        JudgeError: There is none, there are several that differ in them, or it cannot be read without guessing.
    """
    if not text.strip():
        raise JudgeError("the judge's reply is empty")
    try:
        found = [value for value in objects_in(text, strict=True) if any(k in value for k in keys)]
    except UnreadableError as error:
        raise JudgeError(f"the judge's reply {error}: {shown(text)}") from None
    if not found:
        raise JudgeError(f"the judge's reply holds no verdict: {shown(text)}")
    said = [[value.get(key) for key in keys] for value in found]
    if any(other != said[0] for other in said):
        raise JudgeError(
            f"the judge's reply holds {len(found)} verdicts that differ: {shown(text)}"
        )
    return found[-1]


def reasoning_of(value: Mapping[str, object]) -> str:
    """The judge's reasoning.

    Raises:
        JudgeError: It gave none.
    """
    said = value.get("reasoning")
    if not isinstance(said, str) or not said.strip():
        raise JudgeError(f"the judge gave no reasoning: {shown(str(value))}")
    return said.strip()


def confidence_of(value: Mapping[str, object]) -> float | None:
    """How sure the judge says it is, from 0 to 1; None where it does not say.

    Raises:
        JudgeError: What it says is no such number.
    """
    said = value.get("confidence")
    return None if said is None else number(said, (0.0, 1.0), "confidence")


def yes_or_no(value: object) -> bool:
    """The verdict that this says.

    Raises:
        JudgeError: It says neither.
    """
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise JudgeError(f"the judge's verdict is neither yes nor no: {value_shown(value)}")


def number(value: object, scale: tuple[float, float] | None, what: str = "score") -> float:
    """The number that this says, on a scale where there is one.

    Raises:
        JudgeError: It is not a number, or off the scale.
    """
    try:
        found = math.nan if isinstance(value, bool) else float(cast("str", value))
    except (TypeError, ValueError, OverflowError):
        raise JudgeError(f"the judge's {what} is not a number: {value_shown(value)}") from None
    if not math.isfinite(found):
        raise JudgeError(f"the judge's {what} is not a number: {value_shown(value)}")
    if scale is not None and not scale[0] <= found <= scale[1]:
        raise JudgeError(
            f"the judge's {what} is off its scale: {found:g}, not from {scale[0]:g} to {scale[1]:g}"
        )
    return found


def shown(text: str) -> str:
    """A reply, or a part of it, as an error message quotes it."""
    return repr(_in_a_line(text))


def value_shown(value: object) -> str:
    """The same for a value that stands in a reply: a text in its quotes, a number without."""
    return _in_a_line(repr(value))


def _in_a_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
