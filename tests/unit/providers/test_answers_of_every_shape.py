"""Answers with something else in each place: read, or refused as bad replies, and nothing in between."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadReply
from evenhand.providers.catalog import create

OPENAI: dict[str, Any] = {
    "model": "m",
    "choices": [
        {
            "message": {
                "content": "x",
                "refusal": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
                "function_call": {"name": "g", "arguments": "{"},
            },
            "finish_reason": "stop",
            "logprobs": {"content": [{"logprob": -0.1, "token": "x"}]},
        }
    ],
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
    },
    "error": None,
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "content": [
        {"type": "text", "text": "x"},
        {"type": "tool_use", "id": "i", "name": "n", "input": {"a": 1}},
        {"type": "thinking", "thinking": "t"},
    ],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 1,
        "cache_creation_input_tokens": None,
    },
}
OTHERS: list[Any] = [None, True, -1, 1.5, 1e400, 10**30, "", "x", "\ud800", [], {}, [None], "{}"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value, itself first."""
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else parts:
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], other: Any) -> bytes:
    """The value as JSON, with something else in this place."""
    if not path:
        return json.dumps(other).encode()
    value = part = copy.deepcopy(value)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = other
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("id_", "answer", "config"),
    [
        ("openai:chat:gpt-4o", OPENAI, {}),
        ("openai:chat:gpt-4o", OPENAI, {"response_format": {"type": "json_schema"}}),
        ("anthropic:messages:claude-sonnet-4-5", ANTHROPIC, {}),
    ],
)
def test_an_answer_is_read_or_refused_whatever_is_in_any_of_its_places(id_, answer, config):
    """No crash, no text that is none, no price below nothing, no count that is no number."""
    model = create(id_, config=config, env={}, base=Path())
    read = 0
    for path in places(answer):
        for other in OTHERS:
            try:
                reply = model.reply(changed(answer, path, other))
            except BadReply:
                continue
            read += 1
            assert type(reply.text) is str
            assert type(reply.model) is str
            assert reply.cost_usd is None or reply.cost_usd >= 0
            usage = reply.usage
            for count in (usage.tokens_in, usage.tokens_out, usage.tokens_cached):
                assert count is None or (type(count) is int and count >= 0)
    assert read > 50
