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

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
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
        [*COMMAND, "run", ".", "--json"],
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


CALLING = [
    Rule(('"7": "refunded"',), "Your money is on its way."),
    Rule(('"7":"refunded"',), "Your money is on its way."),
    Rule(("no such order",), "There is no such order."),
    Rule(("order 7",), tool_calls=[{"name": "refund", "arguments": {"order": "7"}}]),
    Rule(("order 8",), tool_calls=[{"name": "refund", "arguments": {"order": "8"}}]),
    Rule(("weather",), tool_calls=[{"name": "forecast", "arguments": {}}]),
    Rule(("loop",), tool_calls=[{"name": "state", "arguments": {"order": "7"}}]),
    Rule(("crash",), tool_calls=[{"name": "crash", "arguments": {}}]),
]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "provider", ["openai:chat:m", "openai:responses:m", "anthropic:m", "google:m"]
)
def test_the_tools_that_a_model_asks_for_are_called_if_the_config_says_so(
    tmp_path: Path, provider: str
):
    """Each trial has a server of its own, the model is told what came of the calls, and they are steps.

    What else can become of a call is asked of one vendor: by then it is nobody's form any more.
    """
    (tmp_path / "server.py").write_text(SERVER)
    mcp = {"server": {"path": "server.py"}, "call": True, "max_turns": 3}
    write(tmp_path, mcp, provider)
    config = yaml.safe_load((tmp_path / "promptfooconfig.yaml").read_text())
    succeeds: Any = {"type": "steps:succeeds", "value": CALLS}
    said: Any = {"type": "equals", "value": "Your money is on its way."}
    config["tests"] = [
        {"vars": {"message": "A refund for order 7!"}, "assert": [succeeds, said]},
        {
            "vars": {"message": "A refund for order 8!"},
            "assert": [
                {"type": "steps:never-succeeds", "value": "refund"},
                {"type": "equals", "value": "There is no such order."},
            ],
        },
        {"vars": {"message": "Once more for order 7!"}, "assert": [succeeds, said]},
        {
            "vars": {"message": "How is the weather?"},
            "assert": [{"type": "steps:count", "value": {"kind": "model", "max": 1}}],
        },
        {
            "vars": {"message": "loop"},
            "assert": [
                {"type": "steps:count", "value": {"kind": "model", "min": 3, "max": 3}},
                {"type": "steps:count", "value": {"kind": "tool", "min": 3, "max": 3}},
            ],
        },
        {"vars": {"message": "crash"}, "assert": []},
    ]
    expected = ["pass"] * 5 + ["error"]
    if provider != "openai:chat:m":
        del config["tests"][2:], expected[2:]
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    with FakeProvider(Script(CALLING)) as fake:
        made = ran(tmp_path, fake)
    assert outcomes(made) == expected, json.dumps(made["trials"])
    steps = made["trials"][0]["steps"]
    assert [(step["kind"], step["status"]) for step in steps] == [
        ("model", "ok"),
        ("tool", "ok"),
        ("model", "ok"),
    ]
    assert steps[1]["result"] == {"7": "refunded"}
    assert made["trials"][0]["tokens_in"] == sum(
        step["tokens_in"] for step in steps if step["kind"] == "model"
    )
    assert [step["status"] for step in made["trials"][1]["steps"]][1] == "error"
    if provider == "openai:chat:m":
        assert made["trials"][5]["error"]["slug"] == "infrastructure"


def test_a_user_talks_with_a_model_whose_tools_are_called(tmp_path: Path):
    """What a tool returned in an earlier turn is told in later ones again."""
    (tmp_path / "server.py").write_text(SERVER)
    write(tmp_path, {"server": {"path": "server.py"}, "call": True}, "openai:chat:m")
    config = yaml.safe_load((tmp_path / "promptfooconfig.yaml").read_text())
    turns = ["A refund for order 7!", "Are you sure?"]
    config["prompts"] = ["You are a shop's agent."]
    config["tests"] = [
        {
            "provider": {"id": "evenhand:user", "config": {"turns": turns}},
            "assert": [
                {"type": "steps:calls", "value": [CALLS]},
                {"type": "regex", "value": "Your money is on its way[^$]*Yes: it is refunded"},
            ],
        }
    ]
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    sure = Rule(('"7":"refunded"',), "Yes: it is refunded.", last="Are you sure")
    with FakeProvider(Script([sure, *CALLING])) as fake:
        made = ran(tmp_path, fake)
    assert outcomes(made) == ["pass"], json.dumps(made["trials"])


def test_a_call_of_a_tool_that_no_server_has_is_not_valid(tmp_path: Path, model: FakeProvider):
    """The tools count as those that the provider's config declares."""
    (tmp_path / "server.py").write_text(SERVER)
    valid: list[object] = [{"type": "is-valid-openai-tools-call"}]
    mcp = {"server": {"path": "server.py"}}
    write(tmp_path, mcp, "openai:chat:m", ("refund", valid), ("unheard", valid))
    assert outcomes(ran(tmp_path, model)) == ["pass", "fail"]


@pytest.mark.thorough
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


@pytest.mark.thorough(after=1)
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
