"""OpenAI's SDK with OpenRouter, in a loop of one's own."""

import os

from chat_loop import looped
from openai import OpenAI

CLIENT = OpenAI(base_url=os.environ["OPENAI_BASE_URL"].replace("/v1", "/api/v1"), api_key="none")


def answer(question: str) -> str:
    """The agent's answer."""
    return looped(CLIENT.chat.completions.create, "openai/gpt-5-mini", question)
