"""What a config says of MCP servers, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.promptfoo.test_models import subjects

from evenhand.doors.promptfoo.load import load

SERVER = {"command": "python3", "args": ["server.py"]}


def told(folder: Path, mcp: object, provider: str = "openai:chat:m") -> tuple[Any, list[str]]:
    """The tools that a provider is given, and what is said of its config."""
    found, findings = subjects(folder, {"id": provider, "config": {"apiKey": "k", "mcp": mcp}})
    said = [f"{one.summary} {one.hint}" for one in (*findings.broken_parts, *findings.hints)]
    return (found[0].mcp if found else None), said


@pytest.mark.parametrize(
    ("mcp", "provider", "said"),
    [
        ("server.py", "openai:chat:m", "not an object"),
        ({}, "openai:chat:m", "names no server"),
        ({"sever": SERVER}, "openai:chat:m", "Did you mean 'server'"),
        ({"server": SERVER}, "echo", "cannot be given tools"),
        ({"server": SERVER}, "openai:embedding:m", "cannot be given tools"),
        ({"server": {**SERVER, "url": "https://x"}}, "openai:chat:m", "one of command, path and url"),
        ({"server": {"command": "x", "args": "y"}}, "openai:chat:m", "args is a list"),
        ({"server": {**SERVER, "arg": []}}, "openai:chat:m", "Did you mean 'args'"),
        ({"server": {**SERVER, "headers": {"a": "b"}}}, "openai:chat:m", "for a server with a url"),
        ({"server": {"path": "server.rb"}}, "openai:chat:m", "no .py or .js file"),
        ({"server": {"url": "shop.example.com"}}, "openai:chat:m", "is not an address"),
        ({"server": {"url": "https://x", "auth": {"type": "oauth"}}}, "openai:chat:m", "'oauth'"),
        ({"server": {"url": "https://x", "headers": []}}, "openai:chat:m", "not an object"),
        ({"server": SERVER, "tools": "refund"}, "openai:chat:m", "not a list of names"),
        ({"server": SERVER, "timeout": "soon"}, "openai:chat:m", "timeout"),
        ({"server": SERVER, "call": "yes"}, "openai:chat:m", "not true or false"),
        ({"server": SERVER, "call": True, "max_turns": 0}, "openai:chat:m", "max_turns"),
        ({"server": SERVER, "max_turns": 3}, "openai:chat:m", "It needs call: true"),
        ({"servers": [SERVER, 7]}, "openai:chat:m", "a server is 7"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_runs(
    tmp_path: Path, mcp: object, provider: str, said: str
):
    """With what to write."""
    _, problems = told(tmp_path, mcp, provider)
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    "mcp",
    [
        {"enabled": True, "server": SERVER, "verbose": True},
        {"servers": [{"name": "shop", **SERVER, "env": {"CITY": "Oslo"}}, {"path": "server.py"}]},
        {"server": {"url": "https://x/mcp", "auth": {"type": "bearer", "token": "t"}}},
    ],
)
@pytest.mark.parametrize("provider", ["openai:chat:m", "anthropic:m", "google:m", "mistral:m"])
def test_what_promptfoo_takes_is_taken(tmp_path: Path, mcp: object, provider: str):
    """For models of all vendors that take tools. A file that a server is in belongs to the config."""
    (tmp_path / "server.py").write_text("")
    tools, problems = told(tmp_path, mcp, provider)
    assert [one for one in problems if "mcp" in one] == []
    assert tools is not None
    assert tools.files == (set() if "url" in str(mcp) else {tmp_path / "server.py"})


@pytest.mark.parametrize(
    ("more", "answers", "taken"),
    [({}, 1, True), ({"call": True}, 10, False), ({"call": True, "max_turns": 3}, 3, False)],
)
def test_an_answer_may_take_several_if_tools_are_called(
    tmp_path: Path, more: dict[str, Any], answers: int, taken: bool
):
    """All of them are priced; and a gate takes no such answer by its first request, which says little."""
    provider = {"id": "openai:chat:m", "config": {"apiKey": "k", "mcp": {"server": SERVER, **more}}}
    tests = [{"vars": {"x": "a"}, "assert": [{"type": "equals", "value": "a"}]}] * 2
    path = tmp_path / "promptfooconfig.yaml"
    config = {"prompts": ["{{x}}"], "providers": [provider], "tests": tests}
    path.write_text(json.dumps(config))
    plan = load(path)
    assert [one.calls for one in plan.estimate()] == [2 * answers]
    trials = [planned for planned in plan.trials() if planned.checks is not None]
    assert [bool(planned.checks and planned.checks()) for planned in trials] == [taken] * 2


def test_it_can_be_turned_off(tmp_path: Path):
    """As there."""
    assert told(tmp_path, {"enabled": False, "server": SERVER}) == (None, [])
