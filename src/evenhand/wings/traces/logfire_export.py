"""Logfire's exports: rows of its table `records`, by its query API (of rows or of columns), one a line or in a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.step import StepStatus
from evenhand.doors.spans.messages import json_of
from evenhand.doors.spans.span import RawSpan, SpanEvent, kept_value
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.traces.moments import nanoseconds

_STATUSES: Mapping[str, StepStatus] = {"OK": "ok", "ERROR": "error"}


def reads(fields: Mapping[str, object]) -> bool:
    """Whether an object is a row, or an answer of the query API."""
    if (
        "trace_id" in fields
        and "span_id" in fields
        and ("start_timestamp" in fields or "span_name" in fields)
    ):
        return True
    columns, rows = fields.get("columns"), fields.get("rows")
    if not isinstance(columns, list):
        return False
    if isinstance(rows, list):
        return bool(rows) and isinstance(rows[0], dict) and reads(rows[0])
    names = {one.get("name") for one in columns if isinstance(one, dict) and "values" in one}
    return {"trace_id", "span_id"} <= names


def spans_of(part: Part) -> Iterator[RawSpan]:
    """The spans of a row, or of an answer."""
    if isinstance(part.value.get("rows"), list):
        for one in part.parts("rows"):
            yield from _row(one)
    elif isinstance(part.value.get("columns"), list):
        columns = {one.text("name"): one.value.get("values") for one in part.parts("columns")}
        lists = {name: values for name, values in columns.items() if is_array(values)}
        for i in range(max(map(len, lists.values()), default=0)):
            row = {name: values[i] for name, values in lists.items() if i < len(values)}
            yield from _row(Part(row, f"{part.where}[{i}]", part.notes))
    else:
        yield from _row(part)


def _row(row: Part) -> Iterator[RawSpan]:
    if row.value.get("kind") == "pending_span":  # told again when it ended
        return
    start, end = (
        nanoseconds(row.value.get("start_timestamp")),
        nanoseconds(row.value.get("end_timestamp")),
    )
    if start is None:
        written = row.value.get("start_timestamp")
        row.notes.left_out(f"{row.where}.start_timestamp", f"is {shown(written)}, not a time")
    took = row.number("duration")
    if end is None and start is not None and took is not None and took >= 0:
        end = start + round(took * 1e9)
    attributes = json_of(row.value.get("attributes"))
    status = row.text("otel_status_code").upper()
    failed = row.value.get("is_exception") is True
    message = row.text("otel_status_message")
    if failed and not message:
        message = ": ".join(
            filter(None, (row.text("exception_type"), row.text("exception_message")))
        )
    yield RawSpan(
        trace=row.text("trace_id").lower(),
        id=row.text("span_id").lower(),
        parent=row.text("parent_span_id").lower(),
        name=kept_value(row.text("span_name") or row.text("message")),
        start=start,
        end=end,
        status=_STATUSES.get(status, "error" if failed else "unknown"),
        error=kept_value(message),
        attributes=kept_value(attributes) if isinstance(attributes, dict) else {},
        events=_events(row),
        service=row.text("service_name"),
        scope=f"{row.text('otel_scope_name')} {row.text('otel_scope_version')}".strip(),
    )


def _events(row: Part) -> Sequence[SpanEvent]:
    rows: Any = json_of(row.value.get("otel_events"))
    if not is_array(rows):
        return ()
    events: list[SpanEvent] = []
    for one in rows:
        fields = as_mapping(one)
        inner = fields.get("attributes")
        attributes = kept_value(inner) if isinstance(inner, dict) else {}
        events.append(
            SpanEvent(str(fields.get("event_name") or fields.get("name") or ""), attributes)
        )
    return events
