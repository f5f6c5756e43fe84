"""A model that is given a rest before each call."""

from __future__ import annotations

from asyncio import sleep
from dataclasses import dataclass

from evenhand.core.provider import Answer, Host, Request
from evenhand.providers.wrapped import Wrapped


@dataclass(slots=True)
class Paused(Wrapped):
    """Another provider, asked a moment later. What is replayed needs no rest."""

    delay_s: float

    async def send(self, request: Request, host: Host) -> Answer:
        await sleep(self.delay_s)
        return await self.provider.send(request, host)
