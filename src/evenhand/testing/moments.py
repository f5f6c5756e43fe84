"""Moments as vendors write them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(at: float | None) -> str | None:
    """A moment in seconds since 1970, as RFC 3339 has it; None stays None.

    >>> moment(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
