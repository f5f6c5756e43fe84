"""CrewAI, with a crew of one."""

from crewai import Agent, Crew, Task
from crewai.tools import tool

import shop

find_order = tool("find_order")(shop.find_order)


def _crew(*, stream: bool) -> Crew:
    agent = Agent(
        role="clerk",
        goal=shop.RULES,
        backstory="A shop's clerk.",
        llm="openai/gpt-5-mini",
        tools=[find_order],
    )
    task = Task(description="{question}", expected_output="One sentence.", agent=agent)
    return Crew(agents=[agent], tasks=[task], stream=stream)


def answer(question: str) -> str:
    """The agent's answer."""
    return _crew(stream=False).kickoff({"question": question}).raw


def streamed(question: str) -> str:
    """The same, in pieces."""
    output = _crew(stream=True).kickoff({"question": question})
    for _ in output:
        pass
    return output.result.raw
