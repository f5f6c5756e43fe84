"""How a run ended."""

from __future__ import annotations

from evenhand.core.record import MutableRecord
from evenhand.core.run import RunStatus


class Ending(MutableRecord):
    """How a run ended, and why, where it did not settle all its trials."""

    status: RunStatus = "finished"
    message: str = ""
    signal: int = 0
