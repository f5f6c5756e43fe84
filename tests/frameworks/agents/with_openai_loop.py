"""OpenAI's SDK, in a loop of one's own."""

from chat_loop import looped
from openai import OpenAI


def answer(question: str) -> str:
    """The agent's answer."""
    return looped(OpenAI().chat.completions.create, "gpt-5-mini", question)
