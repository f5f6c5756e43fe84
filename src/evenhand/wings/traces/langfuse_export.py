"""Langfuse's exports: observations, as its page and its API give them, or traces with their observations.

Names of fields are read in camel case, as the page and the API write them, and in snake case, as exports to a bucket
and its Python SDK do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.doors.spans.dialects.langfuse import PREFIX
from evenhand.doors.spans.span import RawSpan, kept_value
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.traces.moments import nanoseconds

_TYPES = frozenset(
    "SPAN GENERATION EVENT AGENT TOOL CHAIN RETRIEVER EVALUATOR EMBEDDING GUARDRAIL".split()
)
_ATTRIBUTES = {
    "type": "type",
    "input": "input",
    "output": "output",
    "level": "level",
    "statusMessage": "status_message",
    "usageDetails": "usage_details",
    "costDetails": "cost_details",
    "usage": "usage_details",
}
_ABOUT = {"sessionId": "session.id", "userId": "user.id", "release": "langfuse.release"}


def reads(fields: Mapping[str, object]) -> bool:
    """Whether an object is an observation, a trace, or a page of them."""
    names = {_camel(key) for key in fields}
    kind = fields.get("type")
    if "traceId" in names and isinstance(kind, str) and kind.upper() in _TYPES:
        return True
    if isinstance(fields.get("observations"), list) and "id" in names:
        return True
    rows = fields.get("data")
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict) and reads(rows[0])


def spans_of(part: Part) -> Iterator[RawSpan]:
    """The spans of an observation, a trace, or a page of them."""
    if isinstance(part.value.get("data"), list):
        for one in part.parts("data"):
            yield from spans_of(one)
    elif isinstance(part.value.get("observations"), list):
        about = _about(part)
        id_ = part.text("id")
        rows = part.parts("observations")
        if not rows:
            part.notes.left_out(part.where, "a trace of Langfuse's has no observations")
        known = {one.text("id") for one in rows}
        for one in rows:
            parent = one.value.get("parentObservationId", one.value.get("parent_observation_id"))
            yield _span(one, id_, about if parent not in known else {})
    else:
        yield _span(part, "", {})


def _about(trace: Part) -> dict[str, Any]:
    """What a trace says of itself, for the spans that are at its top."""
    fields = {_camel(key): value for key, value in trace.value.items()}
    about = {
        name: kept_value(fields[key]) for key, name in _ABOUT.items() if fields.get(key) is not None
    }
    for key in ("input", "output", "name", "tags"):
        if fields.get(key) not in (None, "", []):
            about[f"langfuse.trace.{key}"] = kept_value(fields[key])
    return about


def _span(row: Part, trace: str, about: Mapping[str, Any]) -> RawSpan:
    fields = {_camel(key): value for key, value in row.value.items()}
    attributes: dict[str, Any] = dict(about)
    for key, name in _ATTRIBUTES.items():
        if (value := fields.get(key)) not in (None, "", {}):
            attributes.setdefault(PREFIX + name, kept_value(value))
    model = fields.get("model") or fields.get("providedModelName") or fields.get("internalModelId")
    if model:
        attributes[f"{PREFIX}model.name"] = kept_value(model)
    if not fields.get("costDetails") and (
        cost := fields.get("calculatedTotalCost", fields.get("totalCost"))
    ):
        attributes[f"{PREFIX}cost_details"] = {"total": cost}
    for key, name in _ABOUT.items():
        if fields.get(key):
            attributes.setdefault(name, kept_value(fields[key]))
    metadata = fields.get("metadata")
    if isinstance(metadata, Mapping) and (call := metadata.get("tool_call_id")):
        attributes[f"{PREFIX}metadata.tool_call_id"] = kept_value(call)
    start, end = nanoseconds(fields.get("startTime")), nanoseconds(fields.get("endTime"))
    if start is None:
        row.notes.left_out(
            f"{row.where}.startTime", f"is {shown(fields.get('startTime'))}, not a time"
        )
    level = fields.get("level")
    message = fields.get("statusMessage")
    failed = isinstance(level, str) and level.upper() == "ERROR"
    return RawSpan(
        trace=trace or str(fields.get("traceId") or ""),
        id=str(fields.get("id") or ""),
        parent=str(fields.get("parentObservationId") or ""),
        name=kept_value(row.text("name")),
        start=start,
        end=start if end is None and fields.get("type") == "EVENT" else end,
        status="error" if failed else "unknown",
        error=kept_value(message) if failed and isinstance(message, str) else "",
        attributes=attributes,
        scope="langfuse",
    )


def _camel(key: str) -> str:
    first, *more = key.split("_")
    return first + "".join(word.capitalize() for word in more)
