"""A model whose calls of tools are made: it is asked again with what they returned, until it answers in words.

How this works: what a model said is sent back to it in the vendor's own messages, as the vendor wants (`Reply.items`),
followed by what each tool returned. In a conversation, the next turn is told of the calls of earlier ones again: they
are put in where they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec.structs import replace

from evenhand.core.encoding import digest, encode
from evenhand.core.message import Message, Messages, Model, Prompt, Reply, ToolCall, Usage
from evenhand.core.ranges import Range

ToolForm = Literal["openai", "responses", "anthropic", "google"]
"""Whose form tools are described in: OpenAI's chat or responses API, Anthropic's or Google's."""

MAX_TURNS, TURNS = 10, Range(1, 1000, whole=True)
"""How many answers of a model's an answer takes at most, unless somebody says otherwise; and how many they may say."""

WITH_TOOLS = "Models of OpenAI, Azure, Anthropic, Google and servers that speak OpenAI's API can."


class Tools(Protocol):
    """Tools that a model may call."""

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The tools by name."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """What a call returns; `{"error": …}` where it fails."""
        ...


class CallingModel:
    """A model whose calls of tools are made, in the order in which it asks for them.

    Args:
        model: The model. What it is asked tells it of the tools.
        form: Whose model it is: the form of what it is told.
        most: How many answers of its own an answer may take. If the last of them asks for tools, it is the answer.
        definitions: The tools as it is told of them, with each request; None where its requests have them.
    """

    def __init__(
        self,
        model: Model,
        tools: Tools,
        form: ToolForm,
        most: int,
        definitions: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self._model = model
        self._definitions = definitions
        self._tools = tools
        self._form: ToolForm = form
        self._most = most
        self._made: dict[str, list[Message]] = {}

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        """The model's answer once it asks for no more tools, or one that isn't there; with all tokens, cost and time.

        Raises:
            ProviderError: There is no answer.
            InfrastructureError: What the tools run on has failed.
        """
        prompt = prompt if isinstance(prompt, Prompt) else Prompt.of(prompt)
        if self._definitions is not None:
            config = {**prompt.config, "tools": list(self._definitions)}
            prompt = replace(prompt, config=config)
        before, prefix = self._with_calls(prompt)
        earlier: list[Message] = []
        # Known by all that was said before, so that the next turn inserts the calls where they were made, and another
        # conversation, or the same question once more, doesn't.
        self._made[prefix] = earlier
        replies: list[Reply] = []
        while True:
            reply = await self._model.generate(replace(prompt, messages=(*before, *earlier)))
            replies.append(reply)
            calls = reply.tool_calls
            callable_ = all(call.name in self._tools.tools for call in calls)
            # Without the vendor's own items there is nothing to send back that the results could refer to.
            if not (calls and callable_ and reply.items) or len(replies) == self._most:
                return whole(replies)
            returned = [await self._tools.call(call.name, call.arguments) for call in calls]
            earlier.append(Message("assistant", reply.text, reply.items))
            items = returned_items(self._form, list(zip(calls, returned, strict=True)))
            earlier.append(Message("tool", "", tuple(items)))

    def _with_calls(self, prompt: Prompt) -> tuple[list[Message], str]:
        """The conversation, with the calls of each turn before what it came to; and a digest of it, without them."""
        messages: list[Message] = []
        prefix = ""
        for message in prompt.messages:
            messages += (*self._made.get(prefix, ()), message)
            prefix = digest(prefix, encode([message.role, message.content, message.items]))
        return messages, prefix


def returned_items(
    form: ToolForm, calls: Sequence[tuple[ToolCall, object]]
) -> list[dict[str, Any]]:
    """What tools returned, in a vendor's own messages.

    Args:
        calls: Each call with what it returned: a text or JSON; `{"error": …}` where it failed.
    """
    if form == "google":
        parts = [
            {
                "functionResponse": {
                    **({"id": call.id} if call.id else {}),
                    "name": call.name,
                    # Google accepts only an object here.
                    "response": value if isinstance(value, dict) else {"result": value},
                }
            }
            for call, value in calls
        ]
        return [{"role": "user", "parts": parts}]
    texts = [
        (
            call.id,
            value if isinstance(value, str) else encode(value, ordered=False).decode(),
            isinstance(value, dict) and value.keys() == {"error"},
        )
        for call, value in calls
    ]
    if form == "responses":
        return [
            {"type": "function_call_output", "call_id": id_, "output": text}
            for id_, text, _ in texts
        ]
    if form == "openai":
        return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text, _ in texts]
    blocks = [
        {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
        for id_, text, failed in texts
    ]
    return [{"role": "user", "content": blocks}]


def whole(replies: Sequence[Reply]) -> Reply:
    """The last of some replies, with tokens, cost and time of all; what is unknown of one is unknown of all.

    Args:
        replies: At least one.
    """
    if len(replies) == 1:
        return replies[0]
    return replace(
        replies[-1],
        usage=Usage(
            sum_of([reply.usage.tokens_in for reply in replies]),
            sum_of([reply.usage.tokens_out for reply in replies]),
            sum_of([reply.usage.tokens_cached for reply in replies]),
        ),
        cost_usd=sum_of([reply.cost_usd for reply in replies]),
        latency_s=sum_of([reply.latency_s for reply in replies]),
    )


def sum_of(numbers: Sequence[Any]) -> Any:
    """The sum of the numbers; None where one of them is not known."""
    return None if None in numbers else sum(numbers)
