"""Reads a judge's verdict out of what the judge wrote. What cannot be read without guessing is refused.

How this works: all JSON objects in the reply are looked at, read with good will (fences, prose before them, single
quotes, trailing commas). The verdict is the object with which the reply ends. One that is followed by more words may
have been disowned; one in quotation marks is somebody else's; and where there are several, they must say the same.
Each field is then taken only if it means one thing: `"8/10"`, `NaN`, a score off its scale, a key that is said twice or
an object without a verdict are errors, never scores. What the judge thought is gone before it comes here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from evenhand.core.errors import JudgeError
from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record
from evenhand.scorers.json_objects import FoundObject, UnreadableError, whole_objects

_YES = frozenset({"true", "yes", "pass", "passed", "y"})
_NO = frozenset({"false", "no", "fail", "failed", "n"})
_QUOTES = frozenset({'""', "''", "``", "“”", "‘’", "«»", "„“", "‹›"})
_FENCE = "```"
_END = re.compile(r"\s*(?:`{3,}|~{3,})?\s*")
_END_OF_LIST = re.compile(r"\s*\]\s*(?:`{3,}|~{3,})?\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
SHOWN = 200
FEW_KEYS = 2


class Ruling(Record, frozen=True):
    """What a judge said.

    Attributes:
        passed: Its verdict; None where it gave only a score.
        score: Its score; None where it gave only a verdict.
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
    value = the_object(text, ("pass", "score"))
    passed = yes_or_no(value["pass"]) if value.get("pass") is not None else None
    score = number(value["score"], scale) if value.get("score") is not None else None
    if passed is None and score is None:
        raise JudgeError("the judge gave neither a verdict nor a score")
    reason = value.get("reason")
    return Ruling(
        passed, score, reason if isinstance(reason, str) else "" if reason is None else str(reason)
    )


def the_object(text: str, keys: Collection[str]) -> Mapping[str, object]:
    """The JSON object with any of these keys with which a judge's reply ends.

    Raises:
        JudgeError: There is none, more words follow it, there are several that differ in these keys, or it cannot be
            read without guessing.
    """
    if not text.strip():
        raise JudgeError("the judge's reply is empty")
    try:
        objects = list(whole_objects(text, strict=True))
    except UnreadableError as error:
        raise JudgeError(f"the judge's reply {error}: {shown(text)}") from None
    verdicts = [
        candidate
        for candidate in objects
        if any(key in candidate.value for key in keys) and not _is_quoted(text, candidate)
    ]
    if not verdicts:
        where = f" ({' or '.join(keys)})" if len(keys) <= FEW_KEYS else ""
        raise JudgeError(f"the judge's reply holds no verdict{where}: {shown(text)}")
    # Only where the verdicts stand in a list may its closing bracket follow the last one.
    listed = text[: verdicts[0].start].rstrip().endswith("[")
    if (_END_OF_LIST if listed else _END).fullmatch(text, verdicts[-1].end) is None:
        raise JudgeError(f"the judge's reply does not end with its verdict: {shown(text)}")
    last = verdicts[-1].value
    if any(candidate.value.get(key) != last.get(key) for candidate in verdicts for key in keys):
        raise JudgeError(
            f"the judge's reply holds {len(verdicts)} verdicts that differ: {shown(text)}"
        )
    return last


def _is_quoted(text: str, candidate: FoundObject) -> bool:
    """Whether an object stands in quotation marks, in a line's code, or in a line that quotes somebody."""
    before, after = text[: candidate.start], text[candidate.end :]
    # A fence on the object's own line ends with a backtick too, and is no quotation.
    if before.endswith(_FENCE) and after.startswith(_FENCE):
        return False
    line = before.rpartition("\n")[2].lstrip()
    return line.startswith(">") or (before[-1:] + after[:1]) in _QUOTES


def reasoning_of(value: Mapping[str, object]) -> str:
    """The judge's reasoning.

    Raises:
        JudgeError: It gave none.
    """
    reasoning = value.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise JudgeError("the judge gave no reasoning")
    return reasoning.strip()


def confidence_of(value: Mapping[str, object]) -> float | None:
    """How sure the judge says it is, from 0 to 1; None where it does not say.

    Raises:
        JudgeError: What it says is no such number.
    """
    confidence = value.get("confidence")
    return None if confidence is None else number(confidence, (0.0, 1.0), "confidence")


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


def ruled(text: str, key: str) -> tuple[bool, str, float | None, Mapping[str, object]]:
    """The verdict under a key of a reply, its reasoning, its confidence, and all of the reply.

    Raises:
        JudgeError: It has no such verdict.
    """
    value = the_object(text, [key])
    if value[key] is None:
        raise JudgeError("the judge gave no verdict")
    return yes_or_no(value[key]), reasoning_of(value), confidence_of(value), value


def number(value: object, scale: tuple[float, float] | None, what: str = "score") -> float:
    """The number that this says, on a scale where there is one.

    Raises:
        JudgeError: It is not a number, or off the scale.
    """
    try:
        if isinstance(value, str):  # float() takes more for a number than a judge means by one
            result = float(value) if _NUMBER.fullmatch(value.strip()) else math.nan
        elif is_number(value):
            result = float(value)
        else:
            result = math.nan
    except OverflowError:
        raise JudgeError(f"the judge's {what} is not a number: {value_shown(value)}") from None
    if not math.isfinite(result):
        raise JudgeError(f"the judge's {what} is not a number: {value_shown(value)}")
    if scale is not None and not scale[0] <= result <= scale[1]:
        raise JudgeError(
            f"the judge's {what} is off its scale: {result:g}, not from {scale[0]:g} to {scale[1]:g}"
        )
    return result


def shown(text: str) -> str:
    """A reply, or a part of it, as an error message quotes it."""
    return repr(_in_a_line(text))


def value_shown(value: object) -> str:
    """A value in a reply, as an error message quotes it: a text in its quotes, a number without."""
    return _in_a_line(repr(value))


def _in_a_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
