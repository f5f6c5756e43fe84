"""Microsoft's Agent Framework."""

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

import shop

agent = Agent(
    client=OpenAIChatClient(model="gpt-5-mini"), instructions=shop.RULES, tools=[shop.find_order]
)


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await agent.run(question)).text


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return "".join([update.text or "" async for update in agent.run(question, stream=True)])
