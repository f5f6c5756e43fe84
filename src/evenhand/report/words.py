"""How numbers and foreign text are written, in one place.

Text from models, datasets and judges may hold terminal escapes, control characters or marks that turn the direction of
writing. `safe` shows them instead of obeying them.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)
SHORT_ID = 10


def safe(text: str, *, multiline: bool = False) -> str:
    """Foreign text, fit to be printed: what would steer a terminal is shown as an escape.

    Args:
        multiline: Keeps line breaks and tabs; otherwise everything is put on one line.
    """
    text = text.replace("\r\n", "\n")
    if not multiline:
        text = " ".join(text.split())
    return _UNSAFE.sub(_shown, text)


def clip(text: str, width: int) -> str:
    """Text cut to a width, with an ellipsis where something is missing."""
    return text if len(text) <= width else text[: max(0, width - 1)].rstrip() + "…"


def money(usd: float | None) -> str:
    """US dollars, in as many digits as say something; `unknown` for None."""
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}" if usd >= 0.0001 else f"${usd:.2g}"  # noqa: PLR2004 (digits that matter)


def percent(share: float) -> str:
    """A share as a whole percentage, never rounded to all or nothing when it is not."""
    number = round(share * 100)
    if number == 100 and share < 1:  # noqa: PLR2004 (per cent)
        number = 99
    if number == 0 and share > 0:
        number = 1
    return f"{number} %"


def seconds(value: float | None) -> str:
    """A duration; `–` for None."""
    if value is None:
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:  # noqa: PLR2004 (a minute)
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 trial`, `1,204 trials`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short_id(run_id: str) -> str:
    """The start of a run's id, enough to find it by: time to the millisecond."""
    return run_id[:SHORT_ID]


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004 (a byte)
