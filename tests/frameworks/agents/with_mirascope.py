"""Mirascope."""

import os

import shop
from mirascope import llm

llm.register_provider(
    "openai:completions", scope="openai/", base_url=os.environ["OPENAI_BASE_URL"], api_key="none"
)


@llm.tool
async def find_order(order: int) -> str:
    """Says where an order is."""
    return shop.find_order(order)


@llm.call("openai/gpt-5-mini", tools=[find_order])
async def ask(question: str) -> str:
    """What the model is asked."""
    return question


async def answer(question: str) -> str:
    """The agent's answer."""
    response = await ask(question)
    while response.tool_calls:
        response = await response.resume(await response.execute_tools())
    return response.text()


async def streamed(question: str) -> str:
    """The same, in pieces."""
    response = await ask.stream(question)
    while True:
        await response.finish()
        if not response.tool_calls:
            return response.text()
        response = await response.resume(await response.execute_tools())
