"""Providers around others: the same as another one, or as the first, in all that they do not do themselves."""

from __future__ import annotations

from asyncio import sleep

from evenhand.core.message import Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Keyed, Provider, Request, says
from evenhand.core.record import MutableRecord


class Wrapped(MutableRecord):
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


class SeveralJudges:
    """Several judges, of which the first stands for all where a provider is expected. Implements `Provider`."""

    __slots__ = ()

    @property
    def judges(self) -> tuple[Provider, ...]:
        """The judges, in the order in which they are asked."""
        raise NotImplementedError

    @property
    def account(self) -> str:
        return self.judges[0].account

    @property
    def paid(self) -> bool:
        return any(one.paid for one in self.judges)

    @property
    def tasks(self) -> frozenset[Task]:
        return self.judges[0].tasks

    @property
    def needs_key(self) -> bool:
        """Whether one of them cannot be asked for want of a key."""
        return bool(self.key_name)

    @property
    def key_name(self) -> str:
        """The environment variable that the first one without a key lacks; empty where all have theirs."""
        keyed = (one for one in self.judges if isinstance(one, Keyed))
        return next((one.key_name for one in keyed if one.needs_key), "")

    def request(self, prompt: Prompt) -> Request:
        return self.judges[0].request(prompt)

    async def send(self, request: Request, host: Host) -> Answer:
        return await self.judges[0].send(request, host)

    def reply(self, body: bytes) -> Reply:
        return self.judges[0].reply(body)

    async def close(self) -> None:
        for one in self.judges:
            await one.close()


class Paused(Wrapped):
    """Another provider, asked a moment later. What is replayed needs no rest."""

    delay_s: float

    async def send(self, request: Request, host: Host) -> Answer:
        await sleep(self.delay_s)
        return await self.provider.send(request, host)
