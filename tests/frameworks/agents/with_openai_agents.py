"""OpenAI's Agents SDK."""

from agents import Agent, Runner, function_tool, set_tracing_disabled

import shop

set_tracing_disabled(True)
agent = Agent(
    name="shop", instructions=shop.RULES, model="gpt-5-mini", tools=[function_tool(shop.find_order)]
)


async def answer(question: str) -> str:
    """The agent's answer."""
    return (await Runner.run(agent, question)).final_output


async def streamed(question: str) -> str:
    """The same, in pieces."""
    result = Runner.run_streamed(agent, question)
    async for _ in result.stream_events():
        pass
    return result.final_output
