"""A test whose model under evaluation is talked with by a user: promptfoo's simulated one, or one of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.message import Message, Model, Prompt, Reply, Usage
from evenhand.doors.conversations.agents import chat_prompt
from evenhand.doors.conversations.conversation import Conversation
from evenhand.doors.conversations.simulated import SimulatedUser
from evenhand.doors.conversations.talk import Talk
from evenhand.doors.conversations.tool_calls import CallingModel, whole
from evenhand.doors.conversations.users import ScriptedUser
from evenhand.doors.promptfoo.simulated_users import (
    OWN_USER,
    SIMULATED_USER,
    OwnUser,
    TestUser,
    initial_messages,
)
from evenhand.languages.documents.findings import problem_at

Fill = Callable[[str], str]
"""Fills the tags of a text in."""


async def talked(
    user: TestUser,
    model: Model | CallingModel,
    prompt: Prompt,
    variables: Mapping[str, Any],
    fill: Fill,
) -> Reply:
    """What came of the conversation, as promptfoo has it: `User: …` and `Assistant: …`, with lines `---` between.

    Args:
        user: Who talks with the model.
        fill: Fills in the tags of instructions and initial messages.

    Raises:
        ConfigError: It cannot begin: nobody plays the user, texts come to nothing, or messages are none.
        SimulatorError: The simulated user made a mistake twice.
        ProviderError: A model gave no answer.
    """
    if user.problem is not None:
        raise ConfigError([user.problem])
    if user.own is None:
        player = _simulated(user, fill)
        opening = initial_messages(variables.get("initialMessages") or user.initial, user.place)
    else:
        player = _own(user, user.own, fill)
        opening = initial_messages(user.initial, user.place, "start")
    history = [Message(fill(str(m["role"])), fill(str(m["content"]))) for m in opening]
    target = _Target(model, prompt, [m for m in history if m.role == "system"], user.stateful)
    start = Talk.of([m for m in history if m.role != "system"])
    conversation = Conversation(target, player, max_turns=user.max_turns, start=start)
    talk = await conversation.run()
    messages = talk.messages
    if talk.ended == "user" and len(messages) > len(start.messages) and messages[-1].role == "user":
        # What it says as it leaves is nobody's to answer: promptfoo drops it.
        messages = messages[:-1]
    return target.summed([*target.system, *messages])


def _simulated(user: TestUser, fill: Fill) -> SimulatedUser:
    """The simulated user of promptfoo, in this test."""
    instructions = fill(user.instructions)
    if not instructions.strip():
        what = f"{SIMULATED_USER} has no instructions: {user.instructions!r} comes to nothing"
        hint = "Say under vars: instructions, or under config: instructions, what the user wants."
        raise ConfigError([problem_at(user.place, what, hint)])
    return SimulatedUser(instructions, model=user.model)


def _own(user: TestUser, own: OwnUser, fill: Fill) -> ScriptedUser | SimulatedUser:
    """A user of our own, in this test."""
    wrong: list[Problem] = []

    def filled(text: str, name: str) -> str:
        turn = fill(text)
        if text and not turn.strip():
            what = f"{name} of {OWN_USER} comes to nothing: {text!r:.60}"
            hint = "Give the variable in this test, or write a provider for this test."
            wrong.append(problem_at(user.place, what, hint))
        return turn

    turns = [filled(turn, f"turn {at}") for at, turn in enumerate(own.turns, 1)]
    goal = filled(own.goal, "goal")
    facts = {
        name: filled(fact, f"the fact '{name}'") if isinstance(fact, str) else fact
        for name, fact in own.facts.items()
    }
    never_says = [filled(text, "never_says") for text in own.never_says]
    persona, language = filled(own.persona, "persona"), filled(own.language, "language")
    if wrong:
        raise ConfigError(wrong)
    if turns:
        return ScriptedUser(turns)
    try:
        return SimulatedUser(
            goal,
            facts=facts,
            never_says=never_says,
            persona=persona,
            language=language,
            model=user.model,
        )
    except UsageError as error:
        raise ConfigError([problem_at(user.place, f"{OWN_USER}: {error}")]) from error


class _Target:
    """The model under evaluation, as it is asked at each turn, and what that came to."""

    def __init__(
        self, model: Model | CallingModel, prompt: Prompt, system: Sequence[Message], stateful: bool
    ) -> None:
        self.system = list(system)
        self._model = model
        self._prompt = prompt
        self._stateful = stateful
        self._session: object = None
        self._replies: list[Reply] = []

    @property
    def name(self) -> str:
        return self._model.name

    async def generate(self, prompt: Prompt | str) -> Reply:
        history = cast("Prompt", prompt).messages
        first = [Message("system", self._prompt.text), *self.system]
        messages = [*first, *history]
        if self._stateful:
            # A service that has given a session keeps the conversation itself; until then, it needs the instructions.
            messages = [history[-1]] if self._session else [*first, history[-1]]
        chat = chat_prompt(messages)
        reply = await self._model.generate(
            replace(self._prompt, messages=chat.messages, text=chat.text)
        )
        self._session = reply.metadata.get("sessionId") or self._session
        self._replies.append(reply)
        # The user hears what was said, and not what the model thought.
        text = reply.text if reply.spoken is None else reply.spoken
        return replace(reply, text=text, spoken=None)

    def summed(self, messages: Sequence[Message]) -> Reply:
        """All its replies as one."""
        lines = (
            f"{'Assistant' if m.role == 'assistant' else 'User'}: {m.content}" for m in messages
        )
        text = "\n---\n".join(lines)
        metadata: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in messages]
        }
        if self._session:
            metadata["sessionId"] = self._session
        replies = self._replies
        if not replies:
            return Reply(text, text, Usage(0, 0), 0.0, 0.0, metadata=metadata)
        return replace(
            whole(replies), text=text, output=text, metadata=metadata, logprobs=None, spoken=None
        )
