"""A model that plays the user: a goal, what it knows, what it must not say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from evenhand.core.arguments import checked_class
from evenhand.core.errors import CodeError, JudgeError, UsageError
from evenhand.core.message import Message, Model, Reply
from evenhand.core.provider import Provider
from evenhand.core.traits import name_model
from evenhand.doors.conversations.agents import chat_prompt, lent_model
from evenhand.doors.conversations.checking import STOP, without_stop
from evenhand.doors.conversations.contract import UserContract
from evenhand.doors.conversations.fault import Fault
from evenhand.doors.conversations.talk import Talk
from evenhand.doors.conversations.turn_judge import TurnJudge, written_facts
from evenhand.doors.conversations.users import Said, UserSession, called, named
from evenhand.engine.call_context import during
from evenhand.engine.trial import LiveTrial
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.scorers.judging import without_thinking

PROMPT = "conversation/simulated_user"
MESSAGES_SHOWN = 60
"""The latest messages that the model is shown."""
CHARACTERS_SHOWN = 8_000
"""Characters that it is shown of each."""
NAME_A_MODEL = (
    "Name one: SimulatedUser(model='openai:chat:gpt-5-mini', …); otherwise the judge plays the user: EvalSet(…, "
    "judge='…'), judge = '…' below [tool.evenhand] in pyproject.toml, or EVENHAND_JUDGE."
)
_LABEL = re.compile(
    r"^[ \t>*_]{0,4}(?:user|customer|you|me)[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*", re.IGNORECASE
)
_QUOTED = re.compile(r'^(["“«])(.*)(["”»])$', re.DOTALL)
_BEGIN = "(The conversation begins. Write the person's first message.)"
_GREETED = "(The conversation begins. The agent speaks first.)"


@checked_class
class SimulatedUser:
    """A model that plays the user.

    Its calls have the role `simulator`, so that their cost is told apart from the agent's. Every turn is checked before
    it counts; a faulty one is asked for once more, and then the trial is an error of the simulator.

    Args:
        goal: What the user wants, in words: "You want your money back for a parcel that came late."
        facts: What the user knows, by name: `{"order number": "1042"}`. Names are looked for in what it says.
        never_says: What it must not say, each in words.
        persona: How it is and speaks, in words.
        language: The language that it speaks, as ISO 639-1 (`de`); that of its goal by default.
        model: Who plays it: a model's id, a provider, a model, or a function of the messages, plain or async, that
            returns a text. By default the one who judges.
        turn_judge: A judge that looks at each turn after the rules; nobody by default.

    Raises:
        UsageError: There is no goal, or one of the others is not what it should be.
    """

    def __init__(
        self,
        goal: str,
        *,
        facts: Mapping[str, Any] | None = None,
        never_says: Sequence[str] = (),
        persona: str = "",
        language: str = "",
        model: str | Provider | Model | Callable[..., Any] | None = None,
        turn_judge: TurnJudge | None = None,
    ) -> None:
        wrong = _misgiven(
            goal,
            facts,
            never_says=never_says,
            persona=persona,
            language=language,
            model=model,
            turn_judge=turn_judge,
        )
        if wrong:
            raise UsageError(f"SimulatedUser: {'; '.join(wrong)}")
        if isinstance(model, str):
            name_model(model)
        self.contract = UserContract(goal, dict(facts or {}), tuple(never_says), language)
        self.persona = persona
        self.model = model
        self.turn_judge = turn_judge

    def begin(self, trial: LiveTrial | None) -> UserSession:
        """A conversation begins.

        Raises:
            UsageError: No model is named, or there is no run to ask it.
        """
        model = self.model
        if model is None:
            if trial is not None and trial.judge is None:
                raise UsageError("no model plays the user", hint=NAME_A_MODEL)
            model = trial.judge if trial is not None else ""
        if hasattr(model, "generate") and not isinstance(model, type):
            return _Simulated(self, cast("Model", model).generate, trial)
        if callable(model) and not hasattr(model, "request"):
            return _Simulated(self, cast("Callable[..., Any]", model), trial, named(model))
        return _Simulated(self, lent_model(model, "user", trial).generate, trial)

    def __repr__(self) -> str:
        return f"SimulatedUser({self.contract.goal!r:.60})"


class _Simulated:
    def __init__(
        self,
        user: SimulatedUser,
        ask: Callable[..., Any],
        trial: LiveTrial | None,
        function: str = "",
    ) -> None:
        self.contract = user.contract
        self.turn_judge = user.turn_judge
        self._user = user
        self._ask = ask
        self._trial = trial
        self._function = function

    async def say(self, talk: Talk, faulty: tuple[str, Sequence[Fault]] | None) -> Said | None:
        messages = self._messages(talk)
        if faulty is not None:
            text, faults = faulty
            mistakes = "; ".join(map(str, faults))
            again = f"(That message cannot be sent: {mistakes}. Write the person's message again, and nothing else.)"
            messages += [Message("assistant", _cut(text) or "(nothing)"), Message("user", again)]
        if not self._function:
            return said_in(cast("Reply", await self._ask(chat_prompt(messages))))
        history = [{"role": m.role, "content": m.content} for m in messages]
        name = f"the simulated user {self._function}"
        # What the function itself asks of models is charged to the simulator, and not to the agent.
        with during("simulator"):
            result = await called(self._trial, self._ask, history, name=name)
        if isinstance(result, Reply):
            return said_in(result)
        if not isinstance(result, str):
            raise CodeError(f"{name} returned {result!r:.80}, not a text")
        return said_in(Reply(result))

    def _messages(self, talk: Talk) -> list[Message]:
        """What the model is asked: the agent's messages are to it those of a user, its own those of an assistant."""
        contract = self.contract
        latest = talk.messages[-MESSAGES_SHOWN:]
        left_out = len(talk.messages) - len(latest)
        opening = _BEGIN if not latest or latest[0].role == "user" else _GREETED
        if left_out:
            opening = f"(The conversation has begun; {left_out:,} earlier messages are left out.)"
        _, prompt = judge_prompt(
            PROMPT,
            {
                "goal": contract.goal,
                "facts": written_facts(contract.facts),
                "never": "\n".join(f"- {phrase}" for phrase in contract.never_says),
                "persona": self._user.persona,
                "language": contract.language,
                "stop": STOP,
                "opening": opening,
            },
        )
        flipped = [
            Message("assistant" if m.role == "user" else "user", _cut(str(m.content)))
            for m in latest
        ]
        return [*prompt.messages, *flipped]


