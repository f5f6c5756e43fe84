"""A model that answers in the process: from a list, by what it is asked, or as a function says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

from evenhand.core.encoding import decode, decoded, digest, encode
from evenhand.core.errors import BadRequest
from evenhand.core.json_shapes import is_object
from evenhand.core.message import Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Request
from evenhand.testing.shapes import vector

Replies = str | Sequence[str | Exception] | Mapping[str, str | Exception] | Callable[[Prompt], str]


@dataclass(slots=True)
class Scripted:
    """A provider without a network. Implements `evenhand.core.provider.Provider`.

    Attributes:
        replies: The one that is always given; or several, in turn, over and over; or by a text found in the prompt; or
            what a function returns. An exception is raised.
        paid: Whether its calls are journaled and counted, as a vendor's are.
        cost_usd: What each call costs.
        bound_usd: What it can cost at most.
        hidden_usd: What may come on top where it does not keep to that.
        latency_s: Before each answer.
        tasks: What it can be asked for. Embeddings do not come from the replies: texts that share words lie close
            together. Labels and categories are a reply that is a JSON object, or one that names the only label.
        asked: The prompts that reached it.
    """

    replies: Replies = ("yes",)
    id: str = "scripted"
    label: str = "scripted"
    account: str = "scripted"
    paid: bool = True
    deterministic: bool = True
    cost_usd: float | None = 0.0
    bound_usd: float | None = 0.0
    hidden_usd: float = 0.0
    latency_s: float = 0.0
    tasks: frozenset[Task] = frozenset({"generate", "embed", "classify", "moderate"})
    asked: list[Prompt] = field(default_factory=list[Prompt])
    in_flight: int = 0
    most_at_once: int = 0
    _script: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # What a function answers depends on more than can be seen: each Scripted with one is a script of its own.
        replies = self.replies
        self._script = uuid4().hex if callable(replies) else digest(repr(replies))

    def request(self, prompt: Prompt) -> Request:
        parts = {
            "model": self.id,
            "messages": [[m.role, m.content, *m.items] for m in prompt.messages],
            "config": prompt.config,
            "task": prompt.task,
            **({} if prompt.schema is None else {"schema": prompt.schema}),
        }
        identity = encode(parts)
        return Request(
            identity=identity,
            key=digest(identity),
            payload=prompt,
            deterministic=self.deterministic,
            tokens_in=len(prompt.text) // 4,
            cost_bound_usd=self.bound_usd,
            cost_hidden_usd=self.hidden_usd,
            unsent=self._script,
        )

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        prompt = cast("Prompt", request.payload)
        self.asked.append(prompt)
        self.in_flight += 1
        self.most_at_once = max(self.most_at_once, self.in_flight)
        try:
            await asyncio.sleep(self.latency_s)
            reply = "" if prompt.task == "embed" else self._next(prompt)
        finally:
            self.in_flight -= 1
        if isinstance(reply, Exception):
            raise reply
        counts: dict[str, object] = {"in": len(prompt.text) // 4, "out": len(reply) // 4}
        if prompt.task == "embed":
            counts["vector"] = vector(prompt.text, 256)
        elif prompt.task != "generate":
            counts["labels"] = _labels(reply)
        return Answer(encode({"text": reply, **counts}), self.latency_s)

    def reply(self, body: bytes) -> Reply:
        value = cast("dict[str, object]", decode(body))
        text = str(value["text"])
        usage = Usage(cast(int, value["in"]), cast(int, value["out"]))
        return Reply(
            text=text,
            output=value.get("vector", value.get("labels", text)),
            usage=usage,
            cost_usd=self.cost_usd,
            model=self.id,
            finish_reason="stop",
        )

    async def close(self) -> None:
        """Holds nothing."""

    def _next(self, prompt: Prompt) -> str | Exception:
        replies = self.replies
        if callable(replies):
            return replies(prompt)
        if isinstance(replies, str):
            return replies
        if isinstance(replies, Mapping):
            for text, reply in replies.items():
                if text in prompt.text:
                    return reply
            return BadRequest(f"the script has no reply to: {prompt.text[:200]}")
        if not replies:
            return BadRequest("the script has no replies")
        return replies[(len(self.asked) - 1) % len(replies)]


def _labels(text: str) -> object:
    value = decoded(text)
    if is_object(value):
        return value
    return {text: 1.0} if text else {}
