"""Answers every chat call at once, with the same words. Prints its address; keeps no bill and reads no prompt."""

from __future__ import annotations

import asyncio
import json
from typing import cast

import uvloop

BODY = json.dumps(
    {
        "id": "bench",
        "object": "chat.completion",
        "model": "gpt-5-mini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "a scripted answer"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14},
    }
).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
) + BODY
LENGTH = b"content-length:"


class Answers(asyncio.Protocol):
    """One connection: counts the bytes of a request, then answers."""

    def __init__(self) -> None:
        self._seen = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while True:
            end = self._seen.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._seen[:end].lower()
            start = head.find(LENGTH)
            length = int(head[start + len(LENGTH) :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._seen) < end + 4 + length:
                return
            self._seen = self._seen[end + 4 + length :]
            assert self._transport is not None
            self._transport.write(ANSWER)


async def serve() -> None:
    """Until it is killed."""
    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
