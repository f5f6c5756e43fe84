"""Says when a run file has grown, to whoever listens: a number, and nothing of what is in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

from evenhand.core.errors import EvenhandError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import State

EVERY_S = 1.0
ALIVE_EVERY = 15
"""Looks without news after which a comment is sent: a connection that is gone is found out."""


async def follow(request: web.Request, path: Path, closing: asyncio.Event) -> web.StreamResponse:
    """Server-sent events `{"seq": n}`, the first at once, until whoever listens goes or the server closes."""
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    latest: int | None = None
    state: State | None = None
    quiet = 0
    while not closing.is_set():
        now = State.of(path)
        if now != state:
            state = now
            seq = await asyncio.to_thread(_growth, path)
            if seq is not None and seq != latest:
                latest, quiet = seq, 0
                await answer.write(b'data: {"seq": %d}\n\n' % seq)
        quiet += 1
        if quiet % ALIVE_EVERY == 0:
            await answer.write(b": still here\n\n")
        try:
            await asyncio.wait_for(closing.wait(), EVERY_S)
        except TimeoutError:
            continue
    return answer


def _growth(path: Path) -> int | None:
    try:
        with RunFile.open(path) as run:
            return run.growth()
    except EvenhandError:  # it is being made, or was deleted; the next look tells
        return None
