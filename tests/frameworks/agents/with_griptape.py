"""Griptape."""

import os

import shop
from griptape.artifacts import TextArtifact
from griptape.drivers.prompt.openai import OpenAiChatPromptDriver
from griptape.structures import Agent
from griptape.tools import BaseTool
from griptape.utils.decorators import activity
from schema import Literal, Schema


class Find(BaseTool):
    """Its tools."""

    @activity(
        config={"description": "Says where an order is.", "schema": Schema({Literal("order"): int})}
    )
    def order(self, params: dict[str, dict[str, int]]) -> TextArtifact:
        """Says where an order is."""
        return TextArtifact(shop.find_order(params["values"]["order"]))


def _agent(stream: bool) -> Agent:
    driver = OpenAiChatPromptDriver(
        model="gpt-5-mini", api_key="none", base_url=os.environ["OPENAI_BASE_URL"], stream=stream
    )
    return Agent(tools=[Find(name="find")], prompt_driver=driver, stream=stream)


def answer(question: str) -> str:
    """The agent's answer."""
    return _agent(False).run(question).output.value


def streamed(question: str) -> str:
    """The same, in pieces."""
    agent = _agent(True)
    for _ in agent.run_stream(question):
        pass
    return agent.output.value
