"""CAMEL."""

import os

import shop
from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.toolkits import FunctionTool
from camel.types import ModelPlatformType
from camel.utils import BaseTokenCounter


class Words(BaseTokenCounter):
    """Counts words: CAMEL's own counter loads its table from the network."""

    def count_tokens_from_messages(self, messages: list) -> int:
        """Words of all messages."""
        return sum(len(str(message).split()) for message in messages)

    def encode(self, text: str) -> list[int]:
        """A number for each word."""
        return [0 for _ in text.split()]

    def decode(self, token_ids: list[int]) -> str:
        """Nothing."""
        del token_ids
        return ""


def _agent(stream: bool) -> ChatAgent:
    model = ModelFactory.create(
        model_platform=ModelPlatformType.OPENAI_COMPATIBLE_MODEL,
        model_type="gpt-5-mini",
        url=os.environ["OPENAI_BASE_URL"],
        api_key="none",
        token_counter=Words(),
        model_config_dict={"stream": True} if stream else {},
    )
    return ChatAgent(shop.RULES, model=model, tools=[FunctionTool(shop.find_order)])


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await _agent(False).astep(question)).msgs[0].content


def streamed(question: str) -> str:
    """The same, in pieces."""
    return "".join([piece.msgs[0].content or "" for piece in _agent(True).step(question)])
