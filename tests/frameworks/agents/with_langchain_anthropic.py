"""LangChain's agent, a graph of LangGraph's, with Anthropic's models."""

from langchain.agents import create_agent

import shop

agent = create_agent(
    "anthropic:claude-haiku-4-5", tools=[shop.find_order], system_prompt=shop.RULES
)


async def answer(question: str) -> str:
    """The agent's answer."""
    state = await agent.ainvoke({"messages": [("user", question)]})
    return state["messages"][-1].text


async def streamed(question: str) -> str:
    """The same, in pieces."""
    pieces = [""]
    async for message, _ in agent.astream(
        {"messages": [("user", question)]}, stream_mode="messages"
    ):
        if message.type == "AIMessageChunk":
            pieces.append(message.text)
    return "".join(pieces)
