"""A provider around another one: the same in all that it does not do itself, such as a rest before each call."""

from __future__ import annotations

from asyncio import sleep
from dataclasses import dataclass

from evenhand.core.message import Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Provider, Request, says


@dataclass(slots=True)
class Wrapped:
    """Another provider, called and asked as it is. Who wraps it says what is different. Implements `Provider`."""

    provider: Provider

    @property
    def id(self) -> str:
        return self.provider.id

    @property
    def label(self) -> str:
        return self.provider.label

    @property
    def account(self) -> str:
        return self.provider.account

    @property
    def paid(self) -> bool:
        return self.provider.paid

    @property
    def tasks(self) -> frozenset[Task]:
        return self.provider.tasks

    @property
    def remote(self) -> bool:
        return says(self.provider, "remote")

    @property
    def lasts(self) -> bool:
        return says(self.provider, "lasts")

    @property
    def answers_by_request_alone(self) -> bool:
        return says(self.provider, "answers_by_request_alone")

    @property
    def parses(self) -> bool:
        return says(self.provider, "parses")

    @property
    def shows_thoughts(self) -> bool:
        return says(self.provider, "shows_thoughts")

    def request(self, prompt: Prompt) -> Request:
        return self.provider.request(prompt)

    async def send(self, request: Request, host: Host) -> Answer:
        return await self.provider.send(request, host)

    def reply(self, body: bytes) -> Reply:
        return self.provider.reply(body)

    async def close(self) -> None:
        await self.provider.close()


@dataclass(slots=True)
class Paused(Wrapped):
    """Another provider, asked a moment later. What is replayed needs no rest."""

    delay_s: float

    async def send(self, request: Request, host: Host) -> Answer:
        await sleep(self.delay_s)
        return await self.provider.send(request, host)
