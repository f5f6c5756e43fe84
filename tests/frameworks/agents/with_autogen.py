"""AutoGen's assistant."""

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

import shop


def _agent(*, stream: bool) -> AssistantAgent:
    more = {"stream_options": {"include_usage": True}} if stream else {}
    return AssistantAgent(
        "shop",
        OpenAIChatCompletionClient(model="gpt-5-mini", **more),
        tools=[shop.find_order],
        system_message=shop.RULES,
        reflect_on_tool_use=True,
        model_client_stream=stream,
    )


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await _agent(stream=False).run(task=question)).messages[-1].content


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return (await _agent(stream=True).run(task=question)).messages[-1].content
