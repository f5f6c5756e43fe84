"""What an agent did, as a trace tells it: spans, with a name, times and attributes.

A trace is what the provider returned in its metadata, `trace: {spans: […]}`, or what the test's own metadata has. Where
neither has one, the steps that the run itself saw are its spans. A span's keys are `name`, `startTime` and `endTime` in
milliseconds, `attributes`, `statusCode` and `statusMessage`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import field

from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record
from evenhand.core.step import Step
from evenhand.doors.assertions.assertion import (
    NO_CELL,
    Assertion,
    Cell,
    MakeScorer,
    Wrong,
    wrong_in,
)
from evenhand.languages.templates.rendering import has_tags

_BAD_WORDS = re.compile(r"error|failed|failure|exception|timeout|abort", re.IGNORECASE)
_BAD_SIGNS = ("error", "exception", "failed", "failure")


class Span(Record, frozen=True, kw_only=True):
    """One thing that was done. Times are in milliseconds; None where they are not known."""

    name: str
    start: float | None = None
    end: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: float | None = None
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether its status, its attributes or its message say that it went wrong."""
        # 2 is OpenTelemetry's code for an error; values from 400 on are HTTP statuses.
        if self.status is not None and (self.status == 2 or self.status >= 400):
            return True
        if any(_is_sign(self.attributes.get(key)) for key in _BAD_SIGNS):
            return True
        if (_number(self.attributes.get("http.status_code")) or 0) >= 400:
            return True
        if "ERROR" in (self.attributes.get("otel.status_code"), self.attributes.get("status.code")):
            return True
        return _BAD_WORDS.search(self.message) is not None


class Trace(Record, frozen=True):
    """The spans of one answer.

    Attributes:
        spans: In the order in which they were told.
        shells: Names of tools that run commands, beside the usual ones.
    """

    spans: Sequence[Span]
    shells: Sequence[str] = ()


def trace_of(assertion: Assertion, cell: Cell) -> Trace:
    """The trace of a cell.

    Raises:
        ScoreError: There is none.
    """
    recorded = cell.trace
    if recorded is not None:
        about = recorded.get("metadata")
        shells = about.get("commandToolNames") if isinstance(about, Mapping) else None
        return Trace(
            [_span(item) for item in recorded["spans"] if isinstance(item, Mapping)],
            [name for name in shells if isinstance(name, str)] if isinstance(shells, list) else (),
        )
    steps = cell.steps()
    if len(steps) > 1:  # to have asked a model once says no more than the output does
        return Trace([span_of(step) for step in steps])
    raise ScoreError(
        f"'{assertion.written}' needs a trace, and the output has none",
        hint="Return one from the provider: metadata: {trace: {spans: […]}}.",
    )


def span_of(step: Step) -> Span:
    """A step that the run saw, as a span of a trace."""
    start = None if step.started_s is None else 1000 * step.started_s
    end = None if start is None or step.duration_s is None else start + 1000 * step.duration_s
    attributes: dict[str, Any] = {}
    if step.kind == "tool":
        attributes["tool.name"] = step.name
        if step.arguments is not None:
            attributes["tool.arguments"] = step.arguments
    is_answer = step.kind == "message" and step.name == "assistant"
    return Span(
        name="agent response" if is_answer else step.name,
        start=start,
        end=end,
        attributes=attributes,
        status={"ok": 1.0, "error": 2.0}.get(step.status),
        message=step.error,
    )


def wrong_value(make: MakeScorer) -> Callable[..., Wrong]:
    """The check of a type whose value can be judged without a trace: it is tried on an empty one."""

    def wrong(assertion: Assertion) -> Wrong:
        value = assertion.value
        if isinstance(value, str) and (value.startswith("file://") or has_tags(value)):
            return ()
        return wrong_in(lambda: make(assertion, NO_CELL, value))

    return wrong


def _span(fields: Mapping[Any, Any]) -> Span:
    attributes, message = fields.get("attributes"), fields.get("statusMessage")
    return Span(
        name=str(fields.get("name") or ""),
        start=_number(fields.get("startTime")),
        end=_number(fields.get("endTime")),
        attributes=as_mapping(attributes),
        status=_number(fields.get("statusCode")),
        message=message if isinstance(message, str) else "",
    )


def _is_sign(value: object) -> bool:
    return value is True or value == "true" or isinstance(value, (Mapping, list))


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except ValueError:
        return None


def matches(name: str, pattern: str) -> bool:
    """Whether all of a name is what a pattern says."""
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # What `.` matches in JavaScript, in which promptfoo compares these names.
    escaped = re.escape(pattern).replace(r"\*", r"[^\n\r\u2028\u2029]*")
    return re.compile(escaped.replace(r"\?", r"[^\n\r\u2028\u2029]"), re.IGNORECASE)
