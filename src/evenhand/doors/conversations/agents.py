"""Who is spoken with: a function of the application, or a model."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from msgspec import field

from evenhand.core.conversing import Turns
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.message import Message, Model, Prompt, Reply, chat_text
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.conversations.users import called, named
from evenhand.engine.trial import LiveTrial

MESSAGES = ("messages", "history", "conversation")
TEXT = ("text", "message", "question", "request", "prompt", "query", "user")
_TAKES = 'It may take "messages", all that was said, or "text", what the user said last.'


class Answers(Protocol):
    """A model, as far as an agent needs to be one."""

    async def generate(self, prompt: Prompt | str, /) -> Reply:
        """What the model answers to a prompt."""
        ...


class Agent(Protocol):
    """The agent in one conversation."""

    async def answer(self, messages: Sequence[Message]) -> Reply:
        """What the agent answers to the last of these messages."""
        ...

    def close(self) -> None:
        """Lets go of what it kept between turns: the conversation is over."""
        ...


def check_agent(agent: object, *, system: bool) -> None:
    """Refuses what cannot be spoken with, before anything is said.

    Raises:
        UsageError: It is no agent, a function takes what nobody gives, or it is given a system prompt in vain.
    """
    if isinstance(agent, str) and agent.strip():
        return
    if hasattr(agent, "generate") or hasattr(agent, "request"):
        return
    if not callable(agent) or isinstance(agent, type):
        raise UsageError(
            f"Conversation: agent is {agent!r:.80}, which cannot be spoken with",
            hint="Give a function, a model, or a model's id. " + _TAKES,
        )
    _given(agent)
    if system:
        raise UsageError(
            f"Conversation: system= is for agents that are models, and {named(agent)} is a function",
            hint="Give it to the model that the function asks.",
        )


def lent_agent(agent: object, system: str, trial: LiveTrial | None) -> Agent:
    """The agent, ready to be spoken with in this trial.

    Raises:
        UsageError: It is a model's id or a provider, and there is no run to ask it; or the id is not known.
    """
    if callable(agent) and not hasattr(agent, "generate") and not hasattr(agent, "request"):
        return _FunctionAgent(agent, _given(agent), trial)
    if hasattr(agent, "generate"):
        return _ModelAgent(cast("Answers", agent), system)
    return _ModelAgent(lent_model(agent, "agent", trial), system)


def lent_model(named_model: object, whose: str, trial: LiveTrial | None) -> Model:
    """A model that is named by its id, or is a provider, lent by the trial.

    Args:
        whose: `agent`, or `user` for one who plays the user.
    """
    if trial is None:
        raise UsageError(
            f"Conversation: the {whose} is a model, and there is no run that could ask it",
            hint="Have the conversation in an eval, and start it with `evenhand run` or evenhand.run.",
        )
    provider = trial.provider(named_model) if isinstance(named_model, str) else named_model
    role = "subject" if whose == "agent" else "simulator"
    return trial.model(cast("Provider", provider), role)


class _ModelAgent(Record, frozen=True):
    model: Answers
    system: str
    turns: Turns = field(default_factory=Turns)

    async def answer(self, messages: Sequence[Message]) -> Reply:
        first = (Message("system", self.system),) if self.system else ()
        with self.turns.turn():
            reply = await self.model.generate(chat_prompt([*first, *messages]))
        self.turns.answered(reply)
        return reply

    def close(self) -> None:
        self.turns.close()


def chat_prompt(messages: Sequence[Message], **config: Any) -> Prompt:
    """A conversation as a prompt; its text is that of a chat as promptfoo has it, for providers that are functions."""
    return Prompt(tuple(messages), chat_text(messages), config)


class _FunctionAgent(MutableRecord):
    function: Callable[..., object]
    parameter: str
    trial: LiveTrial | None
    history: list[dict[str, Any]] | None = None

    async def answer(self, messages: Sequence[Message]) -> Reply:
        name = f"the agent {named(self.function)}"
        argument: object = str(messages[-1].content)
        if self.parameter in MESSAGES:
            # What it is given is its own: what it makes of its list is not what was said.
            history = self.history = self.history or []
            history += [{"role": m.role, "content": m.content} for m in messages[len(history) :]]
            argument = [dict(one) for one in history]
        result = await called(self.trial, functools.partial(self.function, argument), name=name)
        return _reply(result, name)

    def close(self) -> None:
        """Keeps nothing."""


@functools.lru_cache(maxsize=1024)
def _given(function: Callable[..., object]) -> str:
    """What a function is given: one of MESSAGES or of TEXT."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return MESSAGES[0]
    required = [
        one
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    first = (required or parameters[:1])[:1]
    others = [one.name for one in required[1:]] + [
        one.name for one in first if one.kind is one.KEYWORD_ONLY
    ]
    if not first or others:
        what = f"takes {', '.join(others)}, which nobody gives it" if others else "takes nothing"
        raise UsageError(f"Conversation: the agent {named(function)} {what}", hint=_TAKES)
    chosen = first[0]
    if chosen.name in TEXT or chosen.annotation in (str, "str"):
        return TEXT[0]
    return MESSAGES[0]


def _reply(result: object, name: str) -> Reply:
    """What a function answered: a text, a reply, or a message as a dict with its content."""
    if isinstance(result, Reply):
        return result
    if isinstance(result, Message):
        return Reply(str(result.content))
    if is_mapping(result):
        content = result.get("content", result.get("output"))
        if isinstance(content, str):
            rest = {key: value for key, value in result.items() if key in ("metadata", "sessionId")}
            return Reply(content, metadata=rest)
    if isinstance(result, str):
        return Reply(result)
    raise CodeError(
        f"{name} returned {result!r:.80}, which says nothing",
        hint='Return a text, a Reply, or {"role": "assistant", "content": "…"}.',
    )


def answer_text(reply: Reply) -> str:
    """What an agent says to the user: its answer without what its vendor marked as thinking."""
    return reply.text if reply.spoken is None else reply.spoken
