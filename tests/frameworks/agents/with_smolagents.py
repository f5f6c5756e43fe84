"""smolagents, whose model ends by calling the tool `final_answer`."""

from smolagents import OpenAIModel, ToolCallingAgent, tool

import shop

model = OpenAIModel("gpt-5-mini")
find_order = tool(shop.find_order)


def answer(question: str) -> str:
    """The agent's answer."""
    agent = ToolCallingAgent(tools=[find_order], model=model, max_steps=4, verbosity_level=0)
    return str(agent.run(question))


def streamed(question: str) -> str:
    """The same, in pieces."""
    agent = ToolCallingAgent(
        tools=[find_order], model=model, max_steps=4, verbosity_level=0, stream_outputs=True
    )
    return str([*agent.run(question, stream=True)][-1].output)
