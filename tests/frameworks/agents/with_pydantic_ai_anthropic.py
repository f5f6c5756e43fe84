"""Pydantic AI, with Anthropic's messages."""

from pydantic_ai import Agent

import shop

agent = Agent(
    "anthropic:claude-haiku-4-5",
    instructions=shop.RULES,
    tools=[shop.find_order],
    model_settings={"max_tokens": 1_000},  # long answers are streamed, and streams go in no batch
)


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await agent.run(question)).output


async def streamed(question: str) -> str:
    """The same, in pieces."""
    async with agent.run_stream(question) as result:
        return await result.get_output()
