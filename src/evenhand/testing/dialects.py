"""Answers in the shape that each API has, made of the same parts: a rule's reply, and how much was read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.testing import shapes
from evenhand.testing.script import Asked, Rule

_GOOGLE_REASON = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
DIMENSIONS = 256


def answered(kind: str, body: Mapping[str, Any], asked: Asked, rule: Rule, number: int) -> Any:
    """The answer of this kind of API.

    Args:
        kind: One of `shapes.KINDS`.
        rule: What it says; its text is made here, and may raise what a reply that is a function raises.
        number: Which answer of the server it is.
    """
    if kind in shapes.MEASURED:
        return _measured(kind, body, asked, rule, number)
    said = rule.said(asked.text)
    if kind == shapes.CHAT:
        return shapes.chat(body, asked, said, rule.finish_reason, number, rule.tool_calls)
    if kind == shapes.MESSAGES:
        return shapes.message(body, asked, said, rule.finish_reason, number, rule.tool_calls)
    return _SAID[kind](asked, said, rule.finish_reason, number)


def _measured(kind: str, body: Mapping[str, Any], asked: Asked, rule: Rule, number: int) -> Any:
    if kind == shapes.OWN:
        return rule.reply(asked.text) if callable(rule.reply) else rule.reply
    if kind == shapes.EMBEDDINGS:
        return shapes.embeddings(body)
    if kind == shapes.MODERATIONS:
        return shapes.moderation(body, rule.reply, number)
    if kind == shapes.LABELS:
        labels: Mapping[str, float] = rule.reply or {"POSITIVE": 0.75, "NEGATIVE": 0.25}
        return [[{"label": label, "score": score} for label, score in labels.items()]]
    vector = shapes.vector(asked.text, DIMENSIONS)
    if kind == shapes.EMBED_CONTENT:
        return {"embedding": {"values": vector}}
    return vector if kind == shapes.FEATURES else {"embedding": vector}


def _completion(asked: Asked, said: str, reason: str, number: int) -> dict[str, Any]:
    read, written = shapes.tokens(asked.text), shapes.tokens(said)
    return {
        "id": f"cmpl-{number}",
        "object": "text_completion",
        "model": asked.model,
        "choices": [{"index": 0, "text": said, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def _response(asked: Asked, said: str, reason: str, number: int) -> dict[str, Any]:
    cut = reason == "length"
    text = {"type": "output_text", "text": said, "annotations": []}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "model": asked.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [{"type": "message", "role": "assistant", "content": [text]}],
        "usage": {"input_tokens": shapes.tokens(asked.text), "output_tokens": shapes.tokens(said)},
    }


def _content(asked: Asked, said: str, reason: str, number: int) -> dict[str, Any]:
    read, written = shapes.tokens(asked.text), shapes.tokens(said)
    candidate = {
        "content": {"role": "model", "parts": [{"text": said}]},
        "finishReason": _GOOGLE_REASON.get(reason, reason),
        "index": 0,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
        },
        "modelVersion": asked.model,
        "responseId": f"g{number}",
    }


def _ollama(asked: Asked, said: str, reason: str) -> dict[str, Any]:
    return {
        "model": asked.model,
        "done": True,
        "done_reason": reason,
        "prompt_eval_count": shapes.tokens(asked.text),
        "eval_count": shapes.tokens(said),
    }


def _ollama_chat(asked: Asked, said: str, reason: str, number: int) -> dict[str, Any]:
    del number
    return {**_ollama(asked, said, reason), "message": {"role": "assistant", "content": said}}


def _ollama_text(asked: Asked, said: str, reason: str, number: int) -> dict[str, Any]:
    del number
    return {**_ollama(asked, said, reason), "response": said}


_SAID = {
    shapes.COMPLETIONS: _completion,
    shapes.RESPONSES: _response,
    shapes.GENERATE_CONTENT: _content,
    shapes.OLLAMA_CHAT: _ollama_chat,
    shapes.OLLAMA_GENERATE: _ollama_text,
}
