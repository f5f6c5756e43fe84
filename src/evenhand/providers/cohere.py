"""Cohere's own chat API: what it answers, as the chat completion that says the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from evenhand.core.encoding import decode, encode
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Reply
from evenhand.core.provider import Price
from evenhand.providers import openai

_REASONS = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "TIMEOUT": "error",
}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    answer = as_mapping(decode(body))
    if "choices" not in answer:  # it came whole
        message = as_mapping(answer["message"])
        blocks = [as_mapping(block) for block in as_array(message.get("content"))]
        texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
        spoken: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
        if message.get("tool_calls"):
            spoken["tool_calls"] = message["tool_calls"]
        answer = completion(spoken, answer.get("finish_reason"), answer.get("usage"))
    return openai.DIALECT.read(encode(answer, ordered=False), parsed, price)


def completion(message: Mapping[str, Any], reason: object, usage: object) -> dict[str, Any]:
    """A chat completion of this message."""
    tokens = as_mapping(as_mapping(usage).get("tokens"))
    used = {
        "prompt_tokens": tokens.get("input_tokens"),
        "completion_tokens": tokens.get("output_tokens"),
    }
    choice = {"message": message, "finish_reason": _REASONS.get(str(reason), reason)}
    return {"choices": [choice], "usage": used if tokens else None}


def chunks(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events of a stream as chunks of a chat completion."""
    for event in events:
        delta = as_mapping(event.get("delta"))
        message = as_mapping(delta.get("message"))
        match event.get("type"):
            case "content-delta":
                text = as_mapping(message.get("content")).get("text")
                yield {"choices": [{"delta": {"content": text}}]}
            case "tool-call-start" | "tool-call-delta":
                call = {**as_mapping(message.get("tool_calls")), "index": event.get("index")}
                yield {"choices": [{"delta": {"tool_calls": [call]}}]}
            case "message-end":
                end = completion({}, delta.get("finish_reason"), delta.get("usage"))
                reason = end["choices"][0]["finish_reason"]
                yield {"choices": [{"delta": {}, "finish_reason": reason}], "usage": end["usage"]}
            case _:
                pass


DIALECT = replace(openai.DIALECT, vendor="cohere", read=_read, structured=None, thought=None)
"""Only reads: applications ask through their own clients."""
