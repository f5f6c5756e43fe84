"""Spans as the console exporters of OpenTelemetry's SDKs print them: the object of a `ReadableSpan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.step import StepStatus
from evenhand.doors.spans.span import RawSpan, SpanEvent, kept_value
from evenhand.languages.documents.foreign import Part
from evenhand.wings.traces.moments import nanoseconds

_STATUSES: Mapping[str, StepStatus] = {"OK": "ok", "ERROR": "error"}


def reads(fields: Mapping[str, object]) -> bool:
    """Whether an object is a span."""
    context = fields.get("context")
    return isinstance(context, dict) and "trace_id" in context and "span_id" in context


def spans_of(span: Part) -> Iterator[RawSpan]:
    """The span."""
    context = span.part("context") or span
    status = span.part("status")
    resource = span.part("resource")
    about = (resource.part("attributes") or resource) if resource else None
    yield RawSpan(
        trace=_id(context.value.get("trace_id")),
        id=_id(context.value.get("span_id")),
        parent=_id(span.value.get("parent_id")),
        name=kept_value(span.text("name")),
        start=nanoseconds(span.value.get("start_time")),
        end=nanoseconds(span.value.get("end_time")),
        status=_STATUSES.get(status.text("status_code"), "unknown") if status else "unknown",
        error=kept_value(status.text("description")) if status else "",
        attributes=_attributes(span),
        events=[SpanEvent(one.text("name"), _attributes(one)) for one in span.parts("events")],
        service=about.text("service.name") if about else "",
    )


def _attributes(part: Part) -> dict[str, Any]:
    inner = part.part("attributes")
    return kept_value(inner.value) if inner else {}


def _id(value: object) -> str:
    return value.removeprefix("0x").lower() if isinstance(value, str) else ""
