"""A conversation between an agent and somebody who plays the user, in an eval.

How this works: the user speaks first, the agent answers, and so on, until the user has no more to say, `until` says
that it is over, or the turns are used up. A simulated user's turn is checked before the agent hears it: by rules, then
by a judge where one is named. A faulty turn is asked for once more, with what was wrong; if that is faulty, too, the
trial is an error of the simulator, whatever the eval makes of it: it says nothing of the agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evenhand.core.arguments import checked, checked_class
from evenhand.core.definition import TALK, brief
from evenhand.core.errors import SimulatorError, UsageError
from evenhand.core.expect import Expectation
from evenhand.core.json_shapes import as_mapping, is_whole
from evenhand.core.message import Message, Reply
from evenhand.core.provider import Provider
from evenhand.core.step import Step
from evenhand.doors.conversations.agents import Answers, answer_text, check_agent, lent_agent
from evenhand.doors.conversations.checking import TurnChecks
from evenhand.doors.conversations.fault import Fault
from evenhand.doors.conversations.talk import Ended, Talk
from evenhand.doors.conversations.turn_judge import METRIC, Ruled, StaysInRole
from evenhand.doors.conversations.user_digests import digest_of_talk, digests_of_user
from evenhand.doors.conversations.users import Said, UserSession, called, named, user_of
from evenhand.engine.trial import LiveTrial, present

MAX_TURNS = 10
HINT = (
    "The trial says nothing of the agent. Ask again with `evenhand resume --errors`, or have a stronger model play the "
    "user; a goal that names all that the user may need helps as well."
)
Until = Callable[[Talk], "bool | Awaitable[bool]"]


@checked_class
class Conversation:
    """A conversation that an eval has with an agent: `talk = await Conversation(agent, user, max_turns=12).run()`.

    Args:
        agent: A function, plain or async, of `messages` (all that was said, as `{"role": …, "content": …}`) or of
            `text` (what the user said last), which returns its answer; or a model, a provider, or a model's id.
        user: A list of lines; a function of the talk so far, which returns what the user says, or None to end;
            `StatefulUser`; or `SimulatedUser`, which a model plays.
        max_turns: The conversation ends after so many answers of the agent, those of `start` not counted.
        system: The system prompt, for an agent that is a model: a text, or a prompt that was filled in.
        start: What was said before, e.g. a greeting of the agent's, or the beginning of an earlier conversation:
            `Conversation.recorded("latest", case.id).until(3)`. What the user said last is answered first.
        until: A function of the talk so far, plain or async, asked after each answer: True ends the conversation.

    Raises:
        UsageError: One of them is not what it should be.
    """

    def __init__(
        self,
        agent: Callable[..., Any] | Answers | Provider | str,
        user: Any,
        *,
        max_turns: int = MAX_TURNS,
        system: Any = "",
        start: Talk | Iterable[Message | Mapping[str, Any] | Sequence[str]] = (),
        until: Until | None = None,
    ) -> None:
        self.system = system if isinstance(system, str) else str(getattr(system, "text", ""))
        check_agent(agent, system=bool(self.system))
        if not is_whole(max_turns) or max_turns < 1:  # pyright: ignore[reportUnnecessaryIsInstance] (users' code is not checked)
            raise UsageError(f"Conversation: max_turns is {max_turns!r}, not a number from 1")
        if until is not None and not callable(until):
            raise UsageError(
                f"Conversation: until is {until!r:.60}, not a function",
                hint='Write until=lambda talk: "goodbye" in talk.answer.lower().',
            )
        self.agent = agent
        self.user = user_of(user)
        self.max_turns = max_turns
        self.start = start if isinstance(start, Talk) else Talk.of(start)
        self.until = until

    @staticmethod
    @checked
    def recorded(
        run: str | Path, case: str, *, repeat: int = 0, variant: int | None = None
    ) -> Talk:
        """The conversation of a case in an earlier run, as far as it came, to look at or to go on from.

        Args:
            run: The run: its file, its id, or `latest`.
            case: The case's id.
            repeat: Which of its repeats, from 0.
            variant: Which variant, by its index; the first that has a conversation by default.

        Raises:
            UsageError: There is no such run, or it has no conversation of this case.
            StoreError: Its file cannot be read.
        """
        from evenhand.doors.conversations.tool_table import run_path  # noqa: PLC0415 (seldom wanted)
        from evenhand.store.encoding import written_case  # noqa: PLC0415 (seldom wanted)
        from evenhand.store.runfile import RunFile  # noqa: PLC0415 (seldom wanted)

        path = run_path(run)
        with RunFile.open(path) as file:
            for place, id_, index, number in file.places():
                if (id_, number) != (written_case(case), repeat) or variant not in (None, index):
                    continue
                trial = file.trial(place)
                fields = as_mapping(trial.kept if trial is not None else None)
                messages = fields.get("conversation")
                if isinstance(messages, list):
                    ended = cast("Ended", str(fields.get("ended", "open")))
                    return Talk.of(cast("list[list[str]]", messages), ended)
        raise UsageError(
            f"run {path.stem} has no conversation of case '{case}', repeat {repeat}",
            hint="`evenhand show` lists its cases.",
        )

    async def run(self) -> Talk:
        """Has the conversation.

        Returns:
            What was said. It is kept with the trial, as its output and for conversations that go on from it.

        Raises:
            SimulatorError: A simulated user's turn was faulty twice. The trial is an error, whatever becomes of this.
            ProviderError: A model gave no answer.
            CodeError: A function raised, took too long, or returned what it may not.
        """
        trial = present.get()
        if trial is not None and trial.over:
            trial = None
        return await _UnderWay(self, trial).run()


class _UnderWay:
    """A conversation while it is led."""

    def __init__(self, conversation: Conversation, trial: LiveTrial | None) -> None:
        self._conversation = conversation
        self._trial = trial
        self._agent = lent_agent(conversation.agent, conversation.system, trial)
        self._user: UserSession = conversation.user.begin(trial)
        self._messages: list[Message] = []
        self._reply: Reply | None = None
        self._put_right: list[str] = []
        self._rulings: list[tuple[int, Ruled]] = []
        self._turns = 0
        contract = self._user.contract
        self._checks = None if contract is None else TurnChecks(contract)
        for message in conversation.start.messages:
            self._add(message.role, str(message.content))
        self._judge = self._user.turn_judge
        if trial is not None:
            start, turns = conversation.start, conversation.max_turns
            digests = digests_of_user(conversation.user, start, turns, trial.judge)
            for part, own in digests.items():  # of several conversations, each counts
                earlier = trial.content.get(part)
                trial.content[part] = own if earlier is None else brief([earlier, own])
            number = sum(part.startswith(TALK) for part in trial.content)
            trial.content[f"{TALK}{number}"] = digest_of_talk(conversation.user, start)

    async def run(self) -> Talk:
        ended: Ended = "open"
        try:
            ended = await self._led()
        finally:
            self._agent.close()
            # A conversation that broke off is kept, too: what was said before that explains the error.
            talk = replace(self._talk(), ended=ended)
            self._keep(talk)
        if self._trial is not None and self._rulings:
            self._trial.expect(self._judged())
        return talk

    async def _led(self) -> Ended:
        answers = 0
        if self._messages and self._messages[-1].role == "user":
            # This answer completes what `start` began, so `max_turns` does not count it.
            await self._answered()
        while answers < self._conversation.max_turns:
            if answers and await self._is_over():
                return "agent"
            turn = await self._said()
            if turn is None:
                return "user"
            if turn.text:
                self._add("user", turn.text, ends=turn.ends)
                self._step("user", turn.text)
            if turn.ends:
                return "user"
            await self._answered()
            answers += 1
        return "agent" if await self._is_over() else "max_turns"

    def _add(self, role: str, text: str, *, ends: bool = False) -> None:
        self._messages.append(Message(role, text))
        self._turns += role == "user"
        if self._checks is not None:
            if role == "user":
                self._checks.user_said(text, ends=ends)
            else:
                self._checks.agent_said(text)

    def _talk(self) -> Talk:
        return Talk(tuple(self._messages), faults=tuple(self._put_right))

    async def _answered(self) -> None:
        self._reply = await self._agent.answer(self._messages)
        self._add("assistant", answer_text(self._reply))
        self._step("assistant", answer_text(self._reply))

    def _step(self, role: str, text: str) -> None:
        """Notes what was said as a step of the trial."""
        if self._trial is not None and not self._trial.over:
            self._trial.step(Step("message", role, result=text, status="ok", duration_s=0.0))

    async def _is_over(self) -> bool:
        until = self._conversation.until
        if until is None:
            return False
        name = f"until, {named(until)}"
        return bool(await called(self._trial, until, self._talk(), name=name))

    async def _said(self) -> Said | None:
        """What the user says next, free of mistakes as far as they can be seen; None where it has no more to say.

        Raises:
            SimulatorError: It made a mistake twice.
        """
        talk = self._talk()
        faulty: tuple[str, Sequence[Fault]] | None = None
        tried: list[str] = []
        while len(tried) < 2:
            turn = await self._user.say(talk, faulty)
            faults = [] if turn is None else await self._faults(turn, talk)
            if not faults:
                if tried:
                    self._put_right.append(f"turn {self._turns + 1}: {tried[0]}")
                return turn
            tried.append("; ".join(map(str, faults)))
            faulty = (turn.text if turn is not None else "", faults)
        raise await self._failed(tried)

    async def _faults(self, said: Said, talk: Talk) -> Sequence[Fault]:
        if self._checks is None or self._user.contract is None:
            return ()
        faults = [*said.faults, *self._checks.faults(said.text, ends=said.ends, after=said.after)]
        if faults or self._judge is None or self._trial is None:
            return faults
        contract = self._user.contract
        ruled = await self._judge.ruling(said.text, talk, contract, self._trial, ends=said.ends)
        self._rulings.append((self._turns + 1, ruled))
        fault = ruled.fault()
        return () if fault is None else (fault,)

    async def _failed(self, tried: Sequence[str]) -> SimulatorError:
        """The error that the trial ends in."""
        turn = self._turns + 1
        error = SimulatorError(
            f"the simulated user, turn {turn}: {tried[0]}; asked again: {tried[1]}", hint=HINT
        )
        if self._trial is not None:
            self._trial.halt(error)
            if self._rulings:
                await self._trial.now(self._judged())
        return error

    def _judged(self) -> Expectation:
        """What the judge said of the user, as an outcome that does not count for the agent's verdict."""
        talk = self._talk().as_text()
        return Expectation(talk, StaysInRole(tuple(self._rulings)), weight=0.0, metric=METRIC)

    def _keep(self, talk: Talk) -> None:
        """Keeps the conversation with its trial."""
        trial = self._trial
        if trial is None or trial.over:
            return
        trial.keep(
            {
                "conversation": [[message.role, message.content] for message in talk.messages],
                "ended": talk.ended,
            }
        )
        last = self._reply or Reply("")
        trial.reply = Reply(
            talk.as_text(), model=last.model, metadata=last.metadata, finish_reason=talk.ended
        )
        if talk.messages:
            trial.prompt_text = str(talk.messages[0].content)
        if talk.faults:
            trial.mark({"simulator": list(talk.faults)})
