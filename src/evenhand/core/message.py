"""What is said to a model and what it says back, in words that no vendor owns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, cast, runtime_checkable

from msgspec import field

from evenhand.core.arguments import CheckedRecord
from evenhand.core.decision import Decision, DecisionQuestion, DecisionRequest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record
from evenhand.core.step import Step

CallRole = Literal["subject", "judge", "setup", "simulator"]
"""Why a model is asked: it is what is being evaluated, it grades, it prepares, or it plays the user."""

Task = Literal["generate", "embed", "classify", "moderate", "decide"]
"""What a model is asked for: an answer, a vector, the likelihood of labels, what a text violates, or decisions."""

CHATS: frozenset[Task] = frozenset({"generate"})
"""The tasks of a model that answers prompts and does nothing else."""

Origin = Literal["provider", "cache", "journal", "replay"]
"""Where a reply is from: paid for now, found in the cache, recorded earlier in this run, or by one that is replayed."""


CONVERSATIONS = ("messages", "contents", "input")
"""Where the body of a request has its conversation: at OpenAI and Anthropic, at Google, in OpenAI's responses API."""


class Message(Record, frozen=True, metaclass=CheckedRecord):
    """One message of a conversation.

    Attributes:
        role: Who says it: `system`, `user`, `assistant`.
        content: Text, or a list of the vendor's content blocks.
        items: Messages as they are written, in OpenAI's chat form or the vendor's own, which are sent in place of this
            one: what says more than a role and a content, an answer that asks for tools (see `Reply.items`), and what
            tools returned. Empty for none.
    """

    role: str
    content: str | Sequence[Mapping[str, Any]]
    items: tuple[Mapping[str, Any], ...] = ()

    @staticmethod
    def of(row: Mapping[str, Any]) -> Message:
        """A message as it is written for a vendor: `{"role": "user", "content": "Hi"}`, with any other keys."""
        role, content = row.get("role"), row.get("content")
        if isinstance(role, str) and role and set(row) == {"role", "content"}:
            if isinstance(content, str):
                return Message(role, content)
            if isinstance(content, (bool, int, float)):
                return Message(role, json.dumps(content))
            if content and is_array(content):
                parts = content
                if all(isinstance(part, Mapping) for part in parts):
                    return Message(role, parts)
        return Message(role if isinstance(role, str) else "user", _text_in(row), (row,))

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The message as it is sent to a vendor: `items`, or else its role and content."""
        return self.items or ({"role": self.role, "content": self.content},)


def _text_in(row: Mapping[str, Any]) -> str:
    """The text of a message in whichever form, for people; of several parts, each on a line."""
    names = ("parts", "content", "output", *CONVERSATIONS)
    return "\n".join(_texts(next((row[name] for name in names if row.get(name)), "")))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_mapping(value):
        fields = value
        inside = next((k for k in ("text", "content", "parts", "output") if fields.get(k)), None)
        if inside is not None:
            yield from _texts(fields[inside])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


Messages = Sequence["Message | Mapping[str, Any]"]
"""Messages, or dicts as vendors take them."""


def chat_text(messages: Sequence[Message]) -> str:
    """A conversation as one text, as promptfoo has it: for providers that are functions, and for people."""
    rows = [row for message in messages for row in message.rows]
    return json.dumps(rows, ensure_ascii=False)


class Prompt(Record, frozen=True):
    """What is about to be sent: a conversation, and what shaped it.

    Attributes:
        messages: The conversation. A plain text is one user message.
        text: The prompt as rendered, the way people and graders read it.
        config: Settings of this call that go over the provider's own (temperature, max_tokens, tools …).
        vars: The case's variables, for providers that are functions.
        label: The prompt's name in reports.
        task: What is asked for; all but an answer look at `text` alone.
        schema: The JSON Schema that the answer has to fit; None for any answer. Its keys are asked for in its order.
            A provider that can hold its model to it does; to others it is nothing: say in words what you want as well.
        template: What the text was before it was filled in, for providers that are code; empty where nobody knows.
        decisions: What a decision model is asked; None for every other task.
        cell: What providers that are code are told of the cell of a config that it is sent for: its `test`, without its
            assertions, and its `repeatIndex`.
    """

    messages: tuple[Message, ...]
    text: str
    config: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    task: Task = "generate"
    schema: Mapping[str, Any] | None = None
    template: str = ""
    decisions: DecisionRequest | None = None
    cell: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(text: str | Messages, **config: Any) -> Prompt:
        """A prompt of one user message, or of a list of messages.

        Raises:
            UsageError: It is neither.
        """
        if isinstance(text, str):
            return Prompt((Message("user", text),), text, config)
        items = cast("Sequence[object]", text if isinstance(text, (list, tuple)) else ())
        if not items or not all(isinstance(item, (Message, Mapping)) for item in items):
            raise UsageError(
                f"a prompt is {text!r:.80}, which is neither a text nor a list of messages",
                hint='Give a text, a list of {"role": "user", "content": "…"}, or what `prompt.render(…)` returns.',
            )
        rows = cast("Sequence[Message | Mapping[str, Any]]", items)
        messages = tuple(row if isinstance(row, Message) else Message.of(row) for row in rows)
        return Prompt(messages, chat_text(messages), config)


ModelInput = Prompt
"""What a model is sent. Users know it by this name: their `evenhand.Prompt` is a text with tags to fill in."""


class Usage(Record, frozen=True):
    """Tokens, as the vendor counted them. None is unknown, never 0."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


