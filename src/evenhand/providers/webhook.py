"""A webhook: the prompt is posted to it as JSON, and it answers with JSON that holds an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from evenhand.core.errors import BadReply, CodeError
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Price, Request
from evenhand.providers import http
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider
from evenhand.providers.embeddings import looked_up, prompt_body
from evenhand.providers.faults import fault
from evenhand.providers.http_answer import answered
from evenhand.providers.wanted import Wanted


def make(wanted: Wanted) -> ChatProvider:
    """A webhook at this address."""
    return chat_provider(wanted, DIALECT, model="", url=wanted.rest)


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    del model
    return {"config": dict(config)} if config else {}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    del parsed, price
    _, text = looked_up(body, lambda answer: answer["output"], "output")
    if not isinstance(text, str):
        raise BadReply("the reply's output is not a text", billed=None)
    return Reply(text=text, output=text)


def _nobody(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    del key, config
    return {}


DIALECT = Dialect(
    vendor="webhook",
    headers=_nobody,
    messages=prompt_body,
    settings=_settings,
    read=_read,
    chats=False,
)


TIMEOUT_S = 5.0


@dataclass(slots=True, kw_only=True)
class PostedGrader:
    """Implements `evenhand.core.provider.Provider`. The prompt's text is the body, the answer's body is the reply."""

    url: str = field(repr=False)
    timeout_s: float = TIMEOUT_S
    id: str = "webhook"
    label: str = "webhook"
    remote: ClassVar[bool] = True
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=False)
    tasks: frozenset[Task] = field(init=False, default=CHATS)

    def request(self, prompt: Prompt) -> Request:
        data = prompt.text.encode()
        return Request(identity=data, key="", payload=data, cost_bound_usd=0.0)

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        try:
            address = urlsplit(self.url)
        except ValueError:
            address = urlsplit("")
        if address.scheme not in ("http", "https") or not address.hostname:
            raise CodeError(f"{self.url!r} is not an address to post to", hint="Write https://….")
        headers = {"Content-Type": "application/json"}
        transport = http.HttpTransport()  # nobody closes what the plan does not know of
        try:
            answer = await transport.post(self.url, headers, request.payload, self.timeout_s)
        finally:
            await transport.close()
        if not 200 <= answer.status < 300:
            raise fault(answer, host=address.hostname, key_hint="Look at the webhook's address.")
        return answered(answer)

    def reply(self, body: bytes) -> Reply:
        text = body.decode("utf-8", "replace")
        return Reply(text=text, output=text, cost_usd=0.0)

    async def close(self) -> None:
        """Holds nothing."""
