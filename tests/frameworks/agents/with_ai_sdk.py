"""An agent of the Vercel AI SDK, behind a server that its user has written."""

import json
import os

import httpx

from evenhand import recording

URL = os.environ["AGENT_SERVER"]
http = recording.async_http_client(library=httpx)


async def answer(question: str) -> str:
    """The agent's answer, from `res.json({ text, steps })`."""
    response = await http.post(f"{URL}/api/answer", json={"prompt": question}, timeout=60)
    return response.raise_for_status().json()["text"]


async def streamed(question: str) -> str:
    """The same, from the stream that `useChat` reads."""
    message = {"role": "user", "parts": [{"type": "text", "text": question}]}
    response = await http.post(f"{URL}/api/chat", json={"messages": [message]}, timeout=60)
    lines = response.raise_for_status().text.splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(event["delta"] for event in events if event["type"] == "text-delta")
