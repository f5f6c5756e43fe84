"""The least that the same calls can cost: aiohttp on uvloop, nothing journaled, nothing scored.

python bench/client.py URL ROWS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import sys

import aiohttp
import uvloop


async def ask(url: str, rows: int, concurrency: int) -> None:
    """So many calls, so many at once."""
    waiting = iter(range(rows))
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def worker() -> None:
            for i in waiting:
                body = {
                    "model": "gpt-5-mini",
                    "messages": [{"role": "user", "content": f"Say number {i}"}],
                }
                async with session.post(f"{url}/v1/chat/completions", json=body) as answer:
                    reply = json.loads(await answer.read())
                    assert "scripted" in reply["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(concurrency)))


if __name__ == "__main__":
    uvloop.run(ask(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