class ToolCall(Record, frozen=True):
    """One tool that the model asked for. `arguments` is None where they did not parse."""

    name: str
    arguments: Mapping[str, Any] | None
    id: str = ""


class Reply(Record, frozen=True, metaclass=CheckedRecord):
    """What a model answered.

    Attributes:
        text: The answer as text; tool calls alone are their JSON.
        output: The answer in its native form: the text, or the object that a structured answer or a function gave;
            an embedding's list of numbers; label → score of a classification; category → score of what a moderation
            flagged; question → answer of a decision model.
        usage: Tokens.
        cost_usd: Dollars; None where the price is not known.
        latency_s: Seconds that the successful attempt took; for a replayed reply those of the original call.
        first_byte_s: Seconds of those until the answer began; of a stream, until its first piece. None where it is not
            known.
        queued_s: Seconds that the answer was here and nobody had time for it, which are no part of `latency_s`; None
            where it did not come over the network.
        model: The model as it named itself in the answer; empty where it did not.
        finish_reason: `stop`, `length`, `content_filter`, `tool_calls`, or the vendor's own word.
        refused: The vendor marked it a refusal.
        tool_calls: The tools asked for, in order.
        metadata: What a function that stands for a model returned beside its output.
        steps: What an agent that is a program did on its way to the answer; empty for what answers at once.
        spoken: The text without what the model showed of its thinking; None where that is all of it.
        items: An answer that asks for tools, in the vendor's own messages, as it wants them back with what the tools
            returned: for `Message.items`. Empty for every other answer.
        origin: Paid for now, or replayed from the cache or the journal.
        attempts: How many times it was sent; 0 for a replay.
    """

    text: str
    output: Any = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    latency_s: float | None = None
    model: str = ""
    finish_reason: str = ""
    refused: bool = False
    tool_calls: tuple[ToolCall, ...] = ()
    logprobs: tuple[float, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = "provider"
    attempts: int = 1
    spoken: str | None = None
    steps: tuple[Step, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()
    first_byte_s: float | None = None
    queued_s: float | None = None

    def as_text(self) -> str:
        """What scorers of text read of it."""
        return self.text

    @property
    def billed_later(self) -> bool:
        """Whether what it costs is said with another answer, as of one that is still being made."""
        return False


class Model(Protocol):
    """What a run lends to a body or a scorer: something that answers. Nobody else opens a connection."""

    @property
    def name(self) -> str:
        """The label in reports."""
        ...

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        """Asks, and waits for the answer.

        Args:
            prompt: A text, which is what the user says; a list of messages; or a prompt with settings of its own.

        Raises:
            ProviderError: There is no answer, after all the retries that made sense.
            BudgetStop: The answer could cost more than the run may still spend.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order. Each text is a call of its own: a text seen before costs nothing.

        Raises:
            ProviderError: One of them has none, or this model makes none.
            BudgetStop: It could cost more than the run may still spend.
        """
        ...

    async def classify(self, text: str) -> dict[str, float]:
        """How likely each label is, from 0 to 1.

        Raises:
            ProviderError: There is no answer, or this model does not classify.
            BudgetStop: It could cost more than the run may still spend.
        """
        ...

    async def moderate(self, text: str) -> dict[str, float]:
        """The categories that a text violates, each with a score from 0 to 1; empty for none.

        Raises:
            ProviderError: There is no answer, or this model does not moderate.
            BudgetStop: It could cost more than the run may still spend.
        """
        ...


@runtime_checkable
class ModelWithFallback(Protocol):
    """A judge that is lent with others to ask in its place."""

    @property
    def models(self) -> Sequence[Model]:
        """The judges, in the order in which they are asked."""
        ...


@runtime_checkable
class DecidingModel(Protocol):
    """A model that can be asked typed questions, where its provider takes them."""

    @property
    def name(self) -> str: ...

    @property
    def decides(self) -> bool:
        """True for a decision model, which answers typed questions and writes nothing."""
        ...

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        """The decision on each question, with the reply that it was in.

        What scorers of one trial ask the same model at the same time goes in one request.

        Raises:
            JudgeError: The model gave no usable answer to one of them.
            ProviderError: There is no answer, or this is not a decision model.
            BudgetStop: It could cost more than the run may still spend.
        """
        ...
