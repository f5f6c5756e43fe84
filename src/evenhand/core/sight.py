"""Calls of an application's that its run did not see: what hangs on them is an error, never nothing."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.errors import ScoreError

REFUSED = "refused: "
"""What stands before the name of a call that belongs to no trial, and was not sent."""


def unseen(calls: Sequence[str]) -> ScoreError:
    """The error of a scorer that would have to know of calls that were made and not recorded."""
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return ScoreError(
        "what the trial did and took is not known: while it ran, a call was made that belongs to no trial, "
        f"{calls[0]}{more}",
        hint="Make it in the trial's own thread, in one that it starts, or through asyncio.to_thread.",
    )
