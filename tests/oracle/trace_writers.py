"""Writes what an agent did as spans, by OpenTelemetry's own SDK, in one dialect or another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from openinference.semconv.trace import (
    MessageAttributes,
    OpenInferenceSpanKindValues,
    SpanAttributes,
    ToolCallAttributes,
)
from opentelemetry.exporter.otlp.proto.common._internal._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

SECOND = 1_000_000_000
START = 1_764_000_000 * SECOND


@dataclass(frozen=True)
class Act:
    """What an agent did. Times are in seconds from the beginning."""

    kind: str
    name: str
    begin: float
    end: float
    asked: Sequence[dict[str, Any]] = ()
    answer: dict[str, Any] | None = None
    arguments: Any = None
    result: Any = None
    call: str = ""
    error: str = ""
    tokens: tuple[int, int] | None = None
    within: Sequence[Act] = field(default=())


Dialect = Callable[[Span, Act], None]


def written(acts: Sequence[Act], dialect: Dialect, service: str = "shop") -> list[ReadableSpan]:
    """The spans of these acts; each one at the top is a trace of its own."""
    exporter = InMemorySpanExporter()
    limits = SpanLimits(max_attributes=100_000, max_events=100_000)
    resource = Resource.create({"service.name": service})
    provider = TracerProvider(resource=resource, span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests.writer", "1.0")

    def write(act: Act, parent: Span | None) -> None:
        context = set_span_in_context(parent) if parent is not None else None
        span = tracer.start_span(act.name, context, start_time=START + round(act.begin * SECOND))
        dialect(span, act)
        for inner in act.within:
            write(inner, span)
        if act.error:
            span.set_status(Status(StatusCode.ERROR, act.error))
        span.end(START + round(act.end * SECOND))

    for act in acts:
        write(act, None)
    return list(exporter.get_finished_spans())


def protobuf(spans: Sequence[ReadableSpan]) -> bytes:
    """As OTLP protobuf, as the official exporter sends it."""
    return encode_spans(spans).SerializeToString()


def as_json(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """The same request as OTLP JSON: ids in hexadecimal digits, as the collector writes it."""
    from google.protobuf.json_format import MessageToDict

    request = MessageToDict(encode_spans(spans))
    import base64

    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64decode(span[key]).hex()
    return request


def _set(span: Span, **attributes: Any) -> None:
    for key, value in attributes.items():
        if value is not None:
            span.set_attribute(key, value)


def _parts(said: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if said["role"] == "tool":
        own = said.get("tool_call_id")
        return {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": own, "response": said.get("content", "")}
            ],
        }
    if said.get("content") is not None:
        parts.append({"type": "text", "content": said["content"]})
    parts += [{"type": "tool_call", **call} for call in said.get("tool_calls", ())]
    return {"role": said["role"], "parts": parts}


def _vendor(act: Act) -> str:
    return "anthropic" if act.name.startswith("claude") else "openai"


def genai(span: Span, act: Act) -> None:
    """The GenAI conventions as they are now: messages as attributes."""
    operation = {"model": "chat", "tool": "execute_tool", "agent": "invoke_agent"}[act.kind]
    span.set_attribute("gen_ai.operation.name", operation)
    if act.kind == "model":
        _genai_model(span, act)
        span.set_attribute("gen_ai.provider.name", _vendor(act))
        span.set_attribute("gen_ai.input.messages", json.dumps([_parts(one) for one in act.asked]))
        if act.answer:
            answer = {**_parts({"role": "assistant", **act.answer}), "finish_reason": "stop"}
            span.set_attribute("gen_ai.output.messages", json.dumps([answer]))
    else:
        _genai_other(span, act)


def _genai_model(span: Span, act: Act) -> None:
    span.set_attribute("gen_ai.request.model", act.name)
    if act.tokens:
        span.set_attribute("gen_ai.usage.input_tokens", act.tokens[0])
        span.set_attribute("gen_ai.usage.output_tokens", act.tokens[1])


def _genai_other(span: Span, act: Act) -> None:
    if act.kind == "agent":
        span.set_attribute("gen_ai.agent.name", act.name)
        return
    span.set_attribute("gen_ai.tool.name", act.name)
    if act.call:
        span.set_attribute("gen_ai.tool.call.id", act.call)
    span.set_attribute("gen_ai.tool.call.arguments", json.dumps(act.arguments))
    if act.result is not None:
        span.set_attribute("gen_ai.tool.call.result", _as_text(act.result))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _openai_calls(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in said.get("tool_calls", ())
    ]


def genai_events(span: Span, act: Act) -> None:
    """The GenAI conventions before 1.37: messages as events of the span."""
    operation = {"model": "chat", "tool": "execute_tool", "agent": "invoke_agent"}[act.kind]
    span.set_attribute("gen_ai.operation.name", operation)
    span.set_attribute("gen_ai.system", _vendor(act))
    if act.kind != "model":
        _genai_other(span, act)
        return
    _genai_model(span, act)
    for name, attributes in events_of(act):
        span.add_event(name, attributes)


def events_of(act: Act) -> list[tuple[str, dict[str, Any]]]:
    """The events of a model's call; what is no text is JSON."""
    events: list[tuple[str, dict[str, Any]]] = []
    for said in act.asked:
        attributes: dict[str, Any] = {}
        if said.get("content") is not None:
            attributes["content"] = said["content"]
        if calls := _openai_calls(said):
            attributes["tool_calls"] = json.dumps(calls)
        if own := said.get("tool_call_id"):
            attributes["id"] = own
        events.append((f"gen_ai.{said['role']}.message", attributes))
    if act.answer:
        message = {"role": "assistant", "content": act.answer.get("content")}
        if calls := _openai_calls(act.answer):
            message["tool_calls"] = calls
        events.append(
            ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps(message)})
        )
    return events


