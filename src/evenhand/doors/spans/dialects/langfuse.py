"""Langfuse: `langfuse.observation.*`, written by its SDKs since version 3. Fields of exports get the same names."""

from __future__ import annotations

from evenhand.doors.spans.dialects.dialect import Dialect
from evenhand.doors.spans.messages import Said, answer_of, messages_of
from evenhand.doors.spans.span import RawSpan

PREFIX = "langfuse.observation."


def request(span: RawSpan) -> list[Said] | None:
    """The messages that a model was sent."""
    return messages_of(span.attributes.get(f"{PREFIX}input")) or None


def answered(span: RawSpan) -> Said | None:
    """The message that a model answered."""
    return answer_of(messages_of(span.attributes.get(f"{PREFIX}output"), "assistant"))


DIALECT = Dialect(
    name="Langfuse",
    version="SDK 3 and 4, and exports of observations",
    signs=(f"{PREFIX}type", f"{PREFIX}input", f"{PREFIX}output", "langfuse.trace.", PREFIX),
    kind=f"{PREFIX}type",
    kinds={
        "generation": "model",
        "embedding": "model",
        "tool": "tool",
        "retriever": "tool",
        "agent": "agent",
        "span": None,
        "event": None,
        "chain": None,
        "evaluator": None,
        "guardrail": None,
    },
    names={"model": (f"{PREFIX}model.name",)},
    fields={
        "arguments": (f"{PREFIX}input",),
        "result": (f"{PREFIX}output",),
        "input": ("langfuse.trace.input", f"{PREFIX}input"),
        "output": ("langfuse.trace.output", f"{PREFIX}output"),
        "usage": (f"{PREFIX}usage_details",),
        "costs": (f"{PREFIX}cost_details",),
        "call": (f"{PREFIX}metadata.tool_call_id",),
        "error": (f"{PREFIX}status_message",),
        "level": (f"{PREFIX}level",),
    },
    request=request,
    answered=answered,
    about={
        "session": "session.id",
        "user": "user.id",
        "tags": "langfuse.trace.tags",
        "name": "langfuse.trace.name",
        "release": "langfuse.release",
    },
)
