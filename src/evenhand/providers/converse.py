"""Amazon's Converse API: what it answers, as the message of Anthropic's API that says the same.

Its streams are frames, not lines: lengths, headers and a document, each with a checksum, as botocore reads them. Every
document says by its keys which event it is of.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers import anthropic

_REASONS = {"content_filtered": "refusal", "guardrail_intervened": "refusal"}
_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}
_PRELUDE, _CHECKSUM = 12, 4  # bytes


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    answer = as_mapping(decode(body))
    message = as_mapping(as_mapping(answer["output"])["message"])
    used = as_mapping(answer.get("usage"))
    stop = answer.get("stopReason")
    whole = {
        "type": "message",
        "role": "assistant",
        "content": [_block(as_mapping(block)) for block in as_array(message["content"])],
        "stop_reason": _REASONS.get(str(stop), stop),
        "usage": {name: used[key] for key, name in _USAGE.items() if key in used},
    }
    return anthropic.DIALECT.read(encode(whole, ordered=False), parsed, price)


def _block(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    call = as_mapping(block.get("toolUse"))
    if call:
        named = {"id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
        return {"type": "tool_use", **named}
    return {"type": next(iter(block), "unknown")}


def whole(body: bytes) -> dict[str, Any] | None:
    """The answer that the frames of `converse-stream` add up to; None where they stop before its end."""
    blocks: dict[int, dict[str, Any]] = {}
    stop, usage = None, None
    for event in _frames(body):
        block = blocks.setdefault(event.get("contentBlockIndex") or 0, {})
        call = as_mapping(as_mapping(event.get("start")).get("toolUse"))
        if call:
            block["toolUse"] = {**call, "input": ""}
        delta = as_mapping(event.get("delta"))
        if isinstance(delta.get("text"), str):
            block["text"] = block.get("text", "") + delta["text"]
        if "toolUse" in delta and "toolUse" in block:
            block["toolUse"]["input"] += str(as_mapping(delta["toolUse"]).get("input") or "")
        stop = event.get("stopReason") or stop
        usage = event.get("usage") or usage
    if stop is None:
        return None
    for block in blocks.values():
        if "toolUse" in block:
            # None where it is cut off by the longest answer allowed.
            block["toolUse"]["input"] = decoded(block["toolUse"]["input"] or "{}")
    content = [blocks[index] for index in sorted(blocks) if blocks[index]]
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage}


def _frames(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The documents of the frames that are there whole."""
    while len(body) >= _PRELUDE:
        length, headers = struct.unpack_from(">II", body)
        frame, body = body[:length], body[length:]
        if length < _PRELUDE + headers + _CHECKSUM or len(frame) < length:
            return
        try:
            yield as_mapping(decode(frame[_PRELUDE + headers : -_CHECKSUM]))
        except ValueError:  # an error of the connection, in other words
            return


DIALECT = replace(
    anthropic.DIALECT,
    vendor="bedrock",
    version="",
    read=_read,
    sampling="inferenceConfig",
    limits=("maxTokens",),
    tools="",
    structured=None,
    thought=None,
)
"""Only reads: applications ask through their own clients."""