def openinference(span: Span, act: Act) -> None:
    """OpenInference, with the names of its own package."""
    kinds = OpenInferenceSpanKindValues
    kind = {"model": kinds.LLM, "tool": kinds.TOOL, "agent": kinds.AGENT}[act.kind]
    span.set_attribute(SpanAttributes.OPENINFERENCE_SPAN_KIND, kind.value)
    if act.kind == "agent":
        span.set_attribute(SpanAttributes.AGENT_NAME, act.name)
    elif act.kind == "tool":
        span.set_attribute(SpanAttributes.TOOL_NAME, act.name)
        if act.call:
            span.set_attribute(ToolCallAttributes.TOOL_CALL_ID, act.call)
        span.set_attribute(SpanAttributes.INPUT_VALUE, json.dumps(act.arguments))
        span.set_attribute(SpanAttributes.INPUT_MIME_TYPE, "application/json")
        if act.result is not None:
            span.set_attribute(SpanAttributes.OUTPUT_VALUE, _as_text(act.result))
    else:
        span.set_attribute(SpanAttributes.LLM_MODEL_NAME, act.name)
        for i, said in enumerate(act.asked):
            _message(span, f"{SpanAttributes.LLM_INPUT_MESSAGES}.{i}", said)
        if act.answer:
            _message(
                span, f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0", {"role": "assistant", **act.answer}
            )
        if act.tokens:
            span.set_attribute(SpanAttributes.LLM_TOKEN_COUNT_PROMPT, act.tokens[0])
            span.set_attribute(SpanAttributes.LLM_TOKEN_COUNT_COMPLETION, act.tokens[1])


def _message(span: Span, prefix: str, said: dict[str, Any]) -> None:
    names, calls = MessageAttributes, ToolCallAttributes
    span.set_attribute(f"{prefix}.{names.MESSAGE_ROLE}", said["role"])
    if said.get("content") is not None:
        span.set_attribute(f"{prefix}.{names.MESSAGE_CONTENT}", said["content"])
    if own := said.get("tool_call_id"):
        span.set_attribute(f"{prefix}.{names.MESSAGE_TOOL_CALL_ID}", own)
    for i, call in enumerate(said.get("tool_calls", ())):
        at = f"{prefix}.{names.MESSAGE_TOOL_CALLS}.{i}"
        span.set_attribute(f"{at}.{calls.TOOL_CALL_ID}", call["id"])
        span.set_attribute(f"{at}.{calls.TOOL_CALL_FUNCTION_NAME}", call["name"])
        span.set_attribute(
            f"{at}.{calls.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}", json.dumps(call["arguments"])
        )


