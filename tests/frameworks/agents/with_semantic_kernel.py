"""Semantic Kernel."""

import os

import shop
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Shop:
    """Its tools."""

    @kernel_function(name="find_order", description="Says where an order is.")
    def find_order(self, order: int) -> str:
        """Says where an order is."""
        return shop.find_order(order)


client = AsyncOpenAI(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
agent = ChatCompletionAgent(
    service=OpenAIChatCompletion(ai_model_id="gpt-5-mini", async_client=client),
    name="shop",
    instructions=shop.RULES,
    plugins=[Shop()],
)


async def answer(question: str) -> str:
    """The agent's answer."""
    return str(await agent.get_response(messages=question))


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return "".join([str(piece.content) async for piece in agent.invoke_stream(messages=question)])
