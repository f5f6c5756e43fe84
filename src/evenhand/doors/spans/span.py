"""A span as it came: one piece of work in a trace, with its attributes, before anybody asks what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import field

from evenhand.core.record import Record
from evenhand.core.step import StepStatus
from evenhand.languages.documents.foreign import DEEPEST

LONGEST_TEXT = 1 << 20
"""Characters of one text that are kept."""
MOST_ATTRIBUTES = 4_096
"""Attributes of one span that are looked at."""
_PLAIN = frozenset({int, bool, type(None)})
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
        id: Its own, the same.
        parent: That of the span that it was part of; empty for none.
        name: What it is called.
        start: Nanoseconds since 1970; None where nobody says.
        end: The same of its end; None for one that has not ended.
        status: How it ended.
        error: Why it failed, as its status says.
        attributes: What else is said of it, as JSON values.
        events: What happened during it.
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
