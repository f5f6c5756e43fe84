"""The lines that give frameworks a recording client are Python, and those of the packages that are here record."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand import EvalSet, Expect, run
from evenhand.doors import recording
from evenhand.scorers import Contains
from evenhand.testing import FakeProvider, Rule, Script

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text("utf-8")
TABLE = PAGE.partition("## Frameworks")[2].partition("**What isn't recorded.**")[0]
LINES = dict(re.findall(r"^\| ([^|]+) \| `(.+)` \|$", TABLE, re.MULTILINE))
QUESTION = "Until when may I return it?"


async def openai(made: Mapping[str, Any]) -> str:
    """Chat, with OpenAI's own SDK."""
    messages = [{"role": "user", "content": QUESTION}]
    reply = await made["client"].chat.completions.create(model="gpt-5-mini", messages=messages)
    return reply.choices[0].message.content


async def anthropic(made: Mapping[str, Any]) -> str:
    """Messages, with Anthropic's own SDK."""
    messages = [{"role": "user", "content": QUESTION}]
    reply = await made["client"].messages.create(
        model="claude-haiku-4-5", max_tokens=100, messages=messages
    )
    return reply.content[0].text


async def pydantic_ai(made: Mapping[str, Any]) -> str:
    """An agent of Pydantic AI's."""
    from pydantic_ai import Agent

    return (await Agent(made["model"]).run(QUESTION)).output


HERE: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {
    "OpenAI's SDK": openai,
    "Anthropic's SDK": anthropic,
    "Pydantic AI": pydantic_ai,
}
NAMES = """
from openai import AsyncOpenAI
from anthropic import AsyncAnthropic
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
"""


def test_every_line_is_python_with_a_recording_client() -> None:
    """Of all frameworks in the table."""
    assert len(LINES) >= 4
    for line in LINES.values():
        compile(line, "line", "exec")
        assert "recording." in line


@pytest.mark.parametrize("name", HERE)
def test_the_line_of_a_framework_that_is_here_records_its_calls(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tokens, cost and a step."""
    evals = EvalSet("framework", data=[{"id": "returns"}])
    made: dict[str, Any] = {"recording": recording}

    @evals.eval
    async def answers(expect: Expect) -> str:
        text = await HERE[name](made)
        expect(text, Contains("30 days"))
        return text

    with FakeProvider(Script([Rule(("return",), "Within 30 days.")])) as fake:
        for variable, value in fake.env().items():
            monkeypatch.setenv(variable, value)
        exec(NAMES + LINES[name], made)
        result = run(evals, home=tmp_path, progress=False)
    (trial,) = result.trials()
    assert result.passed, trial.reason
    assert (trial.calls, len(fake.requests)) == (1, 1)
    assert trial.tokens_in
    assert trial.cost_usd
    assert [step.kind for step in result.steps(trial)] == ["model"]
