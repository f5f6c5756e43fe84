"""A provider that cannot be had: it has a name, under which its variants say why, and is never asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand.core.errors import UsageError
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Request


@dataclass(slots=True)
class AbsentProvider:
    """Stands in a plan for what nobody here knows, or whose file is missing. Implements `Provider`."""

    id: str
    label: str
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=False)
    tasks: frozenset[Task] = field(init=False, default=CHATS)

    def request(self, prompt: Prompt) -> Request:
        del prompt
        raise UsageError(f"provider '{self.id}' cannot be asked")

    async def send(self, request: Request, host: Host) -> Answer:
        del request, host
        raise UsageError(f"provider '{self.id}' cannot be asked")

    def reply(self, body: bytes) -> Reply:
        del body
        raise UsageError(f"provider '{self.id}' cannot be asked")

    async def close(self) -> None:
        """Holds nothing."""
