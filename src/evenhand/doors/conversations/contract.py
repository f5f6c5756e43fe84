"""What a simulated user is to do, may tell, and must keep to itself: what its turns are held to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import field

from evenhand.core.arguments import CheckedRecord
from evenhand.core.record import Record


class UserContract(Record, frozen=True, metaclass=CheckedRecord):
    """What a simulated user's turns are held to.

    Attributes:
        goal: What it wants, in words. It may say what it wants; it must not recite these words.
        facts: What it knows, by name: `{"order": "1042"}`.
        never_says: What it must not say, each in words.
        language: The language that it speaks, as ISO 639-1 (`de`); empty for that of its goal.
    """

    goal: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    never_says: Sequence[str] = ()
    language: str = ""

    def known_text(self) -> str:
        """All that it may know from the beginning, as one text."""
        return "\n".join([self.goal, *(f"{name} {value}" for name, value in self.facts.items())])
