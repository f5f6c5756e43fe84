"""A conversation as it was led: who said what, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.message import Message

Ended = Literal["user", "agent", "max_turns", "open"]
"""Who ended it: the user had no more to say; the agent came to the end; there were as many turns as there may be; or it
did not come to its end: it is under way, or the trial broke off."""

SHOWN = 60_000
"""Characters of a conversation that a judge is shown."""
_FIRST = 0.25
_NAMES: Mapping[str, str] = {"user": "User", "assistant": "Assistant"}


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: what was said, first to last.

    Scorers are given it as text, `User: …` and `Assistant: …`, of which a long one is shortened in the middle.

    Attributes:
        messages: Who said what: `user` or `assistant`, and the text.
        ended: Who ended it.
        faults: The mistakes of the simulated user that were put right, each in words with its turn.

    >>> talk = Talk.of([("user", "Hi"), ("assistant", "Hello!"), ("user", "Bye")])
    >>> talk.turns, talk.answer
    (2, 'Hello!')
    """

    messages: tuple[Message, ...]
    ended: Ended = "open"
    faults: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(
        cls, messages: Iterable[Message | Mapping[str, Any] | Sequence[str]], ended: Ended = "open"
    ) -> Talk:
        """A conversation from its messages: `Message`, `{"role": …, "content": …}` or `(role, text)`.

        Raises:
            UsageError: One of them is no message of a user or an assistant.
        """
        return cls(tuple(_message(place, one) for place, one in enumerate(messages, 1)), ended)

    @property
    def turns(self) -> int:
        """How often the user spoke."""
        return sum(message.role == "user" for message in self.messages)

    @property
    def answer(self) -> str:
        """What the agent said last; empty for nothing."""
        return self._last("assistant")

    @property
    def request(self) -> str:
        """What the user said last; empty for nothing."""
        return self._last("user")

    def _last(self, role: str) -> str:
        messages = (message for message in reversed(self.messages) if message.role == role)
        return next((str(message.content) for message in messages), "")

    def until(self, turn: int) -> Talk:
        """The conversation up to the agent's answer in this turn, counted from 1. 0 is nothing at all.

        Raises:
            UsageError: It has no such turn.
        """
        return Talk(self.messages[: self._end(turn)])

    def before_answer(self, turn: int) -> Talk:
        """The conversation up to what the user said in this turn, counted from 1, to be answered anew.

        Raises:
            UsageError: It has no such turn.
        """
        messages = self.messages[: self._end(turn)]
        while messages and messages[-1].role != "user":
            messages = messages[:-1]
        return Talk(messages)

    def _end(self, turn: int) -> int:
        """The place behind a turn's last message."""
        spoken = [at for at, message in enumerate(self.messages) if message.role == "user"]
        if not 0 <= turn <= len(spoken):
            counted = f"it has {len(spoken)} turn{'s' * (len(spoken) != 1)}"
            raise UsageError(f"turn {turn} is not in the conversation: {counted}")
        if turn == 0:
            return 0
        return spoken[turn] if turn < len(spoken) else len(self.messages)

    def as_text(self, most: int = SHOWN) -> str:
        """The conversation as text, shortened in the middle where it has more characters than `most`."""
        lines = [f"{_NAMES[message.role]}: {message.content}" for message in self.messages]
        if sum(map(len, lines)) + 2 * len(lines) <= most:
            return "\n\n".join(lines)
        head, tail = int(most * _FIRST), most - int(most * _FIRST)
        first, last = _fitting(lines, head), _fitting(lines[::-1], tail)[::-1]
        if not first:
            first = [lines[0][:head] + " …"]
        if not last:
            last = ["… " + lines[-1][-tail:]]
        left_out = len(lines) - len(first) - len(last)
        between = [f"(… {left_out:,} messages left out …)"] if left_out > 0 else []
        return "\n\n".join([*first, *between, *last])

    def __str__(self) -> str:
        return self.as_text()


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """As many of the first lines as there is room for."""
    fitting: list[str] = []
    for line in lines:
        room -= len(line) + 2
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _message(place: int, one: object) -> Message:
    if isinstance(one, Message):
        role, content = one.role, one.content
    elif is_mapping(one):
        role, content = one.get("role"), one.get("content")
    elif is_sequence(one) and not isinstance(one, str) and len(one) == 2:
        role, content = cast("tuple[object, object]", tuple(one))
    else:
        role, content = None, None
    if role not in _NAMES or not isinstance(content, str):
        raise UsageError(
            f"message {place} of the conversation is {one!r:.80}",
            hint='Write {"role": "user", "content": "Hi"}; the other role is "assistant".',
        )
    return Message(str(role), content)
