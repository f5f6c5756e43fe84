"""What scorers are given, looked at when they are made: a mistake is told where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number

NOTHING_EXPECTED = "Leave the expectation out where nothing is expected."
"""What to do about the text that a case lacks."""


def need_text(who: str, what: str, value: object, hint: str = "") -> None:
    """Refuses what isn't text.

    Raises:
        UsageError: It isn't one; the hint says what to write.
    """
    if not isinstance(value, str):
        hint = NOTHING_EXPECTED if value is None and not hint else hint
        raise UsageError(f"{who}: {what} is {value!r}, not a text", hint=hint)


def need_list(who: str, value: object, hint: str) -> None:
    """Refuses what is no list. A text is none, though Python goes through its letters.

    Raises:
        UsageError: It isn't one; the hint says what to write.
    """
    if isinstance(value, str):
        raise UsageError(f"{who}: {value!r} is a text, not a list", hint=hint)
    if not isinstance(value, Sequence):
        raise UsageError(f"{who}: {value!r} is not a list", hint=hint)


def texts(who: str, values: Sequence[str]) -> tuple[str, ...]:
    """A list of texts, as it can be kept.

    Raises:
        UsageError: It is one text, no list, or a list with something else in it.
    """
    need_list(who, values, f"Write {who}(['…', '…']).")
    for one in values:
        need_text(who, "one of the texts", one)
    return tuple(values)


def need_number(
    who: str, what: str, value: object, scale: tuple[float, float] | None = None
) -> None:
    """Refuses what is no number, or one off its scale.

    Raises:
        UsageError: It isn't one.
    """
    # True is an int in Python, and nobody means it as a bound.
    if not is_number(value):
        raise UsageError(f"{who}: {what} is {value!r}, not a number")
    if scale is not None and not scale[0] <= value <= scale[1]:
        raise UsageError(f"{who}: {what} is {value!r}, not from {scale[0]:g} to {scale[1]:g}")


def need_mapping(who: str, what: str, value: object, hint: str) -> None:
    """Refuses what is no dict.

    Raises:
        UsageError: It isn't one; the hint says what to write.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{who}: {what} is {value!r}, not a dict", hint=hint)
