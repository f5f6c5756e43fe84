"""How an application's own calls come to be recorded where nobody says how: all that its process asks models."""

from __future__ import annotations

from contextlib import AbstractContextManager


def calls_recorded(*, strict: bool = False) -> AbstractContextManager[object]:
    """Inside, the model calls of the whole process are recorded in trials; see `recording.install`."""
    from evenhand.doors.recording.installing import recorded  # noqa: PLC0415 (the engine, not wanted before)

    return recorded(strict=strict)
