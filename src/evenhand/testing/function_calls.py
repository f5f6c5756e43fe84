"""Tool calls of a scripted answer, in the shapes of each API that has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ToolCalls = Sequence[Mapping[str, Any]]
"""Calls, each `{"name": "find_order", "arguments": {"id": 1042}}`."""


def problems_of(calls: object) -> list[str]:
    """What is wrong with a rule's tool calls; empty for nothing."""
    if not isinstance(calls, (list, tuple)):
        return ["'tool_calls' is not a list of calls"]
    problems: list[str] = []
    for call in calls:  # pyright: ignore[reportUnknownVariableType] (from JSON)
        named = isinstance(call, Mapping) and isinstance(call.get("name"), str) and call["name"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not named or not isinstance(call.get("arguments", {}), Mapping):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            text = json.dumps(call, ensure_ascii=False, default=str)[:60]
            problems.append(f'{text} is not a call: write {{"name": "…", "arguments": {{…}}}}')
    return problems


def chat_calls(calls: ToolCalls, number: int) -> list[dict[str, Any]]:
    """As a message of OpenAI's has them, arguments as text."""
    return [
        {
            "id": f"call_{number}_{i}",
            "type": "function",
            "function": {
                "name": call["name"],
                "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False),
            },
        }
        for i, call in enumerate(calls)
    ]


def message_calls(calls: ToolCalls, number: int) -> list[dict[str, Any]]:
    """As blocks of an answer of Anthropic's."""
    return [
        {
            "type": "tool_use",
            "id": f"toolu_{number}_{i}",
            "name": call["name"],
            "input": dict(call.get("arguments", {})),
        }
        for i, call in enumerate(calls)
    ]


def response_calls(calls: ToolCalls, number: int) -> list[dict[str, Any]]:
    """As items of an answer of OpenAI's responses API, arguments as text."""
    return [
        {
            "type": "function_call",
            "id": f"fc_{number}_{i}",
            "call_id": f"call_{number}_{i}",
            "name": call["name"],
            "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False),
            "status": "completed",
        }
        for i, call in enumerate(calls)
    ]


def content_calls(calls: ToolCalls) -> list[dict[str, Any]]:
    """As parts of an answer of Gemini's."""
    return [
        {"functionCall": {"name": call["name"], "args": dict(call.get("arguments", {}))}}
        for call in calls
    ]


def ollama_calls(calls: ToolCalls) -> list[dict[str, Any]]:
    """As a message of Ollama's has them."""
    return [
        {"function": {"name": call["name"], "arguments": dict(call.get("arguments", {}))}}
        for call in calls
    ]