def openllmetry(span: Span, act: Act) -> None:
    """OpenLLMetry, as Traceloop's SDK writes it."""
    if act.kind == "model":
        span.set_attribute("llm.request.type", "chat")
        span.set_attribute("gen_ai.system", _vendor(act).title())
        span.set_attribute("gen_ai.request.model", act.name)
        for i, said in enumerate(act.asked):
            _flat(span, f"gen_ai.prompt.{i}", said)
        if act.answer:
            _flat(span, "gen_ai.completion.0", {"role": "assistant", **act.answer})
            span.set_attribute("gen_ai.completion.0.finish_reason", "stop")
        if act.tokens:
            span.set_attribute("gen_ai.usage.prompt_tokens", act.tokens[0])
            span.set_attribute("gen_ai.usage.completion_tokens", act.tokens[1])
            span.set_attribute("llm.usage.total_tokens", sum(act.tokens))
        return
    span.set_attribute("traceloop.span.kind", act.kind)
    span.set_attribute("traceloop.entity.name", act.name)
    if act.kind == "tool":
        inputs = {"inputs": act.arguments, "tags": [], "metadata": {}, "kwargs": {}}
        span.set_attribute("traceloop.entity.input", json.dumps(inputs))
        if act.call:
            span.set_attribute("gen_ai.tool.call.id", act.call)
        if act.result is not None:
            span.set_attribute("traceloop.entity.output", json.dumps({"output": act.result}))


def _flat(span: Span, prefix: str, said: dict[str, Any]) -> None:
    span.set_attribute(f"{prefix}.role", said["role"])
    if said.get("content") is not None:
        span.set_attribute(f"{prefix}.content", said["content"])
    if own := said.get("tool_call_id"):
        span.set_attribute(f"{prefix}.tool_call_id", own)
    for i, call in enumerate(said.get("tool_calls", ())):
        span.set_attribute(f"{prefix}.tool_calls.{i}.id", call["id"])
        span.set_attribute(f"{prefix}.tool_calls.{i}.name", call["name"])
        span.set_attribute(f"{prefix}.tool_calls.{i}.arguments", json.dumps(call["arguments"]))


def langfuse(span: Span, act: Act) -> None:
    """Langfuse, as its SDK writes it since version 3."""
    kind = {"model": "generation"}.get(act.kind, act.kind)
    span.set_attribute("langfuse.observation.type", kind)
    if act.kind == "model":
        span.set_attribute("langfuse.observation.model.name", act.name)
        asked = [
            {**one, **({"tool_calls": _openai_calls(one)} if one.get("tool_calls") else {})}
            for one in act.asked
        ]
        span.set_attribute("langfuse.observation.input", json.dumps(asked))
        if act.answer:
            answer = {"role": "assistant", **act.answer}
            if act.answer.get("tool_calls"):
                answer["tool_calls"] = _openai_calls(act.answer)
            span.set_attribute("langfuse.observation.output", json.dumps(answer))
        if act.tokens:
            usage = {"input": act.tokens[0], "output": act.tokens[1], "total": sum(act.tokens)}
            span.set_attribute("langfuse.observation.usage_details", json.dumps(usage))
    elif act.kind == "tool":
        span.set_attribute("langfuse.observation.input", json.dumps(act.arguments))
        if act.call:
            span.set_attribute("langfuse.observation.metadata.tool_call_id", act.call)
        if act.result is not None:
            span.set_attribute("langfuse.observation.output", _as_text(act.result))


DIALECTS: dict[str, Dialect] = {
    "genai": genai,
    "genai events": genai_events,
    "openinference": openinference,
    "openllmetry": openllmetry,
    "langfuse": langfuse,
}


def logs_of(acts: Sequence[Act], spans: Sequence[ReadableSpan]) -> bytes:
    """What was said, as log records beside spans that don't say it: OTLP protobuf."""
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("tests.writer")
    from opentelemetry.trace import NonRecordingSpan

    flat: list[Act] = []

    def walk(act: Act) -> None:
        flat.append(act)
        for inner in act.within:
            walk(inner)

    for act in acts:
        walk(act)
    by_start = {(span.name, span.start_time): span for span in spans}
    for act in flat:
        if act.kind != "model":
            continue
        span = by_start[act.name, START + round(act.begin * SECOND)]
        context = set_span_in_context(NonRecordingSpan(span.get_span_context()))
        for i, (name, attributes) in enumerate(events_of(act)):
            logger.emit(
                timestamp=START + round(act.begin * SECOND) + i,
                event_name=name,
                body=attributes,
                context=context,
            )
    return encode_logs(exporter.get_finished_logs()).SerializeToString()
