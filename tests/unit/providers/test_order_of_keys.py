"""What is sent has its keys as they were written; what a request is known by does not depend on their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.message import Prompt
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import create
from evenhand.testing import FakeProvider, Rule, Script

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}
VERDICT = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "answer": {"type": "string"}},
    "required": ["reasoning", "answer"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": VERDICT}}
TOOL = {"type": "function", "function": {"name": "say", "parameters": VERDICT}}


def in_order(value: object) -> object:
    """A value as nested lists of pairs, so that comparing looks at the order of keys."""
    if isinstance(value, dict):
        return [(key, in_order(item)) for key, item in value.items()]
    return [in_order(item) for item in value] if isinstance(value, list) else value


def swapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with its properties the other way round."""
    return {**schema, "properties": dict(reversed(schema["properties"].items()))}


@pytest.mark.parametrize(
    ("id_", "config", "where"),
    [
        (
            "openai:gpt-5-mini",
            {"response_format": FORMAT},
            ["response_format", "json_schema", "schema"],
        ),
        ("openai:gpt-5-mini", {"tools": [TOOL]}, ["tools", 0, "function", "parameters"]),
        (
            "openai:responses:gpt-5-mini",
            {"response_format": FORMAT},
            ["text", "format", "schema"],
        ),
        (
            "anthropic:claude-sonnet-4-5",
            {"tools": [{"name": "say", "input_schema": VERDICT}]},
            ["tools", 0, "input_schema"],
        ),
        (
            "google:gemini-2.5-flash",
            {"generationConfig": {"responseSchema": VERDICT}},
            ["generationConfig", "responseSchema"],
        ),
        ("ollama:chat:llama3", {"format": VERDICT}, ["format"]),
    ],
)
def test_a_schema_is_sent_in_the_order_in_which_it_is_written(id_, config, where):
    """Reasoning before the answer stays before the answer: models generate in the order of the schema."""
    for schema in (VERDICT, swapped(VERDICT)):
        given = json.loads(json.dumps(config).replace(json.dumps(VERDICT), json.dumps(schema)))
        provider = create(id_, config=given, env=KEYS, base=Path())
        found: Any = json.loads(provider.request(Prompt.of("hi")).payload)
        for step in where:
            found = found[step]
        assert in_order(found) == in_order(schema)


def test_a_requests_identity_does_not_depend_on_the_order_of_keys():
    """So what was cached and journaled before still answers."""
    one, other = (
        create("openai:gpt-5-mini", config={"tools": [tool]}, env=KEYS, base=Path())
        for tool in (TOOL, {"function": TOOL["function"], "type": "function"})
    )
    first, second = one.request(Prompt.of("hi")), other.request(Prompt.of("hi"))
    assert first.key == second.key
    assert first.payload != second.payload


async def test_a_server_receives_a_configs_schema_in_its_order():
    """Over real HTTP."""
    with FakeProvider(Script([Rule((), "{}")])) as server:
        config = {"response_format": FORMAT}
        provider = create("openai:gpt-5-mini", config=config, env=server.env(), base=Path())
        await provider.send(provider.request(Prompt.of("hi")), CodeHost())
        await provider.close()
        (seen,) = server.requests
    assert in_order(seen.schema) == in_order(VERDICT)


CALL = {"type": "function", "id": "c1", "function": {"name": "say", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("id_", "answer", "text"),
    [
        (
            "openai:gpt-5-mini",
            {"choices": [{"message": {"content": None, "tool_calls": [CALL]}}]},
            '[{"type":"function","id":"c1","function":{"name":"say","arguments":"{}"}}]',
        ),
        (
            "openai:responses:gpt-5-mini",
            {
                "status": "completed",
                "output": [{"type": "function_call", "name": "say", "arguments": "{}"}],
            },
            '{"type":"function_call","name":"say","arguments":"{}"}',
        ),
        (
            "anthropic:claude-sonnet-4-5",
            {
                "stop_reason": "tool_use",
                "content": [
                    {"type": "tool_use", "id": "t", "name": "say", "input": {"z": 1, "a": 2}}
                ],
            },
            '{"type":"tool_use","id":"t","name":"say","input":{"z":1,"a":2}}',
        ),
        (
            "google:gemini-2.5-flash",
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [{"functionCall": {"name": "say", "args": {"z": 1, "a": 2}}}]
                        }
                    }
                ]
            },
            '[{"functionCall":{"name":"say","args":{"z":1,"a":2}}}]',
        ),
        (
            "ollama:chat:llama3",
            {
                "message": {
                    "tool_calls": [{"function": {"name": "say", "arguments": {"z": 1, "a": 2}}}]
                }
            },
            '[{"function":{"name":"say","arguments":{"z":1,"a":2}}}]',
        ),
    ],
)
def test_the_text_of_a_tool_call_has_its_keys_as_the_vendor_wrote_them(id_, answer, text):
    """`starts-with '{"type":"function_call"'` holds, as it does in promptfoo."""
    provider = create(id_, config={}, env=KEYS, base=Path())
    assert provider.reply(json.dumps(answer).encode()).text == text
