"""Strands Agents."""

import os

import shop
from strands import Agent, tool
from strands.models.openai import OpenAIModel


async def answer(question: str) -> str:
    """The agent's answer."""
    client = {"api_key": "none", "base_url": os.environ["OPENAI_BASE_URL"]}
    model = OpenAIModel(client_args=client, model_id="gpt-5-mini")
    agent = Agent(
        model=model,
        tools=[tool(shop.find_order)],
        system_prompt=shop.RULES,
        callback_handler=None,
    )
    return str(await agent.invoke_async(question))


streamed = answer  # it always streams
