"""What vendors' answers look like: OpenAI's chat completions, embeddings and moderations, Anthropic's messages."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping, is_object
from evenhand.testing.function_calls import ToolCalls, chat_calls, message_calls
from evenhand.testing.script import ScriptedRequest

CHAT, MESSAGES, EMBEDDINGS = "chat/completions", "messages", "embeddings"
MODERATIONS, COMPLETIONS, RESPONSES = "moderations", "completions", "responses"
GENERATE_CONTENT, EMBED_CONTENT = ":generateContent", ":embedContent"
STREAMED_CONTENT = ":streamGenerateContent"
OLLAMA_CHAT, OLLAMA_GENERATE, OLLAMA_EMBEDDINGS = "api/chat", "api/generate", "api/embeddings"
PREDICT, RAW_PREDICT = ":predict", ":rawPredict"
LLAMA, PREDICTIONS = "/completion", "/predictions"
DECISIONS, SYSTEM_ONE = "/decisions", "/systemone"
FEATURES, LABELS = "pipeline/feature-extraction", "pipeline/text-classification"
KINDS = (
    CHAT,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    OLLAMA_EMBEDDINGS,
    EMBEDDINGS,
    MODERATIONS,
    COMPLETIONS,
    RESPONSES,
    STREAMED_CONTENT,
    GENERATE_CONTENT,
    EMBED_CONTENT,
    PREDICT,
    RAW_PREDICT,
    LLAMA,
    PREDICTIONS,
    FEATURES,
    LABELS,
    DECISIONS,
    SYSTEM_ONE,
)
"""What paths end with, the longer ones first where one ends with the other."""

DECIDING = (DECISIONS, SYSTEM_ONE)
"""Dialects of decision models: each question of a request looks for its own rule."""

OWN = "own"
"""A path that is no vendor's: a rule that names it is answered word for word."""

MEASURED = (
    OWN,
    EMBEDDINGS,
    MODERATIONS,
    OLLAMA_EMBEDDINGS,
    EMBED_CONTENT,
    PREDICT,
    PREDICTIONS,
    FEATURES,
    LABELS,
)
"""Those that measure a text instead of answering it: only rules that name a path are looked at."""

_ANTHROPIC_REASON = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}

_SYSTEM = ("system", "developer")
_TEXTS = ("content", "text", "response")
CREATED = 1_700_000_000
LONGEST_VECTOR = 4096


def kind_of(path: str) -> str:
    """Which API a path belongs to; empty for none of those that answer."""
    path = path.partition("?")[0]
    return next((kind for kind in KINDS if path.endswith(kind)), "")


_SYSTEM_KEYS = ("system", "systemInstruction", "system_instruction", "instructions")


def asked(body: Mapping[str, Any], path: str) -> ScriptedRequest:
    """A request's body, for rules to look at."""
    messages = _messages(body)
    system = [_text(body.get(name)) for name in _SYSTEM_KEYS]
    system += [_text(m.get("content")) for m in messages if m.get("role") in _SYSTEM]
    others = [
        (m.get("role"), _text(m.get("content", m.get("parts", m.get("output")))))
        for m in messages
        if m.get("role") not in _SYSTEM
    ]
    texts = (body.get(name) for name in ("prompt", "input", "inputs", "content"))
    others += [("user", _text(text)) for text in texts if text and not isinstance(text, list)]
    others += [("user", _text(item.get("content"))) for item in _items(body.get("instances"))]
    last = next((text for role, text in reversed(others) if role == "user"), "")
    conversation = [*system, *(text for _, text in others)]
    return ScriptedRequest(
        model=str(body.get("model") or _model_in(path)),
        text="\n".join(text for text in conversation if text),
        system="\n".join(text for text in system if text),
        last=last,
        path=path,
        schema=_schema(body),
    )


def _model_in(path: str) -> str:
    """The model's name, where it stands in the path."""
    _, _, rest = path.partition("/models/")
    return rest.partition(":")[0].partition("/pipeline/")[0]


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """OpenAI has it in `response_format.json_schema`, Anthropic in `output_config.format`."""
    schema: Any = None
    for keys in (
        ("response_format", "json_schema", "schema"),
        ("output_config", "format", "schema"),
    ):
        value: Any = body
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        schema = schema or value
    return schema if is_mapping(schema) else None


def chat(
    body: Mapping[str, Any],
    request: ScriptedRequest,
    text: str,
    finish_reason: str,
    number: int,
    calls: ToolCalls = (),
) -> dict[str, Any]:
    """OpenAI's answer."""
    tools = {"tool_calls": chat_calls(calls, number)} if calls else {}
    if calls and finish_reason == "stop":
        finish_reason = "tool_calls"
    text, stop = _stopped(text, body.get("stop"))
    count = body.get("n")
    read, written = tokens(request.text), tokens(text)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "choices": [
            {
                "index": i,
                "message": {
                    "role": "assistant",
                    "content": text or None if calls else text,
                    "refusal": None,
                    **tools,
                },
                "finish_reason": "stop" if stop else finish_reason,
                "logprobs": None,
            }
            for i in range(count if isinstance(count, int) else 1)
        ],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def message(
    body: Mapping[str, Any],
    request: ScriptedRequest,
    text: str,
    finish_reason: str,
    number: int,
    calls: ToolCalls = (),
) -> dict[str, Any]:
    """Anthropic's answer. It goes on from what the last message began, and ends before a stop sequence."""
    messages = _messages(body)
    if messages and messages[-1].get("role") == "assistant":
        text = text.removeprefix(_text(messages[-1].get("content")))
    text, stop = _stopped(text, body.get("stop_sequences"))
    if calls and finish_reason == "stop":
        finish_reason = "tool_calls"
    content = [{"type": "text", "text": text}] if text or not calls else []
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [*content, *message_calls(calls, number)],
        "stop_reason": "stop_sequence"
        if stop
        else _ANTHROPIC_REASON.get(finish_reason, finish_reason),
        "stop_sequence": stop,
        "usage": {"input_tokens": tokens(request.text), "output_tokens": tokens(text)},
    }


