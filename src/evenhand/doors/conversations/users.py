"""Who plays the user: a script, a function, or states that follow each other. A model does in `simulated`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from evenhand.core.arguments import CheckedRecord, checked_class
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.record import Record
from evenhand.doors.conversations.contract import UserContract
from evenhand.doors.conversations.fault import Fault
from evenhand.doors.conversations.talk import Talk
from evenhand.engine.trial import LiveTrial

if TYPE_CHECKING:
    from evenhand.doors.conversations.turn_judge import TurnJudge


class Said(Record, frozen=True):
    """What a user is about to say.

    Attributes:
        text: It; empty only where the user ends the conversation without a word.
        ends: The conversation is over with it: the agent does not answer.
        after: What a model wrote behind the mark that ends it.
        faults: Mistakes that can be seen from the model's reply alone.
    """

    text: str
    ends: bool = False
    after: str = ""
    faults: tuple[Fault, ...] = ()


class UserSession(Protocol):
    """A user in one conversation."""

    @property
    def contract(self) -> UserContract | None:
        """What its turns are held to; None where they are what their author wrote, and count as they are."""
        ...

    @property
    def turn_judge(self) -> TurnJudge | None:
        """Who judges its turns after the rules; None for nobody."""
        ...

    async def say(self, talk: Talk, faulty: tuple[str, Sequence[Fault]] | None) -> Said | None:
        """What the user says next; None where there is no more to say.

        Args:
            faulty: What it was about to say, and what is wrong with that; None the first time.
        """
        ...


class User(Protocol):
    """Somebody who can play the user, in any number of conversations at a time."""

    def begin(self, trial: LiveTrial | None) -> UserSession:
        """A conversation begins, in this trial or in none."""
        ...


@checked_class
class ScriptedUser:
    """A user that says these lines, one after the other, and then ends the conversation.

    A conversation that goes on from an earlier one goes on in its script, where the user said the same lines there.

    Raises:
        UsageError: There are none, or one is no text or empty.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        if isinstance(lines, str) or not lines:
            raise UsageError(
                f"ScriptedUser: lines is {lines!r:.60}, not a list of texts",
                hint='Write ScriptedUser(["Hi!", "My order is 1042."]).',
            )
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str) or not line.strip():  # pyright: ignore[reportUnnecessaryIsInstance] (users' code is not checked)
                raise UsageError(f"ScriptedUser: line {number} is {line!r:.60}, not a text")
        self.lines = tuple(lines)

    def begin(self, trial: LiveTrial | None) -> UserSession:
        del trial
        return _Script(self.lines)


class _Script:
    contract = None
    turn_judge = None

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._next: int | None = None

    async def say(self, talk: Talk, faulty: tuple[str, Sequence[Fault]] | None) -> Said | None:
        del faulty
        if self._next is None:  # an earlier conversation may have begun it
            self._next = talk.turns if goes_on(talk, self._lines, "script") else 0
        at = self._next
        self._next = at + 1
        return Said(self._lines[at]) if at < len(self._lines) else None


Speaks = Callable[[Talk], "str | Awaitable[str | None] | None"]
"""A user as a function, plain or async: of what was said so far; None where it has no more to say."""


class FunctionUser(Record, frozen=True, metaclass=CheckedRecord):
    """A user that says what a function of the conversation so far returns, until that is None."""

    function: Speaks

    def begin(self, trial: LiveTrial | None) -> UserSession:
        return _Function(self.function, trial)


class _Function(Record, frozen=True):
    function: Speaks
    trial: LiveTrial | None
    contract: None = None
    turn_judge: None = None

    async def say(self, talk: Talk, faulty: tuple[str, Sequence[Fault]] | None) -> Said | None:
        del faulty
        name = f"the user {named(self.function)}"
        answer = await called(self.trial, self.function, talk, name=name)
        return None if answer is None else Said(spoken_text(answer, name))


State = Callable[[str], Any]
"""A state of a user, plain or async: of what the agent said last, it returns what the user says, and the next state;
in the place of the next state None, where that was the last; and None alone, where the user has no more to say."""


