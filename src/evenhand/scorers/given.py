"""What scorers are given, looked at when they are made: a mistake is told where it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from evenhand.core.errors import UsageError


def need_text(who: str, what: str, given: object) -> None:
    """Refuses what isn't text.

    Raises:
        UsageError: It isn't one.
    """
    if not isinstance(given, str):
        raise UsageError(f"{who}: {what} is {given!r}, not a text")


def need_list(who: str, given: object, hint: str) -> None:
    """Refuses what is no list. A text is none, though Python goes through its letters.

    Raises:
        UsageError: It isn't one; the hint says what to write.
    """
    if isinstance(given, str):
        raise UsageError(f"{who}: {given!r} is a text, not a list", hint=hint)
    if not isinstance(given, Sequence):
        raise UsageError(f"{who}: {given!r} is not a list", hint=hint)


def texts(who: str, given: Sequence[str]) -> tuple[str, ...]:
    """A list of texts, as it can be kept.

    Raises:
        UsageError: It is one text, no list, or a list with something else in it.
    """
    need_list(who, given, f"Write {who}(['…', '…']).")
    for one in given:
        need_text(who, "one of the texts", one)
    return tuple(given)


def need_number(
    who: str, what: str, given: object, scale: tuple[float, float] | None = None
) -> None:
    """Refuses what is no number, or one off its scale.

    Raises:
        UsageError: It isn't one.
    """
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not number:
        raise UsageError(f"{who}: {what} is {given!r}, not a number")
    if scale is not None and not scale[0] <= cast(float, given) <= scale[1]:
        raise UsageError(f"{who}: {what} is {given!r}, not from {scale[0]:g} to {scale[1]:g}")


def need_mapping(who: str, what: str, given: object, hint: str) -> None:
    """Refuses what is no dict.

    Raises:
        UsageError: It isn't one; the hint says what to write.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{who}: {what} is {given!r}, not a dict", hint=hint)
