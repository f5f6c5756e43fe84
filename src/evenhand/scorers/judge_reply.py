"""Reads a judge's verdict out of what the judge wrote. What cannot be read without guessing is refused.

How this works: all JSON objects in the reply are looked at, read with good will (fences, prose around them, single
quotes, trailing commas). Exactly one of them may hold a verdict, or several that say the same. Each field is then taken
only if it means one thing: `"8/10"`, `NaN`, a score off its scale or an object without a verdict are errors, never
scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        raise JudgeError(f"the judge's reply {error}: {_shown(text)}") from None
    if not found:
        raise JudgeError(f"the judge's reply holds no verdict: {_shown(text)}")
    rulings = {_ruling(value, scale) for value in found}
    verdicts = {(ruling.passed, ruling.score) for ruling in rulings}
    if len(verdicts) > 1:
        raise JudgeError(
            f"the judge's reply holds {len(found)} verdicts that differ: {_shown(text)}"
        )
    return max(rulings, key=lambda ruling: len(ruling.reason))


def _ruling(value: Mapping[str, object], scale: tuple[float, float] | None) -> Ruling:
    passed = _verdict(value["pass"]) if value.get("pass") is not None else None
    score = _number(value["score"], scale) if value.get("score") is not None else None
    if passed is None and score is None:
        raise JudgeError(f"the judge gave neither a verdict nor a score: {_shown(str(value))}")
    reason = value.get("reason")
    return Ruling(
        passed, score, reason if isinstance(reason, str) else "" if reason is None else str(reason)
    )


def _verdict(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise JudgeError(f"the judge's verdict is neither yes nor no: {_shown(repr(value))}")


def _number(value: object, scale: tuple[float, float] | None) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(cast("str", value))
    except (TypeError, ValueError, OverflowError):
        raise JudgeError(f"the judge's score is not a number: {_shown(repr(value))}") from None
    if not math.isfinite(number):
        raise JudgeError(f"the judge's score is not a number: {_shown(repr(value))}")
    if scale is not None and not scale[0] <= number <= scale[1]:
        raise JudgeError(
            f"the judge's score is off its scale: {number:g}, not from {scale[0]:g} to {scale[1]:g}"
        )
    return number


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
