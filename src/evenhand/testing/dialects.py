"""Answers in the shape that each API has, made of the same parts: a rule's reply, and how much was read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.testing import shapes
from evenhand.testing.function_calls import content_calls, ollama_calls, response_calls
from evenhand.testing.script import Rule, ScriptedRequest

_GOOGLE_REASON = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
DIMENSIONS = 256


def answered(
    kind: str, body: Mapping[str, Any], request: ScriptedRequest, rule: Rule, number: int
) -> Any:
    """The answer of this kind of API.

    Args:
        kind: One of `shapes.KINDS`.
        rule: What it says; its text is made here, and may raise what a reply that is a function raises.
        number: Which answer of the server it is.
    """
    if kind in shapes.MEASURED:
        return _measured(kind, body, request, rule, number)
    text = rule.reply_text(request.text)
    if kind == shapes.CHAT:
        return shapes.chat(body, request, text, rule.finish_reason, number, rule.tool_calls)
    if kind in (shapes.MESSAGES, shapes.RAW_PREDICT):
        return shapes.message(body, request, text, rule.finish_reason, number, rule.tool_calls)
    return _WRITERS[kind](request, text, rule, number)


def _measured(
    kind: str, body: Mapping[str, Any], request: ScriptedRequest, rule: Rule, number: int
) -> Any:
    if kind == shapes.OWN:
        return rule.reply(request.text) if callable(rule.reply) else rule.reply
    if kind == shapes.EMBEDDINGS:
        return shapes.embeddings(body)
    if kind == shapes.MODERATIONS:
        return shapes.moderation(body, rule.reply, number)
    if kind == shapes.LABELS:
        labels: Mapping[str, float] = rule.reply or {"POSITIVE": 0.75, "NEGATIVE": 0.25}
        return [[{"label": label, "score": score} for label, score in labels.items()]]
    vector = shapes.vector(request.text, DIMENSIONS)
    if kind == shapes.PREDICTIONS:
        return _prediction(request, rule.reply, number)
    if kind == shapes.PREDICT:
        return {"predictions": [{"embeddings": {"values": vector}}]}
    if kind == shapes.EMBED_CONTENT:
        return {"embedding": {"values": vector}}
    return vector if kind == shapes.FEATURES else {"embedding": vector}


def _prediction(request: ScriptedRequest, flagged: object, number: int) -> dict[str, Any]:
    """Llama Guard's answer on Replicate: the categories that a rule flags, e.g. `{"S1": 1}`."""
    codes = [str(code) for code in cast("Mapping[object, object]", flagged or {})]
    output = f"unsafe\n{','.join(codes)}" if codes else "safe"
    return {
        "id": f"pred{number}",
        "model": request.model,
        "status": "succeeded",
        "output": output,
        "error": None,
    }


def _completion(request: ScriptedRequest, text: str, rule: Rule, number: int) -> dict[str, Any]:
    read, written = shapes.tokens(request.text), shapes.tokens(text)
    return {
        "id": f"cmpl-{number}",
        "object": "text_completion",
        "model": request.model,
        "choices": [
            {"index": 0, "text": text, "finish_reason": rule.finish_reason, "logprobs": None}
        ],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def _response(request: ScriptedRequest, spoken: str, rule: Rule, number: int) -> dict[str, Any]:
    cut = rule.finish_reason == "length"
    text = {"type": "output_text", "text": spoken, "annotations": []}
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "incomplete" if cut else "completed",
        "content": [text],
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": shapes.CREATED,
        "model": request.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [
            *([message] if spoken or not rule.tool_calls else []),
            *response_calls(rule.tool_calls, number),
        ],
        "usage": {
            "input_tokens": (read := shapes.tokens(request.text)),
            "output_tokens": (written := shapes.tokens(spoken)),
            "total_tokens": read + written,
        },
    }


def _content(request: ScriptedRequest, spoken: str, rule: Rule, number: int) -> dict[str, Any]:
    text = [{"text": spoken}] if spoken or not rule.tool_calls else []
    read, written = shapes.tokens(request.text), shapes.tokens(spoken)
    candidate = {
        "content": {"role": "model", "parts": [*text, *content_calls(rule.tool_calls)]},
        "finishReason": _GOOGLE_REASON.get(rule.finish_reason, rule.finish_reason),
        "index": 0,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
        },
        "modelVersion": request.model,
        "responseId": f"g{number}",
    }


def _ollama(request: ScriptedRequest, text: str, rule: Rule) -> dict[str, Any]:
    return {
        "model": request.model,
        "done": True,
        "done_reason": rule.finish_reason,
        "prompt_eval_count": shapes.tokens(request.text),
        "eval_count": shapes.tokens(text),
    }


def _ollama_chat(request: ScriptedRequest, text: str, rule: Rule, number: int) -> dict[str, Any]:
    del number
    tools = {"tool_calls": ollama_calls(rule.tool_calls)} if rule.tool_calls else {}
    return {
        **_ollama(request, text, rule),
        "message": {"role": "assistant", "content": text, **tools},
    }


def _ollama_text(request: ScriptedRequest, text: str, rule: Rule, number: int) -> dict[str, Any]:
    del number
    return {**_ollama(request, text, rule), "response": text}


def _llama(request: ScriptedRequest, text: str, rule: Rule, number: int) -> dict[str, Any]:
    del number
    return {
        "content": text,
        "stop": True,
        "stop_type": "limit" if rule.finish_reason == "length" else "eos",
        "tokens_evaluated": shapes.tokens(request.text),
        "tokens_predicted": shapes.tokens(text),
    }


_WRITERS = {
    shapes.COMPLETIONS: _completion,
    shapes.RESPONSES: _response,
    shapes.GENERATE_CONTENT: _content,
    shapes.STREAMED_CONTENT: _content,
    shapes.OLLAMA_CHAT: _ollama_chat,
    shapes.OLLAMA_GENERATE: _ollama_text,
    shapes.LLAMA: _llama,
}
