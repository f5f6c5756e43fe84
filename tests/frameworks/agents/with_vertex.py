"""Google's SDK with Vertex AI, which calls the tool by itself."""

import os

import shop
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials

CLIENT = genai.Client(
    vertexai=True,
    project="shop",
    location="us-central1",
    credentials=Credentials("none"),
    http_options=types.HttpOptions(base_url=os.environ["GOOGLE_GEMINI_BASE_URL"]),
)
CONFIG = types.GenerateContentConfig(system_instruction=shop.RULES, tools=[shop.find_order])


async def answer(question: str) -> str:
    """The agent's answer."""
    models = CLIENT.aio.models
    reply = await models.generate_content(
        model="gemini-2.5-flash", contents=question, config=CONFIG
    )
    return reply.text


async def streamed(question: str) -> str:
    """The same, in pieces."""
    models = CLIENT.aio.models
    stream = await models.generate_content_stream(
        model="gemini-2.5-flash", contents=question, config=CONFIG
    )
    return "".join([piece.text or "" async for piece in stream])
