"""OpenInference, as Arize Phoenix's instrumentations write it: `openinference.span.kind`, `llm.*`, `tool.*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.doors.spans.dialects.dialect import Dialect
from evenhand.doors.spans.messages import Said, answer_of, call, indexed, message, messages_of
from evenhand.doors.spans.span import RawSpan


def request(span: RawSpan) -> list[Said] | None:
    """The messages that a model was sent."""
    rows = indexed(span.attributes, "llm.input_messages")
    if rows:
        return [_message(row) for row in rows]
    prompts = indexed(span.attributes, "llm.prompts")
    if prompts:
        return [message("user", row.get("prompt.text")) for row in prompts]
    return messages_of(span.attributes.get("input.value")) or None


def answered(span: RawSpan) -> Said | None:
    """The message that a model answered."""
    rows = indexed(span.attributes, "llm.output_messages")
    if rows:
        return _message(rows[0])
    choices = indexed(span.attributes, "llm.choices")
    if choices:
        return message("assistant", choices[0].get("completion.text"))
    return answer_of(messages_of(span.attributes.get("output.value"), "assistant"))


def _message(row: Mapping[str, Any]) -> Said:
    fields = {key.removeprefix("message."): value for key, value in row.items()}
    content = fields.get("content")
    if content is None:
        parts = indexed(fields, "contents")
        texts = [
            part.get("message_content.text") or part
            for part in parts
            # A part that is a tool's call stands in `tool_calls` as well.
            if part.get("message_content.type") not in ("reasoning", "tool_use")
        ]
        plain = [text for text in texts if isinstance(text, str)]
        content = "\n".join(plain) if len(plain) == len(texts) else texts
    calls = [
        call(
            one.get("tool_call.function.name"),
            one.get("tool_call.function.arguments"),
            one.get("tool_call.id"),
        )
        for one in indexed(fields, "tool_calls")
    ]
    if name := fields.get("function_call_name"):
        calls.append(call(name, fields.get("function_call_arguments_json")))
    return message(fields.get("role"), content, calls, fields.get("tool_call_id"))


DIALECT = Dialect(
    name="OpenInference",
    version="semantic conventions 0.1.42",
    signs=("openinference.span.kind",),
    kind="openinference.span.kind",
    kinds={
        "llm": "model",
        "embedding": "model",
        "tool": "tool",
        "retriever": "tool",
        "agent": "agent",
        "reranker": "tool",
        "chain": None,
        "guardrail": None,
        "evaluator": None,
        "prompt": None,
        "decision": "model",
        "unknown": None,
    },
    beside=("._prepare_chat_with_tools",),  # LlamaIndex's
    names={
        "tool": ("tool.name",),
        "agent": ("agent.name", "graph.node.name"),
        "model": (
            "llm.response.model_name",
            "llm.model_name",
            "llm.request.model_name",
            "embedding.model_name",
            "decision.model_name",
        ),
    },
    fields={
        "arguments": ("input.value", "tool.parameters"),
        "result": ("output.value",),
        "input": ("input.value",),
        "output": ("output.value",),
        "input_mime": ("input.mime_type",),
        "output_mime": ("output.mime_type",),
        "tokens_in": ("llm.token_count.prompt", "decision.token_count.input"),
        "tokens_out": ("llm.token_count.completion", "decision.token_count.output"),
        "cost": ("llm.cost.total",),
        "call": ("tool_call.id", "tool.id"),
        "agent": ("agent.name",),
        "finish": ("llm.finish_reason",),
        "error": ("error.type",),
    },
    request=request,
    answered=answered,
    about={"session": "session.id", "user": "user.id", "tags": "tag.tags"},
)
