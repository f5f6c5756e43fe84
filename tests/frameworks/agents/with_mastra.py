"""An agent behind Mastra's own server."""

import json
import os

import httpx

from evenhand import recording

URL = f"{os.environ['AGENT_SERVER']}/api/agents/shop"
http = recording.async_http_client(library=httpx)


async def answer(question: str) -> str:
    """The agent's answer."""
    response = await http.post(f"{URL}/generate", json={"messages": question}, timeout=60)
    return response.raise_for_status().json()["text"]


async def streamed(question: str) -> str:
    """The same, in pieces."""
    response = await http.post(f"{URL}/stream", json={"messages": question}, timeout=60)
    lines = response.raise_for_status().text.splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(event["payload"]["text"] for event in events if event["type"] == "text-delta")
