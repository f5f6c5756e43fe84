"""Assertions on tools, functions and skills."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenhand.core.message import Reply

WEATHER = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
TOOLS = {"tools": [{"type": "function", "function": WEATHER}]}


def call(name: str = "weather", **arguments: object) -> dict[str, Any]:
    """A call as OpenAI writes it."""
    return {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


@pytest.mark.parametrize("value", [["weather", "send"], "weather, send", " weather,send,"])
async def test_names_of_tools_are_compared_as_sets(settled: Any, value: object):
    """F1 is the score, whatever `not-` makes of the verdict."""
    output = {"tool_calls": [call(), call(), call("search")]}
    found = await settled("tool-call-f1", value, output=output)
    assert (found.outcome, found.score) == ("fail", 0.5)
    assert (await settled("tool-call-f1", value, output=output, threshold=0.5)).outcome == "pass"
    turned = await settled("not-tool-call-f1", value, output=output)
    assert (turned.outcome, turned.score) == ("pass", 0.5)


@pytest.mark.parametrize("value", [[], "", " , ", 5, {"a": 1}])
async def test_no_expected_tools_are_an_error(settled: Any, value: object):
    """F1 against nothing says nothing."""
    assert (await settled("tool-call-f1", value, output=[call()])).outcome == "error"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ([call(city="Oslo")], "pass"),
        ({"content": "", "tool_calls": [call(city="Oslo")]}, "pass"),
        ([call(city=5)], "fail"),
        ([call("wether", city="Oslo")], "fail"),
        ([], "fail"),
        ("It rains.", "fail"),
        ("MCP Tool Result (weather): rain", "pass"),
        ("MCP Tool Error (weather): down", "fail"),
    ],
)
async def test_tool_calls_fit_what_the_provider_declares(
    settled: Any, output: object, outcome: str
):
    """Name and arguments; `not-` changes nothing."""
    for type_ in ("is-valid-openai-tools-call", "not-is-valid-openai-tools-call"):
        assert (await settled(type_, output=output, provider_config=TOOLS)).outcome == outcome


async def test_calls_of_nothing_declared_fail(settled: Any):
    """A provider without tools has none that could be called."""
    found = await settled("is-valid-openai-tools-call", output=[call(city="Oslo")])
    assert (found.outcome, found.reason) == ("fail", "no function weather is declared")


async def test_a_function_call_fits_what_is_declared(settled: Any):
    """In OpenAI's older form, and in Google's."""
    older = {"function_call": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    config = {"functions": [WEATHER]}
    for name in ("is-valid-function-call", "is-valid-openai-function-call"):
        assert (await settled(name, output=older, provider_config=config)).outcome == "pass"
    google = {"tools": [{"functionDeclarations": [WEATHER]}]}
    parts = [{"text": "…"}, {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]
    assert (
        await settled("is-valid-function-call", output=parts, provider_config=google)
    ).outcome == "pass"
    wrong = [{"functionCall": {"name": "weather", "args": {"town": "Oslo"}}}]
    assert (
        await settled("is-valid-function-call", output=wrong, provider_config=google)
    ).outcome == "fail"


REPLY = Reply(
    "x",
    metadata={
        "skillCalls": [{"name": "pdf"}, {"name": "pdf"}, {"name": "xlsx", "is_error": True}, {}]
    },
)


@pytest.mark.parametrize(
    ("type_", "value", "outcome"),
    [
        ("skill-used", "pdf", "pass"),
        ("skill-used", "xlsx", "fail"),
        ("skill-used", ["pdf", "xlsx"], "fail"),
        ("not-skill-used", ["xlsx", "docx"], "pass"),
        ("not-skill-used", ["pdf", "docx"], "fail"),
        ("skill-used", {"pattern": "P*", "min": 2}, "pass"),
        ("skill-used", {"name": "pdf", "max": 1}, "fail"),
        ("skill-used", {"name": "docx", "max": 1}, "pass"),
        ("not-skill-used", {"name": "pdf"}, "fail"),
        ("not-skill-used", {"name": "pdf", "min": 1}, "error"),
        ("skill-used", {"min": 1}, "error"),
        ("skill-used", {"name": "pdf", "min": 1.5}, "error"),
        ("skill-used", {"name": "pdf", "min": 3, "max": 1}, "error"),
        ("skill-used", ["pdf", ""], "error"),
    ],
)
async def test_skills_are_those_that_the_reply_names(
    settled: Any, type_: str, value: object, outcome: str
):
    """Those that failed do not count."""
    assert (await settled(type_, value, reply=REPLY)).outcome == outcome
