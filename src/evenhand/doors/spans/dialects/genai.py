"""OpenTelemetry's GenAI semantic conventions: `gen_ai.*`.

Three ways to say what was said are read: the attributes `gen_ai.input.messages` and `gen_ai.output.messages` (since
1.37), the events `gen_ai.user.message`, `gen_ai.choice` and so on (1.28 to 1.36), on the span, in its attribute
`events`, or as log records, and the events `gen_ai.content.prompt` and `gen_ai.content.completion` (1.27).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.json_shapes import as_array, is_object
from evenhand.core.step import StepKind
from evenhand.doors.spans.dialects.dialect import Dialect
from evenhand.doors.spans.messages import Said, answer_of, is_cut, messages_of, value_of
from evenhand.doors.spans.span import RawSpan

_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE = "gen_ai.choice"
_DETAILS = "gen_ai.client.inference.operation.details"
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_ASKED = {_DETAILS: _INPUT, _PROMPT: "gen_ai.prompt"}
_ALL = ("pydantic_ai.all_messages", "all_messages_events")
EVENTS = frozenset({*_EVENTS, _CHOICE, _DETAILS, _PROMPT, _COMPLETION})
"""The names of events that say what was said."""

KINDS: Mapping[str, StepKind | None] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "embeddings": "model",
    "execute_tool": "tool",
    "retrieval": "tool",
    "invoke_agent": "agent",
    "create_agent": None,
    "invoke_workflow": None,
}


def request(span: RawSpan) -> list[Said] | None:
    """The messages that a model was sent."""
    attributes = span.attributes
    messages: list[Said] = []
    if instructions := attributes.get("gen_ai.system_instructions"):
        parts = value_of(instructions)
        messages += messages_of(
            {"role": "system", "parts": parts if isinstance(parts, list) else [parts]}
        )
    if (written := attributes.get(_INPUT)) is not None:
        return messages + ([] if is_cut(written) else messages_of(written))
    for name, fields in _events(span):
        if name in _EVENTS:
            messages += messages_of({"role": _EVENTS[name], **_body(fields)}, _EVENTS[name])
        elif name in _ASKED and (written := fields.get(_ASKED[name])) is not None:
            messages += messages_of(written)
    return messages or None


def answered(span: RawSpan) -> Said | None:
    """The message that a model answered; the first, where there are several choices."""
    if (written := span.attributes.get(_OUTPUT)) is not None:
        return None if is_cut(written) else answer_of(messages_of(written, "assistant"))
    for name, fields in _events(span):
        if name == _CHOICE:
            inner = value_of(fields.get("message"))
            body = _body(inner if is_object(inner) else fields)
            return answer_of(messages_of({"role": "assistant", **body}, "assistant"))
        written = fields.get(_OUTPUT if name == _DETAILS else "gen_ai.completion")
        if name in (_DETAILS, _COMPLETION) and written is not None:
            return answer_of(messages_of(written, "assistant"))
    return None


def _body(fields: Mapping[str, object]) -> dict[str, object]:
    """What is said of a message; calls may be JSON in a text."""
    keys = ("role", "content", "parts", "tool_calls", "id", "tool_call_id")
    return {
        key: value_of(fields[key]) if key == "tool_calls" else fields[key]
        for key in keys
        if key in fields
    }


def _events(span: RawSpan) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in span.events:
        yield event.name, event.attributes
    for row in as_array(value_of(span.attributes.get("events"))):
        if is_object(row):
            yield str(row.get("event.name") or ""), row


def _kind(span: RawSpan) -> StepKind | None:
    """What a span is that names no operation, or one that we do not know."""
    attributes = span.attributes
    if "gen_ai.tool.name" in attributes and "gen_ai.request.model" not in attributes:
        return "tool"
    if "gen_ai.request.model" in attributes or _OUTPUT in attributes:
        return "model"
    return None


def ending(span: RawSpan) -> Any:
    """What an agent came to, where only its whole conversation is told: the last message."""
    for key in _ALL:
        if (written := span.attributes.get(key)) is not None:
            messages = messages_of(written)
            return messages[-1].get("content") if messages else None
    return None


DIALECT = Dialect(
    name="OpenTelemetry GenAI",
    version="semantic conventions 1.27 to 1.41",
    # Whole names come first, because a prefix has to be compared with every attribute.
    signs=("gen_ai.operation.name", "gen_ai.system", "gen_ai.provider.name", "gen_ai."),
    kind="gen_ai.operation.name",
    kinds=KINDS,
    kind_otherwise=_kind,
    names={
        "tool": ("gen_ai.tool.name",),
        "agent": ("gen_ai.agent.name", "agent_name", "gen_ai.agent.id"),
        "model": ("gen_ai.response.model", "gen_ai.request.model"),
    },
    fields={
        "arguments": (
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "gen_ai.retrieval.query.text",
        ),
        "result": ("gen_ai.tool.call.result", "tool_response", "gen_ai.retrieval.documents"),
        "input": ("gen_ai.input.messages",),
        "output": ("final_result", "gen_ai.output.messages"),
        "tokens_in": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "tokens_out": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        "cost": ("operation.cost", "gen_ai.usage.cost"),
        "call": ("gen_ai.tool.call.id",),
        "agent": ("gen_ai.agent.name",),
        "finish": ("gen_ai.response.finish_reasons",),
        "error": ("error.type",),
        "response": ("gen_ai.response.id",),
    },
    request=request,
    answered=answered,
    about={"conversation": "gen_ai.conversation.id"},
)
