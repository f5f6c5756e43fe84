"""An MCP server as the world of a trial: a real one, that is started, listed, called, and that may crash or hang."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest
from tests.e2e.mcp_servers import SERVER, served

from evenhand import Conversation, EvalSet, Expect, Model, run
from evenhand.core.errors import InfrastructureError, UsageError
from evenhand.doors.conversations import MCPWorld
from evenhand.scorers import Contains, StepCount, Succeeds
from evenhand.testing import FakeProvider, Rule, Script


async def test_a_server_at_an_address_is_sent_the_headers_with_each_request(tmp_path: Path):
    """Without them it can't be used, and that is no failure of the agent's."""
    with served(tmp_path) as address:
        async with MCPWorld(address, headers={"X-Key": "open sesame"}) as shop:
            assert await shop.call("refund", {"order": "7"}) == {"7": "refunded"}
        with pytest.raises(InfrastructureError, match="cannot be started"):
            async with MCPWorld(address):
                pass


@pytest.fixture
def command(tmp_path: Path) -> str:
    """The command that starts the server."""
    (tmp_path / "server.py").write_text(SERVER)
    return f"{sys.executable} {tmp_path / 'server.py'}"


async def test_a_command_is_run_in_the_folder_of_the_file_that_names_it(tmp_path: Path):
    """Wherever the process stands."""
    (tmp_path / "server.py").write_text(SERVER)
    code = f'from evenhand.doors.conversations import MCPWorld\nshop = MCPWorld("{sys.executable} server.py")\n'
    names: dict[str, MCPWorld] = {}
    (tmp_path / "shop.py").write_text(code)
    exec(compile(code, str(tmp_path / "shop.py"), "exec"), names)
    async with names["shop"] as shop:
        assert "refund" in shop.tools


async def test_its_tools_are_the_worlds(command: str):
    """Their failures are for the agent to see; the calls are noted."""
    async with MCPWorld(command) as shop:
        assert sorted(shop.tools) == ["crash", "hang", "refund", "state"]
        assert await shop.tools["state"](order="7") == "late"
        assert await shop.call("refund", {"order": "7"}) == {"7": "refunded"}
        assert "no such order" in (await shop.call("refund", {"order": "8"}))["error"]
        assert "error" in await shop.call("refund", {"odrer": "8"})
        assert [(c.name, dict(c.arguments), bool(c.error)) for c in shop.calls] == [
            ("state", {"order": "7"}, False),
            ("refund", {"order": "7"}, False),
            ("refund", {"order": "8"}, True),
            ("refund", {"odrer": "8"}, True),
        ]
        chat = shop.definitions()[1]["function"]
        assert (chat["name"], chat["parameters"]["required"]) == ("refund", ["order"])
        assert shop.definitions("anthropic")[1]["input_schema"] == chat["parameters"]
        assert shop.definitions("google")[0]["functionDeclarations"][1] == chat
        with pytest.raises(UsageError, match="anthropic"):
            shop.definitions("antropic")  # pyright: ignore[reportArgumentType] (what is tested)
        shop._limit_s = 0.2  # its start may take longer
        with pytest.raises(InfrastructureError, match=r"did not answer to hang within 0\.2 s"):
            await shop.tools["hang"]()


def test_a_server_that_crashes_is_an_error_of_the_infrastructure(command: str, tmp_path: Path):
    """Whatever the agent makes of it. What it did before are steps of the trial."""
    evals = EvalSet("shop", data=[{"id": "a"}])
    seen: list[str] = []

    @evals.fixture
    async def shop():
        async with MCPWorld(command) as world:
            yield world

    @evals.eval
    async def agent(shop: MCPWorld, expect: Expect) -> str:
        await shop.call("refund", {"order": "7"})
        seen.extend(f"{step.kind} {step.name} {step.status}" for step in expect.steps)
        with contextlib.suppress(Exception):  # as agents do
            await shop.call("crash", {})
        return "Something went wrong."

    with run(evals, home=tmp_path, progress=False) as done:
        (trial,) = done.trials()
    assert seen == ["tool refund ok"]
    assert trial.error is not None
    assert (trial.outcome, trial.error.slug) == ("error", "infrastructure")
    assert "out of memory" in trial.error.message


@pytest.mark.thorough
def test_a_model_with_its_tools_is_an_agent_also_in_a_conversation(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Asked again with what the tools returned; in the next turn, it is told of them still."""
    with FakeProvider(
        Script(
            [
                Rule(('"refunded"',), "Yes, it is.", last="Are you sure"),
                Rule(('"refunded"',), "It is refunded."),
                Rule(tool_calls=[{"name": "refund", "arguments": {"order": "7"}}]),
            ]
        )
    ) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        models = {"model": ["openai:chat:m", "echo"]}
        evals = EvalSet("shop", data=[{"id": "a"}], over=models)

        @evals.fixture
        async def shop():
            async with MCPWorld(command) as world:
                yield world

        @evals.eval
        async def answers(shop: MCPWorld, model: Model, expect: Expect) -> None:
            if model.name == "echo":
                with pytest.raises(UsageError, match="echo cannot be given tools"):
                    shop.agent(model)
                return
            talk = await Conversation(shop.agent(model), ["Refund 7!", "Are you sure?"]).run()
            expect(talk, Contains("Yes, it is."))
            expect(expect.steps, Succeeds("refund", {"order": "7"}))
            expect(expect.steps, StepCount("tool"), at_most=1)
            with pytest.raises(UsageError, match="max_turns is 0"):
                shop.agent(model, max_turns=0)

        with run(evals, home=tmp_path, progress=False) as done:
            trial, other = done.trials()
            steps = [step.kind for step in done.steps(trial) if step.kind != "message"]
    assert trial.outcome == "pass", trial
    assert other.error is None
    assert steps == ["model", "tool", "model", "model"]


@pytest.mark.parametrize("command", ["no-such-server --fast", f"{sys.executable} -c 1/0"])
async def test_a_server_that_cannot_be_started(command: str):
    """With what it said."""
    with pytest.raises(InfrastructureError, match="cannot be started"):
        async with MCPWorld(command):
            pass


@pytest.mark.parametrize(
    ("server", "more"),
    [("", {}), ("a 'b", {}), ("a", {"headers": {"a": "b"}}), ("a", {"env": "A"})],
)
def test_what_is_no_server(server: str, more: dict[str, object]):
    """It is said at once."""
    with pytest.raises(UsageError, match="MCPWorld"):
        MCPWorld(server, **more)  # pyright: ignore[reportArgumentType] (what is tested)
