"""Ages: `30d`, `12h`, and in words."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_AGE = re.compile(r"(\d{1,6}) ?([smhdwy])")
_WORDS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def age_s(text: str) -> int | None:
    """The seconds that a text says; None where it says none.

    >>> age_s("30d"), age_s("12h"), age_s("2w"), age_s("soon")
    (2592000, 43200, 1209600, None)
    """
    match = _AGE.fullmatch(text.strip().lower())
    return int(match[1]) * _SECONDS[match[2]] if match else None


def age_in_words(seconds: float) -> str:
    """An age for people, in days, hours or minutes.

    >>> age_in_words(86_400 * 45.2), age_in_words(7_300), age_in_words(20)
    ('45 days', '2 hours', '0 minutes')
    """
    unit, size = next(((u, s) for u, s in _WORDS if seconds >= s), _WORDS[-1])
    number = int(seconds // size)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
