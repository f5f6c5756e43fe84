"""OTLP as Protocol Buffers: the spans of an `ExportTraceServiceRequest`, the events of an `ExportLogsServiceRequest`.

The numbers of the fields are those of opentelemetry-proto 1.x: trace/v1/trace.proto, logs/v1/logs.proto,
common/v1/common.proto. Fields that are not needed are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from evenhand.core.step import StepStatus
from evenhand.doors.spans.span import (
    FIRST_NS,
    LONGEST_TEXT,
    MOST_ATTRIBUTES,
    RawSpan,
    SpanEvent,
    kept_text,
    kept_value,
)
from evenhand.languages.documents.foreign import DEEPEST
from evenhand.wings.traces.wire import BYTES, FIXED64, VARINT, Malformed, fields

STATUSES: tuple[StepStatus, ...] = ("unknown", "ok", "error")
_SIGN, _WHOLE = 1 << 63, 1 << 64


def spans_of(data: bytes) -> Iterator[RawSpan]:
    """The spans of a request.

    Raises:
        Malformed: It is none, or only a part of one.
    """
    for number, kind, start, end in fields(data):
        if number == 1 and kind == BYTES:
            yield from _of_resource(data, start, end, logs=False)


def logged_of(data: bytes) -> Iterator[RawSpan]:
    """What was logged for spans.

    Raises:
        Malformed: It is no request, or only a part of one.
    """
    for number, kind, start, end in fields(data):
        if number == 1 and kind == BYTES:
            yield from _of_resource(data, start, end, logs=True)


def _of_resource(data: bytes, start: int, end: int, *, logs: bool) -> Iterator[RawSpan]:
    service = ""
    scopes: list[tuple[int, int]] = []
    for number, kind, a, b in fields(data, start, end):
        if number == 1 and kind == BYTES:
            about = _attributes(
                data, [(x, y) for n, k, x, y in fields(data, a, b) if n == 1 and k == BYTES]
            )
            service = str(about.get("service.name") or "")
        elif number == 2 and kind == BYTES:
            scopes.append((a, b))
    # Fields come in any order, and a span needs the name of its service: the second walk has it.
    for a, b in scopes:
        yield from _of_scope(data, a, b, service, logs=logs)


def _of_scope(data: bytes, start: int, end: int, service: str, *, logs: bool) -> Iterator[RawSpan]:
    scope = ""
    inside: list[tuple[int, int]] = []
    for number, kind, a, b in fields(data, start, end):
        if number == 1 and kind == BYTES:
            names = {
                n: _text(data, x, y)
                for n, k, x, y in fields(data, a, b)
                if n in (1, 2) and k == BYTES
            }
            scope = f"{names.get(1, '')} {names.get(2, '')}".strip()
        elif number == 2 and kind == BYTES:
            inside.append((a, b))
    for a, b in inside:
        yield (_logged if logs else _span)(data, a, b, service, scope)


def _span(data: bytes, start: int, end: int, service: str, scope: str) -> RawSpan:
    trace = own = parent = name = error = ""
    begun = ended = dropped = 0
    status: StepStatus = "unknown"
    attributes: list[tuple[int, int]] = []
    events: list[SpanEvent] = []
    for number, kind, a, b in fields(data, start, end):
        if kind == BYTES:
            if number == 9:
                attributes.append((a, b))
            elif number == 1:
                trace = data[a:b].hex()
            elif number == 2:
                own = data[a:b].hex()
            elif number == 4:
                parent = data[a:b].hex()
            elif number == 5:
                name = _text(data, a, b)
            elif number == 11:
                events.append(_event(data, a, b))
            elif number == 15:
                status, error = _status(data, a, b)
        elif kind == FIXED64:
            if number == 7:
                begun = a
            elif number == 8:
                ended = a
        elif kind == VARINT and number in (10, 12):
            dropped += a
    return RawSpan(
        trace=trace,
        id=own,
        # Some exporters write zeros where there is no parent.
        parent=parent.strip("0") and parent,
        name=name,
        start=begun if begun >= FIRST_NS else None,
        end=ended if ended >= FIRST_NS else None,
        status=status,
        error=error,
        attributes=_attributes(data, attributes),
        events=events,
        service=service,
        scope=scope,
        dropped=dropped,
    )


def _event(data: bytes, start: int, end: int) -> SpanEvent:
    name = ""
    attributes: list[tuple[int, int]] = []
    for number, kind, a, b in fields(data, start, end):
        if number == 2 and kind == BYTES:
            name = _text(data, a, b)
        elif number == 3 and kind == BYTES:
            attributes.append((a, b))
    return SpanEvent(name, _attributes(data, attributes))


def _status(data: bytes, start: int, end: int) -> tuple[StepStatus, str]:
    code, message = 0, ""
    for number, kind, a, b in fields(data, start, end):
        if number == 2 and kind == BYTES:
            message = _text(data, a, b)
        elif number == 3 and kind == VARINT:
            code = a
    return STATUSES[code] if code < len(STATUSES) else "unknown", message


def _logged(data: bytes, start: int, end: int, service: str, scope: str) -> RawSpan:
    trace = own = name = ""
    at = observed_at = 0
    body: object = None
    attributes: list[tuple[int, int]] = []
    for number, kind, a, b in fields(data, start, end):
        if kind == BYTES:
            if number == 5:
                body = _any(data, a, b, DEEPEST)
            elif number == 6:
                attributes.append((a, b))
            elif number == 9:
                trace = data[a:b].hex()
            elif number == 10:
                own = data[a:b].hex()
            elif number == 12:
                name = _text(data, a, b)
        elif kind == FIXED64:
            if number == 1:
                at = a
            elif number == 11:
                observed_at = a
    return logged(
        trace,
        own,
        name=name,
        at=at or observed_at or None,
        body=body,
        attributes=_attributes(data, attributes),
        service=service,
        scope=scope,
    )


def logged(
    trace: str,
    own: str,
    name: str,
    at: int | None,
    body: object,
    attributes: dict[str, Any],
    service: str,
    scope: str,
) -> RawSpan:
    """What was logged for a span. The body of an event is an object with what is said of it, as attributes are."""
    more = (
        {str(key): kept_value(value) for key, value in body.items()}
        if isinstance(body, dict)
        else {}
    )
    name = name or str(attributes.get("event.name") or "")
    event = SpanEvent(name, {**attributes, **more})
    return RawSpan(
        trace=trace, id=own, start=at, events=(event,), service=service, scope=scope, logged=True
    )


def _attributes(data: bytes, places: list[tuple[int, int]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for start, end in places[:MOST_ATTRIBUTES]:
        if simple := _simple(data, start, end):
            read[simple[0]] = simple[1]
            continue
        key = ""
        value: Any = None
        for number, kind, a, b in fields(data, start, end):
            if kind == BYTES:
                if number == 1:
                    key = data[a:b].decode("utf-8", "replace")
                elif number == 2:
                    value = _any(data, a, b, DEEPEST)
        read[key] = value
    return read


def _simple(data: bytes, start: int, end: int) -> tuple[str, str] | None:
    """A key and a short text, which most attributes are, without a look at each field; None for others."""
    # Lengths of one byte only: those have no continuation bit.
    middle = start + 2 + data[start + 1] if end - start > 5 else end
    if (
        middle + 4 > end
        or data[start + 1] > 0x7F
        or data[start] != 0x0A
        or data[middle] != 0x12
        or data[middle + 2] != 0x0A
    ):
        return None
    if (
        data[middle + 1] != end - middle - 2
        or data[middle + 3] != end - middle - 4
        or end - middle > 0x7F
    ):
        return None
    key = data[start + 2 : middle].decode("utf-8", "replace")
    return key, data[middle + 4 : end].decode("utf-8", "replace")


def _any(data: bytes, start: int, end: int, levels: int) -> Any:
    """An `AnyValue`. Bytes become hexadecimal digits."""
    if not levels:
        return "… (nested too deeply)"
    for number, kind, a, b in fields(data, start, end):
        if kind == BYTES:
            if number == 1:
                return _text(data, a, b)
            if number == 5:
                return [
                    _any(data, x, y, levels - 1)
                    for n, k, x, y in fields(data, a, b)
                    if n == 1 and k == BYTES
                ]
            if number == 6:
                return _key_values(data, a, b, levels - 1)
            if number == 7:
                return kept_value(data[a:b].hex())
        elif kind == VARINT:
            # A negative integer is written as its complement in 64 bits.
            return bool(a) if number == 2 else a - _WHOLE if a >= _SIGN else a
        elif kind == FIXED64 and number == 4:
            return kept_value(struct.unpack("<d", a.to_bytes(8, "little"))[0])
    return None


def _key_values(data: bytes, start: int, end: int, levels: int) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for number, kind, a, b in fields(data, start, end):
        if number == 1 and kind == BYTES:
            key, value = "", None
            for n, k, x, y in fields(data, a, b):
                if n == 1 and k == BYTES:
                    key = _text(data, x, y)
                elif n == 2 and k == BYTES:
                    value = _any(data, x, y, levels)
            read[key] = value
    return read


def _text(data: bytes, start: int, end: int) -> str:
    text = data[start:end].decode("utf-8", "replace")
    return text if end - start <= LONGEST_TEXT else kept_text(text)


__all__ = ["STATUSES", "Malformed", "logged", "logged_of", "spans_of"]
