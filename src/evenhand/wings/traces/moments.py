"""Times as other tools write them, in nanoseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from evenhand.doors.spans.span import LAST_NS

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def nanoseconds(value: object) -> int | None:
    """Nanoseconds since 1970; a time without a zone is UTC. None for what is no time.

    >>> nanoseconds("1970-01-01T00:00:01.5Z"), nanoseconds("yesterday")
    (1500000000, None)
    """
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        count = (moment - _START) // _MICROSECOND * 1000
    except (ValueError, OverflowError):
        return None
    return count if 0 <= count < LAST_NS else None
