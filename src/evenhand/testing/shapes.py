"""What vendors' answers look like: OpenAI's chat completions and embeddings, Anthropic's messages."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, cast

CHAT, MESSAGES, EMBEDDINGS = "chat/completions", "messages", "embeddings"
_ANTHROPIC_REASON = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def kind_of(path: str) -> str:
    """Which API a path belongs to; empty for none of those that answer."""
    path = path.partition("?")[0]
    return next((kind for kind in (CHAT, MESSAGES, EMBEDDINGS) if path.endswith("/" + kind)), "")


def conversation(body: Mapping[str, Any]) -> str:
    """All that was said, system prompt first, for rules to look at."""
    parts = [_text(body.get("system"))]
    parts += [_text(message.get("content")) for message in _messages(body)]
    return "\n".join(part for part in parts if part)


def chat(body: Mapping[str, Any], text: str, finish_reason: str, number: int) -> dict[str, Any]:
    """OpenAI's answer."""
    text, reason = _stopped(text, body.get("stop"), finish_reason)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", ""),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": reason,
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": tokens(conversation(body)),
            "completion_tokens": tokens(text),
            "total_tokens": tokens(conversation(body)) + tokens(text),
        },
    }


def message(body: Mapping[str, Any], text: str, finish_reason: str, number: int) -> dict[str, Any]:
    """Anthropic's answer. It goes on from what the last message began, and ends before a stop sequence."""
    messages = _messages(body)
    if messages and messages[-1].get("role") == "assistant":
        text = text.removeprefix(_text(messages[-1].get("content")))
    cut, reason = _stopped(text, body.get("stop_sequences"), finish_reason)
    stopped = next((s for s in body.get("stop_sequences") or [] if s in text), None)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [{"type": "text", "text": cut}],
        "stop_reason": "stop_sequence" if stopped else _ANTHROPIC_REASON.get(reason, reason),
        "stop_sequence": stopped,
        "usage": {"input_tokens": tokens(conversation(body)), "output_tokens": tokens(cut)},
    }


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Unit vectors of hashed words: texts that share words lie close together."""
    given = body.get("input", "")
    texts = [given] if isinstance(given, str) else [str(text) for text in given]
    dims = int(body.get("dimensions") or 256)
    data: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        vector = _vector(text, dims)
        value: object = vector
        if body.get("encoding_format") == "base64":
            value = base64.b64encode(struct.pack(f"<{dims}f", *vector)).decode()
        data.append({"object": "embedding", "index": i, "embedding": value})
    used = sum(map(tokens, texts))
    return {
        "object": "list",
        "model": body.get("model", ""),
        "data": data,
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def error(kind: str, status: int, said: str) -> dict[str, Any]:
    """An error as the vendor would word it."""
    types = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    type_ = types.get(status, "api_error")
    if kind == MESSAGES:
        return {"type": "error", "error": {"type": type_, "message": said}}
    codes = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    return {"error": {"message": said, "type": type_, "param": None, "code": codes.get(status)}}


def events(kind: str, answer: Mapping[str, Any]) -> bytes:
    """An answer as a stream of server-sent events, in one piece of text."""
    if kind == CHAT:
        choice = answer["choices"][0]
        head = {k: answer[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
        delta = {"role": "assistant", "content": choice["message"]["content"]}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], "usage": answer["usage"]},
        ]
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"
    text = answer["content"][0]["text"]
    empty = {**answer, "content": [], "stop_reason": None}
    steps: list[dict[str, Any]] = [
        {"type": "message_start", "message": empty},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]},
            "usage": {"output_tokens": answer["usage"]["output_tokens"]},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {step['type']}\ndata: {json.dumps(step)}\n\n" for step in steps).encode()


def tokens(text: str) -> int:
    """A count of tokens that is the same every time: one for every four characters, at least one."""
    return max(1, len(text) // 4)


def _stopped(text: str, stops: object, reason: str) -> tuple[str, str]:
    """The text up to the first stop sequence in it."""
    if isinstance(stops, str):
        stops = [stops]
    places = [text.find(stop) for stop in cast("Sequence[str]", stops or ()) if stop in text]
    return (text[: min(places)], "stop") if places else (text, reason)


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = body.get("messages")
    return [m for m in cast("list[object]", given) if isinstance(m, Mapping)] if isinstance(given, list) else []  # type: ignore[misc]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        blocks = cast("list[Mapping[str, Any]]", content)
        return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, Mapping))
    return ""


def _vector(text: str, dims: int) -> list[float]:
    vector = [0.0] * dims
    for word in text.lower().split() or [""]:
        h = int.from_bytes(hashlib.blake2b(word.strip(".,;:!?").encode("utf-8", "replace"), digest_size=8).digest(), "big")
        vector[h % dims] += 1.0 if h >> 63 else -1.0
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / norm for x in vector]
