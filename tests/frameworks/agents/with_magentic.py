"""magentic."""

import os

import shop
from magentic import AsyncStreamedStr, OpenaiChatModel, prompt_chain

MODEL = OpenaiChatModel("gpt-5-mini", api_key="none", base_url=os.environ["OPENAI_BASE_URL"])


@prompt_chain("{question}", functions=[shop.find_order], model=MODEL)
async def answer(question: str) -> str:
    """The agent's answer."""


@prompt_chain("{question}", functions=[shop.find_order], model=MODEL)
async def _streamed(question: str) -> AsyncStreamedStr: ...


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return "".join([piece async for piece in await _streamed(question)])
