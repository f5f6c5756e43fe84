"""The provider that answers with the prompt: no network, no cost."""

from __future__ import annotations

from evenhand.core.errors import UsageError
from evenhand.core.message import CHATS, Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.record import MutableRecord
from evenhand.providers.wanted import Wanted


class Echo(MutableRecord):
    """Says the prompt again, word for word."""

    id: str = "echo"
    label: str = "echo"
    account: str = ""
    paid: bool = False
    tasks: frozenset[Task] = CHATS

    def request(self, prompt: Prompt) -> Request:
        data = prompt.text.encode("utf-8", "surrogatepass")
        return Request(identity=data, key="", payload=data, cost_bound_usd=0.0)

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        return Answer(request.identity, 0.0)

    def reply(self, body: bytes) -> Reply:
        text = body.decode("utf-8", "surrogatepass")
        return Reply(text=text, output=text, usage=Usage(0, 0), cost_usd=0.0)

    async def close(self) -> None:
        """Holds nothing."""


def make(wanted: Wanted) -> Echo:
    """The echo."""
    return Echo(wanted.id, wanted.label or wanted.id)


class AbsentProvider(MutableRecord):
    """Stands in a plan for what nobody here knows, or whose file is missing. Implements `Provider`."""

    id: str
    label: str
    account: str = ""
    paid: bool = False
    tasks: frozenset[Task] = CHATS

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
