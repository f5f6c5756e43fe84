"""Agno."""

import shop
from agno.agent import Agent
from agno.models.openai import OpenAIChat


def _agent() -> Agent:
    model = OpenAIChat(id="gpt-5-mini")
    return Agent(model=model, tools=[shop.find_order], instructions=shop.RULES, telemetry=False)


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await _agent().arun(question)).content


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return "".join([e.content async for e in _agent().arun(question, stream=True) if e.content])
