"""How a run ended, and what is said of it."""

from __future__ import annotations

from evenhand.core.record import MutableRecord
from evenhand.core.run import RunStatus


class Ending(MutableRecord):
    """How a run ended, and why, where it did not settle all its trials."""

    status: RunStatus = "finished"
    message: str = ""
    signal: int = 0


def settled_again(trials: int, calls: int) -> str:
    """What to say of trials that had a verdict and were settled once more."""
    what = (
        "1 trial that comes after one in error was"
        if trials == 1
        else f"{trials:,} trials that come after one in error were"
    )
    if not calls:
        return f"{what} settled again from the replies in the run file; no call was paid for twice"
    new = "1 call" if calls == 1 else f"{calls:,} calls"
    return (
        f"{what} settled again; {new} among theirs had not been answered before, "
        "as an earlier answer has changed: these were sent"
    )
