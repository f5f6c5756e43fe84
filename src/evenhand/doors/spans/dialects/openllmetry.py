"""OpenLLMetry, as Traceloop's SDK and its instrumentations write it: `traceloop.*`, `gen_ai.prompt.0.role`, `llm.*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.json_shapes import is_array
from evenhand.core.step import StepKind
from evenhand.doors.spans.dialects import genai
from evenhand.doors.spans.dialects.dialect import Dialect
from evenhand.doors.spans.messages import Said, call, indexed, message, value_of
from evenhand.doors.spans.span import RawSpan


def request(span: RawSpan) -> list[Said] | None:
    """The messages that a model was sent."""
    rows = indexed(span.attributes, "gen_ai.prompt") or indexed(span.attributes, "llm.prompts")
    return [_message(row, "user") for row in rows] or genai.request(span)


def answered(span: RawSpan) -> Said | None:
    """The message that a model answered."""
    completions = indexed(span.attributes, "gen_ai.completion")
    rows = completions or indexed(span.attributes, "llm.completions")
    return _message(rows[0], "assistant") if rows else genai.answered(span)


def _message(row: Mapping[str, Any], role: str) -> Said:
    calls = [
        call(one.get("name"), one.get("arguments"), one.get("id"))
        for one in indexed(row, "tool_calls")
    ]
    content = value_of(row.get("content"))
    if is_array(content):  # the parts of a message, as JSON
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        if all(isinstance(text, str) for text in texts):
            content = "\n".join(cast("list[str]", texts))
    else:
        content = row.get("content")
    return message(row.get("role") or role, content, calls, row.get("tool_call_id"))


def _kind(span: RawSpan) -> StepKind | None:
    request = span.attributes.get("llm.request.type")
    if request in ("chat", "completion", "embedding"):
        return "model"
    return genai.DIALECT.kind_of(span)


DIALECT = Dialect(
    name="OpenLLMetry",
    version="semantic conventions for AI 0.4 and 0.5",
    signs=(
        "traceloop.span.kind",
        "llm.request.type",
        "gen_ai.prompt.",
        "gen_ai.completion.",
        "traceloop.entity.name",
    ),
    kind="traceloop.span.kind",
    kinds={"workflow": None, "task": None, "agent": "agent", "tool": "tool", "unknown": None},
    kind_otherwise=_kind,
    names={
        "tool": ("traceloop.entity.name", "gen_ai.tool.name"),
        "agent": ("traceloop.entity.name", "gen_ai.agent.name"),
        "model": (
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.response.model",
            "llm.request.model",
        ),
    },
    fields={
        "arguments": ("gen_ai.tool.call.arguments", "traceloop.entity.input"),
        "result": ("gen_ai.tool.call.result", "traceloop.entity.output"),
        "input": ("traceloop.entity.input",),
        "output": ("traceloop.entity.output",),
        "tokens_in": (
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.usage.prompt_tokens",
        ),
        "tokens_out": (
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.usage.completion_tokens",
        ),
        "cost": ("gen_ai.usage.cost",),
        "call": ("gen_ai.tool.call.id",),
        "agent": ("gen_ai.agent.name",),
        "finish": (
            "gen_ai.response.finish_reasons",
            "gen_ai.response.finish_reason",
            "llm.response.finish_reason",
            "gen_ai.completion.0.finish_reason",
        ),
        "error": ("error.type",),
        "response": ("gen_ai.response.id",),
    },
    request=request,
    answered=answered,
    about={"session": "traceloop.association.properties.session_id"},
)
