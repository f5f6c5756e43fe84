"""A span as it came, one piece of work in a trace with its attributes; and the step that it stands for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import field

from evenhand.core.encoding import decode, encode
from evenhand.core.record import Record
from evenhand.core.step import StepKind, StepStatus
from evenhand.languages.documents.foreign import DEEPEST

LONGEST_TEXT = 1 << 20
"""Characters of one text that are kept."""
MOST_ATTRIBUTES = 4_096
"""Attributes of one span that are looked at."""
_PLAIN = frozenset({int, bool, type(None)})
FIRST_NS = 10**17
"""Less (before March 1973) is a time in seconds, milliseconds or microseconds, and would make a false duration."""
LAST_NS = 1 << 63
"""Nanoseconds since 1970 that are a time."""


class SpanEvent(Record, frozen=True):
    """Something that happened during a span, or was logged for it."""

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


class RawSpan(Record, frozen=True, kw_only=True):
    """One span.

    Attributes:
        trace: The id of its trace, in lower-case hexadecimal digits, or as the other tool writes it.
        parent: That of the span that it was part of; empty for none.
        start: Nanoseconds since 1970; None where nobody says.
        end: The same of its end; None for one that has not ended.
        error: Why it failed, as its status says.
        attributes: What else is said of it, as JSON values.
        service: The program that it is of: `service.name`.
        scope: The library that made it, and its version.
        logged: It is no span, but what was logged for the span with this id.
        dropped: How many attributes and events its SDK left out, as they were more than its limit.
    """

    trace: str
    id: str
    parent: str = ""
    name: str = ""
    start: int | None = None
    end: int | None = None
    status: StepStatus = "unknown"
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    events: Sequence[SpanEvent] = ()
    service: str = ""
    scope: str = ""
    logged: bool = False
    dropped: int = 0


def kept_text(text: str) -> str:
    """A text, cut where it is longer than anybody reads, which it then says.

    >>> kept_text("a" * 1_048_580)[-24:]
    'aaa… (4 characters more)'
    """
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}… ({more:,} characters more)"


def kept_value(value: object, levels: int = DEEPEST) -> Any:
    """A value as JSON: long texts are cut, NaN and infinities become text, what is nested too deeply is left out."""
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return text if len(text) <= LONGEST_TEXT else kept_text(text)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(cast("float", value)) else str(value)
    if not levels:
        return "… (nested too deeply)"
    if kind is dict:
        items = cast("dict[object, object]", value)
        return {str(key): kept_value(one, levels - 1) for key, one in items.items()}
    if kind is list or kind is tuple:
        return [kept_value(one, levels - 1) for one in cast("Sequence[object]", value)]
    return kept_text(str(value))


NS = 1e9


class SpanStep(msgspec.Struct, array_like=True, kw_only=True):
    """A span as a step, before its trace is put together.

    Attributes:
        parent: That of the span that it was part of; empty for none.
        start: Nanoseconds since 1970; None where nobody says.
        kind: What it was; None for a span that is no step: a request, a chain, something logged.
        name: The name of the tool, the agent or the model.
        agent: The agent that did it, where the span itself says.
        request: The messages that a model was sent; None where nobody says.
        answer: The message that it answered; None where nobody says.
        arguments: What a tool or an agent was given.
        cost_usd: Dollars.
        call: The vendor's id of a tool's call.
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
