"""OTLP as JSON: the spans of `resourceSpans`, and what `resourceLogs` say of spans.

Ids are hexadecimal digits, counts may be texts, and keys are in camel case; those of the older `scopeSpans`, which were
called `instrumentationLibrarySpans`, are read, too. Whatever is of a wrong type is left out, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_object, is_whole
from evenhand.core.step import StepStatus
from evenhand.doors.spans.span import (
    FIRST_NS,
    LAST_NS,
    MOST_ATTRIBUTES,
    RawSpan,
    SpanEvent,
    kept_value,
)
from evenhand.languages.documents.foreign import DEEPEST, Part, shown
from evenhand.wings.traces.otlp_protobuf import STATUSES, logged

SPANS, LOGS = "resourceSpans", "resourceLogs"
_CODES: Mapping[object, StepStatus] = {
    "STATUS_CODE_OK": "ok",
    "STATUS_CODE_ERROR": "error",
    "1": "ok",
    "2": "error",
}


def reads(fields: Mapping[str, object]) -> bool:
    """Whether an object is a request."""
    return isinstance(fields.get(SPANS), list) or isinstance(fields.get(LOGS), list)


def spans_of(request: Part) -> Iterator[RawSpan]:
    """The spans of a request, and what was logged for spans."""
    for resource in request.parts(SPANS):
        service = _service(resource)
        # Older versions of OTLP call a scope an instrumentation library.
        for scope in resource.parts("scopeSpans") + resource.parts("instrumentationLibrarySpans"):
            name = _scope(scope)
            for span in scope.parts("spans"):
                yield _span(span, service, name)
    for resource in request.parts(LOGS):
        service = _service(resource)
        for scope in resource.parts("scopeLogs"):
            name = _scope(scope)
            for record in scope.parts("logRecords"):
                yield _logged(record, service, name)


def _service(resource: Part) -> str:
    about = resource.part("resource")
    return str(_attributes(about).get("service.name") or "") if about else ""


def _scope(scope: Part) -> str:
    about = scope.part("scope") or scope.part("instrumentationLibrary")
    return f"{about.text('name')} {about.text('version')}".strip() if about else ""


def _span(span: Part, service: str, scope: str) -> RawSpan:
    status = span.value.get("status")
    status = as_mapping(status)
    message = status.get("message")
    return RawSpan(
        trace=_id(span, "traceId"),
        id=_id(span, "spanId"),
        parent=_id(span, "parentSpanId"),
        name=kept_value(span.text("name")),
        start=_time(span, "startTimeUnixNano"),
        end=_time(span, "endTimeUnixNano"),
        status=_status(status.get("code")),
        error=kept_value(message) if isinstance(message, str) else "",
        attributes=_attributes(span),
        events=[SpanEvent(one.text("name"), _attributes(one)) for one in span.parts("events")]
        if span.value.get("events")
        else (),
        service=service,
        scope=scope,
        dropped=(span.whole("droppedAttributesCount") or 0)
        + (span.whole("droppedEventsCount") or 0),
    )


def _logged(record: Part, service: str, scope: str) -> RawSpan:
    body = record.value.get("body")
    return logged(
        _id(record, "traceId"),
        _id(record, "spanId"),
        name=record.text("eventName"),
        at=_time(record, "timeUnixNano") or _time(record, "observedTimeUnixNano"),
        body=_any(body, DEEPEST) if body is not None else None,
        attributes=_attributes(record),
        service=service,
        scope=scope,
    )


def _id(part: Part, key: str) -> str:
    value = part.value.get(key)
    if isinstance(value, str):
        text = value.lower()
        # OpenTelemetry writes an id of zeros alone where there is no id, such as a root's parent.
        return text if text.strip("0") else ""
    return part.text(key)


def _time(part: Part, key: str) -> int | None:
    value = part.value.get(key)
    # Protobuf's JSON writes 64-bit integers as strings; the largest of them has 20 digits.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if is_whole(value) and FIRST_NS <= value < LAST_NS:
        return value
    # Protobuf does not tell a time of 0 from a time that is not set.
    if value is not None and value != 0:
        part.notes.left_out(
            f"{part.where}.{key}", f"is {shown(value)}, not a time in nanoseconds since 1970"
        )
    return None


def _status(code: object) -> StepStatus:
    if is_whole(code):
        return STATUSES[code] if 0 <= code < len(STATUSES) else "unknown"
    # Some exporters write the name of the status in place of its number.
    return _CODES.get(code, "unknown") if isinstance(code, str) else "unknown"


def _attributes(part: Part) -> dict[str, Any]:
    rows = part.value.get("attributes")
    fields: dict[str, Any] = {}
    if is_array(rows):
        for row in rows[:MOST_ATTRIBUTES]:
            if is_object(row) and isinstance(key := row.get("key"), str):
                fields[key] = _any(row.get("value"), DEEPEST)
            else:
                part.notes.left_out(f"{part.where}.attributes", "an attribute has no key")
    elif rows is not None:
        part.notes.left_out(f"{part.where}.attributes", f"is {shown(rows)}, not a list")
    return fields


def _any(value: object, levels: int) -> Any:
    """An `AnyValue`; what is none stays as it is."""
    if not is_object(value) or len(value) != 1:
        return kept_value(value, levels) if value != {} else None
    if not levels:
        return "… (nested too deeply)"
    ((kind, inner),) = value.items()
    if kind == "intValue" and isinstance(inner, str):
        digits = inner.removeprefix("-")
        whole = digits.isascii() and digits.isdigit() and len(digits) <= 19
        return int(inner) if whole else kept_value(inner)
    if kind == "arrayValue" and is_object(inner):
        items = inner.get("values")
        return [_any(one, levels - 1) for one in items] if is_array(items) else []
    if kind == "kvlistValue" and is_object(inner):
        items = inner.get("values")
        rows = as_array(items)
        return {
            str(row.get("key")): _any(row.get("value"), levels - 1)
            for row in rows
            if isinstance(row, dict)
        }
    if kind in ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue"):
        return kept_value(inner, levels)
    return kept_value(value, levels)