def _cut(text: str) -> str:
    if len(text) <= CHARACTERS_SHOWN:
        return text
    half = CHARACTERS_SHOWN // 2
    return f"{text[:half]}\n(… {len(text) - 2 * half:,} characters left out …)\n{text[-half:]}"


def said_in(reply: Reply) -> Said:
    """What a model's reply has the user say."""
    text = reply.text if reply.spoken is None else reply.spoken
    faults: list[Fault] = []
    try:
        text = without_thinking(text)
    except JudgeError:
        faults.append(Fault("leaked-reasoning", "it ends in the middle of its thinking"))
    if reply.refused or reply.finish_reason == "content_filter":
        faults.append(Fault("broke-character", "the model refused"))
    if reply.tool_calls:
        faults.append(Fault("called-tool", ", ".join(call.name for call in reply.tool_calls)[:80]))
    if reply.finish_reason == "length":
        faults.append(Fault("too-long", "it was cut off"))
    words, ends, after = without_stop(text)
    words = _LABEL.sub("", words, count=1).strip()
    quoted = _QUOTED.fullmatch(words)
    # With marks inside, the first and the last may belong to two different quotations.
    if quoted and not re.search(r'["“”«»]', quoted[2]):
        words = quoted[2].strip()
    return Said(words, ends, after, tuple(faults))


def _misgiven(
    goal: object,
    facts: object,
    never_says: object,
    persona: object,
    language: object,
    model: object,
    turn_judge: object,
) -> list[str]:
    """What is wrong with the arguments; empty for nothing."""
    wrong: list[str] = []
    if not isinstance(goal, str) or not goal.strip():
        wrong.append(f"goal is {goal!r:.60}: say in words what the user wants")
    if facts is not None and not isinstance(facts, Mapping):
        wrong.append(f"facts is {facts!r:.60}: write {{'order number': '1042'}}")
    if isinstance(never_says, str) or not all(
        isinstance(one, str) for one in cast("Sequence[object]", never_says)
    ):
        wrong.append(f"never_says is {never_says!r:.60}: write a list of texts")
    for name, value in (("persona", persona), ("language", language)):
        if not isinstance(value, str):
            wrong.append(f"{name} is {value!r:.60}, not a text")
    if (
        isinstance(language, str)
        and language
        and not re.fullmatch(r"[A-Za-z]{2}(?:-\w+)?", language)
    ):
        wrong.append(f"language is {language!r:.60}: write its code, e.g. 'de'")
    answers = hasattr(model, "generate") or hasattr(model, "request") or callable(model)
    if isinstance(model, type) or not (
        model is None or answers or (isinstance(model, str) and model.strip())
    ):
        wrong.append(f"model is {model!r:.60}: write its id, or give a provider or a function")
    if turn_judge is not None and not isinstance(turn_judge, TurnJudge):
        wrong.append(f"turn_judge is {turn_judge!r:.60}: write TurnJudge(judge='…')")
    return wrong