def models(names: Sequence[str]) -> dict[str, Any]:
    """A list of models, for both vendors at once."""
    day = "2023-11-14T22:13:20Z"  # the same moment as CREATED
    mine = {"object": "model", "type": "model", "owned_by": "scripted", "created_at": day}
    data = [{**mine, "id": name, "display_name": name, "created": CREATED} for name in names]
    ends = {"first_id": names[0], "last_id": names[-1]} if names else {}
    return {"object": "list", "data": data, "has_more": False, **ends}


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Unit vectors of hashed words: texts that share words lie close together."""
    input_ = body.get("input", "")
    texts = [str(text) for text in input_] if is_array(input_) else [str(input_)]
    size = body.get("dimensions")
    dims = size if isinstance(size, int) and 0 < size <= LONGEST_VECTOR else 256
    data: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        numbers = vector(text, dims)
        value: object = numbers
        if body.get("encoding_format") == "base64":
            value = base64.b64encode(struct.pack(f"<{dims}f", *numbers)).decode()
        data.append({"object": "embedding", "index": i, "embedding": value})
    used = sum(map(tokens, texts))
    return {
        "object": "list",
        "model": body.get("model", ""),
        "data": data,
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def moderation(body: Mapping[str, Any], flagged: object, number: int) -> dict[str, Any]:
    """What a text violates: category → score as the rule says, and two categories that are always looked at."""
    scores = as_mapping(flagged)
    names = dict.fromkeys([*scores, "hate", "violence"])
    result = {
        "flagged": bool(scores),
        "categories": {name: name in scores for name in names},
        "category_scores": {name: scores.get(name, 0.001) for name in names},
    }
    return {"id": f"modr-{number}", "model": body.get("model", ""), "results": [result]}


def error(kind: str, status: int, message: str) -> dict[str, Any]:
    """An error as the vendor would word it."""
    types = {
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        429: "rate_limit_error",
    }
    type_ = types.get(status, "api_error")
    if kind == MESSAGES:
        return {"type": "error", "error": {"type": type_, "message": message}}
    codes = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    return {"error": {"message": message, "type": type_, "param": None, "code": codes.get(status)}}


def silenced(data: bytes, content: str) -> bytes:
    """An answer, or a stream of them, with null in the place of each text."""
    if content == "application/json":
        return written(_without_text(json.loads(data)))
    lines = data.split(b"\n")
    for place, line in enumerate(lines):
        if line.startswith(b"data: {"):
            event = json.loads(line.removeprefix(b"data: "))
            lines[place] = b"data: " + written(_without_text(event))
    return b"\n".join(lines)


def _without_text(value: Any) -> Any:
    if is_object(value):
        fields = value
        silent = {key for key in _TEXTS if isinstance(fields.get(key), str)}
        return {key: None if key in silent else _without_text(v) for key, v in fields.items()}
    if is_array(value):
        return [_without_text(item) for item in value]
    return value


def written(value: object) -> bytes:
    """JSON bytes. Lone surrogates become escapes, as a vendor would send them."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def tokens(text: str) -> int:
    """A count of tokens that is the same every time: one for every four characters, at least one."""
    return max(1, len(text) // 4)


def _stopped(text: str, stops: object) -> tuple[str, str | None]:
    """The text up to the first stop sequence in it, and which that was."""
    listed = [stops] if isinstance(stops, str) else as_array(stops)
    present = [stop for stop in listed if isinstance(stop, str) and stop in text]
    if not present:
        return text, None
    first = min(present, key=text.find)
    return text[: text.find(first)], first


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return _items(body.get("messages", body.get("contents", body.get("input"))))


def _items(value: object) -> list[Mapping[str, Any]]:
    if not is_array(value):
        return []
    return [m for m in value if isinstance(m, Mapping)]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if is_mapping(content):
        mapping = content
        return _text(mapping.get("parts", mapping.get("prompt", mapping.get("text"))))
    if is_array(content):
        blocks = content
        return "\n".join(_block_text(block) for block in blocks if isinstance(block, Mapping))
    return ""


def _block_text(block: Mapping[str, Any]) -> str:
    """The text of a block, also of what a tool gave back."""
    result = block.get("functionResponse")
    if isinstance(result, Mapping):
        return json.dumps(result, ensure_ascii=False, default=str)
    return str(block.get("text", "")) or _text(block.get("content"))


def vector(text: str, dims: int) -> list[float]:
    """A unit vector of hashed words: texts that share words lie close together."""
    numbers = [0.0] * dims
    for word in text.lower().split() or [""]:
        letters = word.strip(".,;:!?").encode("utf-8", "replace")
        h = int.from_bytes(hashlib.blake2b(letters, digest_size=8).digest(), "big")
        numbers[h % dims] += 1.0 if h >> 63 else -1.0
    norm = math.sqrt(sum(x * x for x in numbers)) or 1.0
    return [x / norm for x in numbers]
