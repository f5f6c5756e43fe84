"""The mistakes that a simulated user can make, by name."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.arguments import CheckedRecord
from evenhand.core.record import Record

FAULTS: Mapping[str, str] = {
    "empty": "it said nothing",
    "stopped-early": "it ended the conversation too early",
    "swapped-roles": "it spoke as the agent",
    "answered-for-agent": "it wrote the agent's answer as well",
    "leaked-reasoning": "it said what it was thinking about its role",
    "leaked-goal": "it recited its goal or its instructions",
    "said-forbidden": "it said what it must not say",
    "invented-fact": "it made up a fact",
    "contradicted-fact": "it contradicted a fact",
    "loops": "it repeated itself",
    "wrong-language": "it changed its language",
    "after-end": "it went on after the end",
    "broke-character": "it said that it is a program",
    "placeholder": "it left a placeholder",
    "called-tool": "it wrote code or called a tool",
    "too-long": "it wrote too much",
    "judged": "the judge found a mistake",
}
"""The kinds of mistakes → what they are, in words."""

TOO_LONG = 6_000
"""Characters: no customer writes more than that in one message."""


class Fault(Record, frozen=True, metaclass=CheckedRecord):
    """A mistake in a simulated user's turn.

    Attributes:
        kind: One of FAULTS.
        detail: What exactly, quoting it; empty where the kind says all.
    """

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        what = FAULTS[self.kind]
        return f"{what}: {self.detail}" if self.detail else what


def clipped(text: str, limit: int = 80) -> str:
    """A text in quotation marks, in one line and cut to a length."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= limit else line[: limit - 1] + '…'}”"
