"""Reads how long a vendor asks us to wait, in every form that has been seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

_PARTS = r"(?a)(\d+(?:\.\d+)?)\s*(ms|h|m|s)"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms` and `retry-after`; the longer of several.

    A date is taken against the answer's own `Date` header, as the vendor's clock may not be ours. None for no header,
    or one that says nothing sensible (negative, not a number).
    """
    waits: list[float] = []
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        waits.append(milliseconds / 1000)
    every: Callable[[str, list[str]], list[str]] | None = getattr(headers, "getall", None)
    values = every("retry-after", []) if every else [headers.get("retry-after", "")]
    for value in values:
        seconds = _seconds(str(value).strip(), headers.get("date", ""), now)
        if seconds is not None:
            waits.append(seconds)
    return max(waits) if waits else None


def duration(text: str) -> float | None:
    """Seconds of `1m30s`, `500ms`, `2h`, `12.5` or `12.5s`; None for anything else."""
    number = _number(text)
    if number is not None:
        return number
    parts = re.findall(_PARTS, text)
    if not parts or re.sub(_PARTS, "", text).strip():
        return None
    total = sum(float(value) * _UNITS[unit] for value, unit in parts)
    return total if math.isfinite(total) else None


def until(text: str, date: str = "", now: datetime | None = None) -> float | None:
    """Seconds from the vendor's now until this HTTP or ISO 8601 date; 0 for one that is past; None for no date."""
    when = _date(text)
    if when is None:
        return None
    return max(0.0, (when - (_date(date) or now or datetime.now(UTC))).total_seconds())


def _seconds(text: str, date: str, now: datetime | None) -> float | None:
    if not text:
        return None
    seconds = duration(text)
    return until(text, date, now) if seconds is None else seconds


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str) -> datetime | None:
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 (a format that is rare)

        try:
            when = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
