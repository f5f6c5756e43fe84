"""Google's Agent Development Kit, with Gemini."""

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types

import shop

agent = Agent(
    name="shop", model="gemini-2.5-flash", instruction=shop.RULES, tools=[shop.find_order]
)


async def answer(question: str) -> str:
    """The agent's answer."""
    return await _answer(question, StreamingMode.NONE)


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return await _answer(question, StreamingMode.SSE)


async def _answer(question: str, mode: StreamingMode) -> str:
    runner = InMemoryRunner(agent=agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    text = ""
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(streaming_mode=mode),
    ):
        if event.is_final_response() and event.content:
            text = "".join(part.text or "" for part in event.content.parts)
    return text
