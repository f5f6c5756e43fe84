"""Scripted answers as streams of server-sent events, in the shapes of the APIs that stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import is_mapping
from evenhand.testing import shapes


def streamed(
    kind: str, answer: Mapping[str, Any], body: Mapping[str, Any], path: str
) -> tuple[bytes, str] | None:
    """An answer as a stream, and what kind of content that is; None where this API, or this request, doesn't stream.

    Args:
        kind: Of the API, as `shapes` names it.
        answer: As it would come whole.
    """
    if kind == shapes.STREAMED_CONTENT:
        pieces = [*_contents(answer)]
        if "alt=sse" not in path:
            return shapes.written(pieces), "application/json"
        return b"".join(b"data: %s\r\n\r\n" % shapes.written(piece) for piece in pieces), _EVENTS
    write = _STREAMS.get(kind)
    if write is None or not body.get("stream"):
        return None
    return write(answer, body), _EVENTS


def _named(steps: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (step["type"].encode(), shapes.written(step)) for step in steps
    )


def _messages(answer: Mapping[str, Any], body: Mapping[str, Any]) -> bytes:
    """Anthropic's."""
    del body
    empty = {**answer, "content": [], "stop_reason": None}
    return _named(
        [
            {"type": "message_start", "message": empty},
            *(step for i, block in enumerate(answer["content"]) for step in _block(i, block)),
            {
                "type": "message_delta",
                "delta": {
                    "stop_reason": answer["stop_reason"],
                    "stop_sequence": answer["stop_sequence"],
                },
                "usage": {"output_tokens": answer["usage"]["output_tokens"]},
            },
            {"type": "message_stop"},
        ]
    )


def _block(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one block of a message: a text, or a call of a tool."""
    if block["type"] == "text":
        begun: dict[str, Any] = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def _chunks(answer: Mapping[str, Any], body: Mapping[str, Any]) -> bytes:
    head = {key: answer[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    steps: list[dict[str, Any]] = []
    for choice in answer["choices"]:
        place = {"index": choice["index"], "finish_reason": None}
        text = choice["message"]["content"] or ""
        pieces = (text[: len(text) // 2], text[len(text) // 2 :])
        deltas = [{"role": "assistant", "content": piece} for piece in pieces]
        steps += [{**head, "choices": [{**place, "delta": delta}]} for delta in deltas]
        calls = choice["message"].get("tool_calls", ())
        if calls:
            listed = [{**call, "index": i} for i, call in enumerate(calls)]
            steps.append({**head, "choices": [{**place, "delta": {"tool_calls": listed}}]})
        ending = {**place, "delta": {}, "finish_reason": choice["finish_reason"]}
        steps.append({**head, "choices": [ending]})
    options = body.get("stream_options")
    if is_mapping(options) and options.get("include_usage"):
        steps.append({**head, "choices": [], "usage": answer["usage"]})
    return b"".join(b"data: %s\n\n" % shapes.written(step) for step in steps) + b"data: [DONE]\n\n"


def _responses(answer: Mapping[str, Any], body: Mapping[str, Any]) -> bytes:
    """OpenAI's responses: items are added, filled and done, and the last event has the whole."""
    del body
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    steps: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for i, item in enumerate(answer["output"]):
        steps += _item(i, item)
    steps.append({"type": f"response.{answer['status']}", "response": answer})
    return _named([{**step, "sequence_number": i} for i, step in enumerate(steps)])


def _item(index: int, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one item of a response: a message, or a call of a tool."""
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        (part,) = item["content"]
        place = {**at, "content_index": 0}
        empty: dict[str, Any] = {**item, "status": "in_progress", "content": []}
        text = "response.output_text"
        steps: list[dict[str, Any]] = [
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            {"type": f"{text}.delta", **place, "delta": part["text"], "logprobs": []},
            {"type": f"{text}.done", **place, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part},
        ]
    else:
        empty = {**item, "status": "in_progress", "arguments": ""}
        call, arguments = "response.function_call_arguments", item["arguments"]
        steps = [
            {"type": f"{call}.delta", **at, "delta": arguments},
            {"type": f"{call}.done", **at, "arguments": arguments, "name": item["name"]},
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        *steps,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _contents(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Gemini's: an answer for each part, the last with how it ended and what it used."""
    (candidate,) = answer["candidates"]
    *firsts, last = candidate["content"]["parts"]
    for part in firsts:
        yield {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
    whole = {**candidate, "content": {"role": "model", "parts": [last]}}
    yield {**answer, "candidates": [whole]}


_EVENTS = "text/event-stream"
_STREAMS = {shapes.CHAT: _chunks, shapes.MESSAGES: _messages, shapes.RESPONSES: _responses}