@checked_class
@dataclass(frozen=True, slots=True)
class StatefulUser:
    """A user that goes from state to state. A state is a function of what the agent said last.

        def asks(agent: str):
            return "I want my money back for order 1042.", insists

        def insists(agent: str):
            return ("Thank you!", None) if "refund" in agent else ("That is not enough.", insists)

        StatefulUser(asks)

    A state should depend on what it is given, and on nothing else: a conversation that goes on from an earlier one
    goes through its states again.

    Raises:
        UsageError: The first state is no function.
    """

    first: State

    def __post_init__(self) -> None:
        if not callable(self.first):
            raise UsageError(
                f"StatefulUser: the first state is {self.first!r:.60}, not a function",
                hint='A state is a function: def asks(agent): return "Hi!", next_state',
            )

    def begin(self, trial: LiveTrial | None) -> UserSession:
        return _States(self.first, trial)


class _States:
    contract = None
    turn_judge = None

    def __init__(self, first: State, trial: LiveTrial | None) -> None:
        self._state: State | None = first
        self._trial = trial
        self._begun = False

    async def say(self, talk: Talk, faulty: tuple[str, Sequence[Fault]] | None) -> Said | None:
        del faulty
        if not self._begun:  # it may go on from an earlier conversation
            self._begun = True
            first, agent, lines = self._state, "", list[str]()
            for message in talk.messages:
                if message.role == "assistant":
                    agent = str(message.content)
                elif (turn := await self._next(agent)) is not None:
                    lines.append(turn.text)
            if not goes_on(talk, lines, "user's states"):
                self._state = first
        return await self._next(talk.answer)

    async def _next(self, agent: str) -> Said | None:
        state = self._state
        if state is None:
            return None
        name = f"the user's state {named(state)}"
        result = await called(self._trial, state, agent, name=name)
        if result is None:
            self._state = None
            return None
        pair = cast("tuple[object, ...]", result) if isinstance(result, tuple) else ()
        if len(pair) != 2 or not (pair[1] is None or callable(pair[1])):
            raise CodeError(
                f"{name} returned {result!r:.80}",
                hint='Return what the user says, and the next state or None: return "Hi!", insists',
            )
        self._state = cast("State | None", pair[1])
        return Said(spoken_text(pair[0], name))


def goes_on(talk: Talk, lines: Sequence[str], what: str) -> bool:
    """Whether a conversation that was begun goes on with these lines: they begin with what the user said in it.

    Where nothing of it is in them, they all are still to be said.

    Args:
        talk: What was said before.
        lines: What the user says, first to last.
        what: What they are called.

    Raises:
        UsageError: Some of what was said is in them, and some isn't.
    """
    turns = [message.content for message in talk.messages if message.role == "user"]
    same = [turn == line for turn, line in zip(turns, lines, strict=False)]
    if all(same):
        return bool(same)
    if any(same):
        at = same.index(False)
        raise UsageError(
            f"Conversation: turn {at + 1} of start is {turns[at]!r:.60}, and {lines[at]!r:.60} in the {what}",
            hint="Go on from a conversation with the same user, or begin with other words.",
        )
    return False


def user_of(user: object) -> User:
    """The user that is meant: one of ours, a list of lines, or a function.

    Raises:
        UsageError: It is nothing that could play the user.
    """
    if hasattr(user, "begin"):
        return cast("User", user)
    if isinstance(user, (list, tuple)):
        return ScriptedUser(cast("Sequence[str]", user))
    if callable(user) and not isinstance(user, type):
        return FunctionUser(cast("Speaks", user))
    raise UsageError(
        f"Conversation: user is {user!r:.80}, which cannot play the user",
        hint='Give a list of lines, a function of the talk so far, or SimulatedUser(goal="…").',
    )


async def called(
    trial: LiveTrial | None, function: Callable[..., Any], *given: object, name: str
) -> Any:
    """What a function of the user's returns: off the event loop and within the time limit, where there is a trial."""
    if trial is not None:
        return await trial.call(function, *given, name=name)
    result = function(*given)
    return await result if inspect.isawaitable(result) else result


def named(function: object) -> str:
    """A function's name, as messages have it."""
    name = getattr(function, "__qualname__", "") or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2]


def spoken_text(said: object, name: str) -> str:
    """What somebody said, which has to be text.

    Raises:
        CodeError: It isn't, or says nothing.
    """
    if isinstance(said, str) and said.strip():
        return said
    raise CodeError(
        f"{name} returned {said!r:.80}, not a text that says something", hint="Return None to end."
    )
