"""Pydantic AI, with OpenAI's chat completions."""

from pydantic_ai import Agent

import shop

agent = Agent("openai-chat:gpt-5-mini", instructions=shop.RULES, tools=[shop.find_order])


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await agent.run(question)).output


async def streamed(question: str) -> str:
    """The same, in pieces."""
    async with agent.run_stream(question) as result:
        return await result.get_output()
