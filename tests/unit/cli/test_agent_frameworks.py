"""`evenhand init --agent-framework`: a working eval set beside an agent that already exists."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenhand.cli.agent_frameworks import FRAMEWORKS, framework_of, write_first_evals
from evenhand.cli.verbs import evenhand
from evenhand.core.errors import UsageError
from evenhand.testing import FakeProvider, Rule, Script

BOT = """
from pydantic_ai import Agent

first = Agent("openai-chat:gpt-5-mini")
support = Agent("openai-chat:gpt-5-mini", instructions="Help.")
other = dict(first=first)
"""


def files(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes modules, by their paths without an ending."""
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_frameworks_eval_set_is_python(name: str, tmp_path: Path) -> None:
    """With a name to fill in where no agent is found."""
    path, agent = write_first_evals(name, tmp_path)
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    assert agent is None
    assert "from my_agent import agent  # the module" in text
    assert "@" not in text.replace("@evals", "")
    kinds = {type(node) for node in tree.body if getattr(node, "name", "") in ("answer", "answers")}
    assert len(kinds) == 1, "the eval is as async as the call"


@pytest.mark.thorough
def test_it_finds_the_last_agent_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose calls are recorded. Tests, hidden folders and files that can't be read are passed by."""
    texts = {"a": "def broken(", "tests/bot": BOT, ".venv/bot": BOT, "shop/bot": BOT}
    files(tmp_path, texts)
    monkeypatch.chdir(tmp_path)
    with FakeProvider(Script([Rule((), "I find orders.")])) as fake:
        for variable, value in fake.env().items():
            monkeypatch.setenv(variable, value)
        made = CliRunner().invoke(evenhand, ["init", "--agent-framework", "pydantic_ai"])
        assert "It asks support of shop/bot.py." in made.output
        assert "from bot import support as agent" in Path("shop/agent_evals.py").read_text("utf-8")
        done = CliRunner().invoke(evenhand, ["run", "shop/agent_evals.py", "--no-progress"])
        assert fake.ledger.total == 2
    assert done.exit_code == 0, done.output
    assert "2 of 2 passed" in done.output


def test_an_agent_of_a_package_is_imported_from_above_it(tmp_path: Path) -> None:
    """So that its own imports work."""
    texts = {"shop/__init__": "", "shop/agents/__init__": "", "shop/agents/bot": BOT}
    files(tmp_path, texts)
    path, _ = write_first_evals("pydantic-ai", tmp_path)
    assert path == tmp_path / "agent_evals.py"
    assert "from shop.agents.bot import support as agent" in path.read_text("utf-8")


def test_another_frameworks_agent_is_none(tmp_path: Path) -> None:
    """Several frameworks have an `Agent`."""
    files(tmp_path, {"bot": BOT})
    assert write_first_evals("openai-agents", tmp_path)[1] is None


def test_nothing_is_overwritten_and_unknown_names_are_said(tmp_path: Path) -> None:
    """With what was probably meant."""
    write_first_evals("dspy", tmp_path)
    with pytest.raises(UsageError, match="already exists"):
        write_first_evals("dspy", tmp_path)
    with pytest.raises(UsageError, match="no such framework") as refused:
        framework_of("langgrap")
    assert "langgraph" in refused.value.hint
    assert framework_of("LangGraph") is FRAMEWORKS["langchain"]
