"""What a rule looks at: a turn that a user is about to take, and what was said before."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque
from dataclasses import dataclass, field

from evenhand.core.record import Record
from evenhand.doors.conversations.contract import UserContract

REMEMBERED = 400
"""A user's latest turns that repetitions are looked for in."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PIECE = re.compile(r"[^\W_]+")


_MONTHS = (
    "january february march april may june july august september october november december".split()
)


def _as_written(piece: str) -> list[str]:
    """Other forms of a part of a date: `april`, `apr`, `4` and `04` mean one month."""
    if piece.isdigit() and len(piece) <= 2:
        number = int(piece)
        names = (
            [_MONTHS[number - 1], _MONTHS[number - 1][:3]] if 1 <= number <= len(_MONTHS) else []
        )
        return [str(number), f"{number:02}", *names]
    if len(piece) >= 3:
        numbers = [
            at
            for at, month in enumerate(_MONTHS, 1)
            if month in (piece, piece[:3]) or month[:3] == piece
        ]
        forms = [
            form
            for at in numbers
            for form in (str(at), f"{at:02}", _MONTHS[at - 1], _MONTHS[at - 1][:3])
        ]
        return forms + ([piece[:-2]] if re.fullmatch(r"\d{1,2}(?:st|n[d]|rd|th)", piece) else [])
    return []


def plain(text: str) -> str:
    """A text for comparison: lower case, one form of each character, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(plain(text))


@dataclass(slots=True, kw_only=True)
class SoFar:
    """What was said before a turn, as far as rules want to know. It is added to, so that a long talk stays cheap.

    Attributes:
        known: Every piece (letters and digits without what is between) that the user may know.
        known_text: What it may know from the beginning, for comparison.
        agent_last: What the agent said last; empty for nothing yet.
        agent_turns: How often the agent spoke.
        own: The user's latest turns, for comparison.
        times: How often it said each of them.
        stated: What it said of itself: `my order number` → the value.
        farewells: How many of its latest turns in a row only said goodbye.
        language: The language that it speaks; empty while nobody knows.
        over: It has ended the conversation.
    """

    contract: UserContract
    known: set[str] = field(default_factory=set[str])
    known_text: str = ""
    agent_last: str = ""
    agent_turns: int = 0
    own: deque[str] = field(default_factory=lambda: deque[str](maxlen=REMEMBERED))
    times: Counter[str] = field(default_factory=Counter[str])
    stated: dict[str, str] = field(default_factory=dict[str, str])
    farewells: int = 0
    language: str = ""
    over: bool = False

    def __post_init__(self) -> None:
        self.known_text = plain(self.contract.known_text())
        self.learn(self.contract.known_text())

    def learn(self, text: str) -> None:
        """Takes the pieces of a text for known."""
        self.known.update(_PIECE.findall(plain(text)))

    def knows(self, value: str) -> bool:
        """Whether all pieces of a value are known. A date may be written otherwise than it was told."""
        return all(
            piece in self.known or any(form in self.known for form in _as_written(piece))
            for piece in _PIECE.findall(plain(value))
        )


class Moment(Record, frozen=True):
    """A turn that a user is about to take.

    Attributes:
        text: What it says, without the mark that ends the conversation.
        ends: It ends the conversation with it.
        after: What stands behind that mark; empty for nothing.
        so_far: What was said before.
    """

    text: str
    ends: bool
    after: str
    so_far: SoFar

    @property
    def contract(self) -> UserContract:
        """What the user is held to."""
        return self.so_far.contract
