"""OpenAI's SDK with a deployment on Azure, in a loop of one's own."""

import os

from chat_loop import looped
from openai import AzureOpenAI

CLIENT = AzureOpenAI(
    azure_endpoint=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"),
    api_key="none",
    api_version="2024-10-21",
)


def answer(question: str) -> str:
    """The agent's answer."""
    return looped(CLIENT.chat.completions.create, "gpt-5-mini", question)
