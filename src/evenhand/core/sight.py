"""Calls of an application's that its run did not see: what hangs on them is an error, never nothing."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.errors import ScoreError

REFUSED = "refused: "
"""What stands before the name of a call that belongs to no trial, and was not sent."""

UNSEEN = "unseen: "
"""What stands before the name of a call that asked a model in a way that can't be recorded."""


def unseen(calls: Sequence[str]) -> ScoreError:
    """The error of a scorer that would have to know of calls that were made and not recorded."""
    first = calls[0].removeprefix(UNSEEN)
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    if first != calls[0]:
        return ScoreError(
            f"what the trial did and took is not known: it made a call that can't be recorded, {first}{more}",
            hint="In an async def eval, use an async client or asyncio.to_thread.",
        )
    return ScoreError(
        "what the trial did and took is not known: while it ran, a call was made that belongs to no trial, "
        f"{first}{more}",
        hint="Make it in the trial's own thread, in one that it starts, or through asyncio.to_thread.",
    )
