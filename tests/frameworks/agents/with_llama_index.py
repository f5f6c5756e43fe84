"""LlamaIndex's agent of functions."""

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

import shop


def _agent(*, streaming: bool) -> FunctionAgent:
    llm = OpenAI(
        model="gpt-5-mini",
        additional_kwargs={"stream_options": {"include_usage": True}} if streaming else {},
    )
    return FunctionAgent(
        tools=[shop.find_order], llm=llm, system_prompt=shop.RULES, streaming=streaming
    )


async def answer(question: str) -> str:
    """The agent's answer."""
    return str(await _agent(streaming=False).run(question))


async def streamed(question: str) -> str:
    """The same, in pieces."""
    handler = _agent(streaming=True).run(question)
    async for _ in handler.stream_events():
        pass
    return str(await handler)
