"""Spans as OTLP JSON, a request for each: what is received is kept so until its run is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import is_array, is_object
from evenhand.doors.spans.span import RawSpan, SpanEvent

_CODES = {"unknown": 0, "ok": 1, "error": 2}


def line_of(span: RawSpan) -> bytes:
    """A request with this span, or with what was logged for one, as a line."""
    about = (
        [{"key": "service.name", "value": {"stringValue": span.service}}] if span.service else []
    )
    name, _, version = span.scope.rpartition(" ")
    scope = {"name": name, "version": version} if name else {"name": version}
    within = {"logRecords": _records(span)} if span.logged else {"spans": [_span(span)]}
    key, inner = ("resourceLogs", "scopeLogs") if span.logged else ("resourceSpans", "scopeSpans")
    request = {key: [{"resource": {"attributes": about}, inner: [{"scope": scope, **within}]}]}
    return encode(request, ordered=False) + b"\n"


def _span(span: RawSpan) -> dict[str, Any]:
    row = {
        "traceId": span.trace,
        "spanId": span.id,
        "parentSpanId": span.parent,
        "name": span.name,
        "startTimeUnixNano": None if span.start is None else str(span.start),
        "endTimeUnixNano": None if span.end is None else str(span.end),
        "attributes": _attributes(span.attributes),
        "events": [_event(one) for one in span.events],
        "status": {"code": _CODES[span.status], "message": span.error},
        "droppedAttributesCount": span.dropped,
    }
    return {key: value for key, value in row.items() if value not in (None, "", [], 0)}


def _event(event: SpanEvent) -> dict[str, Any]:
    return {"name": event.name, "attributes": _attributes(event.attributes)}


def _records(span: RawSpan) -> list[dict[str, Any]]:
    return [
        {
            "traceId": span.trace,
            "spanId": span.id,
            "eventName": event.name,
            "timeUnixNano": str(span.start or 0),
            "attributes": _attributes(event.attributes),
        }
        for event in span.events
    ]


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any(value)} for key, value in attributes.items()]


def _any(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if is_object(value):
        return {"kvlistValue": {"values": _attributes(value)}}
    if is_array(value):
        return {"arrayValue": {"values": [_any(one) for one in value]}}
    return {}
