"""Mistral's SDK, in a loop of one's own."""

import os

from chat_loop import looped
from mistralai.client import Mistral

CLIENT = Mistral(server_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), api_key="none")


def answer(question: str) -> str:
    """The agent's answer."""
    return looped(CLIENT.chat.complete, "mistral-small-latest", question)
