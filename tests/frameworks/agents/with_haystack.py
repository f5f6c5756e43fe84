"""Haystack's agent."""

from typing import Annotated

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function

import shop


def find_order(order: Annotated[int, "its number"]) -> str:
    """Says where an order is."""
    return shop.find_order(order)


def _agent(**more: object) -> Agent:
    return Agent(
        chat_generator=OpenAIChatGenerator(
            model="gpt-5-mini", generation_kwargs=more.pop("kwargs", {})
        ),
        tools=[create_tool_from_function(find_order)],
        system_prompt=shop.RULES,
        **more,
    )


def answer(question: str) -> str:
    """The agent's answer."""
    return _agent().run(messages=[ChatMessage.from_user(question)])["messages"][-1].text


def streamed(question: str) -> str:
    """The same, in pieces."""
    agent = _agent(
        streaming_callback=lambda _: None, kwargs={"stream_options": {"include_usage": True}}
    )
    return agent.run(messages=[ChatMessage.from_user(question)])["messages"][-1].text
