"""Tools of MCP servers in promptfoo configs: real servers and the real command, and a model that picks by a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.mcp_servers import SERVER, served

from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

STARTS = """
from pathlib import Path
starts = Path(__file__).with_name("starts.txt")
starts.write_text((starts.read_text() if starts.exists() else "") + "x")
"""
RULES = [
    Rule(("money back",), tool_calls=[{"name": "refund", "arguments": {"order": "7"}}]),
    Rule(("Where is",), tool_calls=[{"name": "state", "arguments": {"order": "7"}}]),
    Rule(("weather",), tool_calls=[{"name": "forecast", "arguments": {}}]),
    Rule(reply="No tool is needed."),
]
MESSAGES = {
    "refund": "I want my money back for order 7.",
    "state": "Where is order 7?",
    "none": "Hello!",
    "unheard": "How is the weather?",
}


@pytest.fixture
def model() -> Iterator[FakeProvider]:
    """A model that picks tools, whether it was told of them or not."""
    with FakeProvider(Script(RULES)) as fake:
        yield fake


def ran(folder: Path, model: FakeProvider) -> dict[str, Any]:
    """What a run comes to, as JSON."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "EVENHAND_HOME": str(folder / "home")}
    env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "evenhand", "run", ".", "--json"],
        cwd=folder,
        env=env | dict(model.env()) | {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def write(folder: Path, mcp: object, provider: str, *asserts: tuple[str, list[object]]) -> None:
    """A config of tests by the message that they send."""
    config = {
        "prompts": ["{{message}}"],
        "providers": [{"id": provider, "config": {"mcp": mcp}}],
        "tests": [{"vars": {"message": MESSAGES[m]}, "assert": a} for m, a in asserts],
    }
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))


def outcomes(made: dict[str, Any]) -> list[str]:
    """What became of the trials, in their order."""
    return [trial["outcome"] for trial in made["trials"]]


def asked(folder: Path) -> list[str]:
    """The names of the tools that a model was told of in the first trial of the only run."""
    (path,) = folder.glob("home/runs/*.db")
    with RunFile.open(path) as run:
        (call,) = run.calls(0)
    body = json.loads(call.start.identity)["body"]
    return [tool.get("function", tool)["name"] for tool in body["tools"]]


CALLS: object = {"name": "refund", "arguments": {"order": "7"}}


@pytest.mark.parametrize("provider", ["openai:chat:m", "openai:responses:m", "anthropic:m"])
def test_a_config_tests_which_tool_of_a_server_a_model_picks(
    tmp_path: Path, model: FakeProvider, provider: str
):
    """In each vendor's form; nothing calls the tools, and a run starts the server once."""
    (tmp_path / "server.py").write_text(STARTS + SERVER)
    server = {"command": sys.executable, "args": ["server.py"]}
    write(
        tmp_path,
        {"enabled": True, "server": server, "exclude_tools": ["crash", "hang"]},
        provider,
        ("refund", [{"type": "steps:calls", "value": CALLS}]),
        ("state", [{"type": "steps:calls", "value": CALLS}]),
        ("none", [{"type": "steps:count", "value": {"kind": "tool", "max": 0}}]),
    )
    assert outcomes(ran(tmp_path, model)) == ["pass", "fail", "pass"]
    assert (tmp_path / "starts.txt").read_text() == "x"
    assert sorted(asked(tmp_path)) == ["refund", "state"]


def test_a_call_of_a_tool_that_no_server_has_is_not_valid(tmp_path: Path, model: FakeProvider):
    """The tools count as those that the provider's config declares."""
    (tmp_path / "server.py").write_text(SERVER)
    valid: list[object] = [{"type": "is-valid-openai-tools-call"}]
    mcp = {"server": {"path": "server.py"}}
    write(tmp_path, mcp, "openai:chat:m", ("refund", valid), ("unheard", valid))
    assert outcomes(ran(tmp_path, model)) == ["pass", "fail"]


def test_a_server_at_an_address_is_given_the_key(tmp_path: Path, model: FakeProvider):
    """As one of several."""
    other = "from mcp.server import MCPServer\nserver = MCPServer('other')\n"
    other += "@server.tool()\ndef forecast() -> str:\n    return 'rain'\nserver.run('stdio')\n"
    (tmp_path / "server.py").write_text(other)
    auth = {"type": "api_key", "keyName": "X-Key", "value": "open sesame"}
    here = {"command": sys.executable, "args": ["server.py"]}
    checks: list[object] = [{"type": "steps:calls", "value": CALLS}]
    with served(tmp_path) as address:
        servers = [here, {"url": address, "auth": auth}]
        mcp = {"servers": servers, "tools": ["refund", "forecast"]}
        write(tmp_path, mcp, "openai:chat:m", ("refund", checks))
        assert outcomes(ran(tmp_path, model)) == ["pass"]
    assert asked(tmp_path) == ["forecast", "refund"]


@pytest.mark.parametrize(
    ("mcp", "slug", "said"),
    [
        ({"server": {"command": "no-such-server"}}, "infrastructure", "cannot be started"),
        ({"server": {"path": "server.py"}, "tools": ["refnd"]}, "usage", "Did you mean 'refund'"),
        ({"servers": [{"path": "server.py"}] * 2}, "usage", "two servers have a tool"),
    ],
)
def test_what_keeps_tools_away_is_an_error_and_nothing_is_sent(
    tmp_path: Path, model: FakeProvider, mcp: object, slug: str, said: str
):
    """Never a failure of the model's."""
    (tmp_path / "server.py").write_text(SERVER)
    checks: list[object] = [{"type": "steps:calls", "value": "refund"}]
    write(tmp_path, mcp, "openai:chat:m", ("refund", checks), ("none", checks))
    made = ran(tmp_path, model)
    assert outcomes(made) == ["error", "error"]
    error = made["trials"][0]["error"]
    assert error["slug"] == slug
    assert said in json.dumps(error)
    assert model.requests == []


def test_a_simulated_user_cannot_talk_with_a_model_whose_tools_nobody_calls(
    tmp_path: Path, model: FakeProvider
):
    """It would be answered with tool calls."""
    (tmp_path / "server.py").write_text(SERVER)
    write(tmp_path, {"server": {"path": "server.py"}}, "openai:chat:m", ("none", []))
    config = yaml.safe_load((tmp_path / "promptfooconfig.yaml").read_text())
    user = {"instructions": "You want a refund.", "userProvider": "openai:chat:m"}
    config["defaultTest"] = {"provider": {"id": "promptfoo:simulated-user", "config": user}}
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    made = ran(tmp_path, model)
    assert outcomes(made) == ["error"]
    assert "Nothing calls the tools" in json.dumps(made["trials"][0])
    assert model.requests == []
