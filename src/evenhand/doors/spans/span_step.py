"""What a span says, once its dialect is understood: the most that can be known of a step without its neighbours."""

from __future__ import annotations

from typing import Any

import msgspec

from evenhand.core.encoding import decode, encode
from evenhand.core.step import StepKind, StepStatus

NS = 1e9


class SpanStep(msgspec.Struct, array_like=True, kw_only=True):
    """A span as a step, before its trace is put together.

    Attributes:
        id: The span's id.
        parent: That of the span that it was part of; empty for none.
        start: Nanoseconds since 1970; None where nobody says.
        end: The same.
        status: How it ended.
        error: Why it failed.
        kind: What it was; None for a span that is no step: a request, a chain, something logged.
        name: The name of the tool, the agent or the model.
        agent: The agent that did it, where the span itself says.
        request: The messages that a model was sent; None where nobody says.
        answer: The message that it answered; None where nobody says.
        arguments: What a tool or an agent was given.
        result: What came of it.
        tokens_in: Tokens.
        tokens_out: Tokens.
        cost_usd: Dollars.
        call: The vendor's id of a tool's call.
        finish: Why the answer ended.
        dialect: The name of the dialect; empty for a span in none.
        logged: It adds to the span with its id.
        about: What else is worth keeping: the ids of a session, tags.
        response: The vendor's id of the answer.
        earlier: How many messages of the conversation came before those in `asked`.
        scope: The library that made the span; empty where nobody says.
    """

    id: str
    parent: str = ""
    start: int | None = None
    end: int | None = None
    status: StepStatus = "unknown"
    error: str = ""
    kind: StepKind | None = None
    name: str = ""
    agent: str = ""
    request: list[dict[str, Any]] | None = None
    answer: dict[str, Any] | None = None
    arguments: Any = None
    result: Any = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    call: str = ""
    finish: str = ""
    dialect: str = ""
    logged: bool = False
    # msgspec gives each step an empty dict of its own.
    about: dict[str, Any] = {}
    response: str = ""
    earlier: int = 0
    scope: str = ""

    @property
    def took_s(self) -> float | None:
        """Seconds that it took; None where that isn't known, or it ended before it began."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return (self.end - self.start) / NS


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(SpanStep)


def packed(step: SpanStep) -> bytes:
    """As bytes."""
    try:
        return _encoder.encode(step)  # its values are JSON already
    except (UnicodeEncodeError, ValueError):  # half a character
        return encode(step, ordered=False)


def unpacked(data: bytes) -> SpanStep:
    """From these bytes."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return msgspec.convert(decode(data), SpanStep)
