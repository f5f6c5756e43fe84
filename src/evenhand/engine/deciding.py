"""What a trial's scorers ask decision models: all that they ask one model at the same time goes in one request.

How this works: scorers run side by side. One that asks joins, and waits. When every scorer of the trial has either
ended or waits, nobody is left who could ask more, and what was asked is sent. One that asks several questions side by
side waits once. A scorer also waits, and is not counted
as busy, while parts of it are settled as expectations of their own, or while it waits for what another one asks
(`Trial.once`). So which questions share a request depends on what is expected, not on who was faster: a trial that is
run again makes the same requests, and the journal answers them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from evenhand.core.decision import (
    Decision,
    DecisionQuestion,
    DecisionRequest,
    read_decision,
    refused_decision,
    request_of,
)
from evenhand.core.message import CallRole, Message, Prompt, Reply
from evenhand.core.provider import Provider, TakesQuestions
from evenhand.core.record import Record
from evenhand.engine.budget import Spending
from evenhand.engine.call_context import Ask, Asked, add_asked, asking
from evenhand.engine.suspending import Suspended

T = TypeVar("T")
_FEWEST = 1
"""Questions in one request to a provider that does not say how many it takes."""

_Answer = tuple[DecisionRequest, str, Reply]
"""A request, the name of one of its questions, and the reply to it."""


class _Scorer:
    """How many of its questions a scorer waits for."""

    __slots__ = ("waits",)

    def __init__(self) -> None:
        self.waits = 0


_scorer: ContextVar[_Scorer | None] = ContextVar("evenhand_scorer", default=None)


async def as_scorer(work: Awaitable[T]) -> T:
    """Does this as a scorer of its own, which waits for itself alone."""
    token = _scorer.set(_Scorer())
    try:
        return await work
    finally:
        _scorer.reset(token)


class _Joined(Record, frozen=True):
    """A question that waits to be asked."""

    provider: Provider
    role: CallRole
    question: DecisionQuestion
    answer: asyncio.Future[tuple[_Answer, Asked]]


class Deciding:
    """The questions of one trial.

    Args:
        ask: Asks for the trial.
        spending: What the trial has spent.
    """

    __slots__ = ("_ask", "_busy", "_joined", "_looking", "_spending", "_tasks")

    def __init__(self, ask: Ask, spending: Spending) -> None:
        self._ask = ask
        self._spending = spending
        self._busy = 0
        self._joined: list[_Joined] = []
        self._looking = False
        self._tasks: dict[asyncio.Task[None], Sequence[_Joined]] = {}

    def begin(self, scorers: int = 1) -> None:
        """So many more scorers are under way."""
        self._busy += scorers

    def end(self) -> None:
        """A scorer is done."""
        self._busy -= 1
        self._look()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, one of them waits, and asks nothing."""
        scorer = _scorer.get() or _Scorer()
        scorer.waits += 1
        self._busy -= scorer.waits == 1
        self._look()
        try:
            yield
        finally:
            scorer.waits -= 1
            self._busy += scorer.waits == 0

    async def decide(
        self, provider: Provider, role: CallRole, questions: Sequence[DecisionQuestion]
    ) -> list[tuple[Decision, Reply]]:
        """The decision on each question, with the reply that it was in.

        Raises:
            JudgeError: The model gave no usable answer to one of them.
            ProviderError: There is no answer.
        """
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[tuple[_Answer, Asked]]] = []
        for question in questions:
            future: asyncio.Future[tuple[_Answer, Asked]] = loop.create_future()
            self._joined.append(_Joined(provider, role, question, future))
            futures.append(future)
        with self.waiting():
            try:
                landed = await asyncio.gather(*futures)
            finally:
                for future in futures:
                    future.cancel()
                await self._give_up()
        calls = dict.fromkeys(call for _, own in landed for call in own)
        add_asked(calls)
        return [(_read(answer), answer[2]) for answer, _ in landed]

    async def _give_up(self) -> None:
        """Forgets what nobody waits for any more; its requests are over when this returns."""
        self._joined = [one for one in self._joined if not one.answer.done()]
        unwanted = [
            task
            for task, group in self._tasks.items()
            if not task.done() and all(one.answer.cancelled() for one in group)
        ]
        for task in unwanted:
            task.cancel()
        if unwanted:
            await asyncio.wait(unwanted)

    def _look(self) -> None:
        if self._joined and self._busy <= 0 and not self._looking:
            self._looking = True
            # Those that were given something in this turn of the loop go on in the next one, and may ask for more.
            asyncio.get_running_loop().call_soon(self._look_again, 2)

    def _look_again(self, turns: int) -> None:
        if turns and self._busy <= 0:
            asyncio.get_running_loop().call_soon(self._look_again, turns - 1)
            return
        self._looking = False
        if self._busy > 0:
            return
        joined, self._joined = self._joined, []
        groups: dict[tuple[int, CallRole], list[_Joined]] = {}
        for one in joined:
            if not one.answer.done():
                groups.setdefault((id(one.provider), one.role), []).append(one)
        for group in groups.values():
            first = group[0].provider
            most = first.most_questions if isinstance(first, TakesQuestions) else _FEWEST
            # Sorted, so that which questions share a request doesn't depend on who asked first.
            names = request_of([one.question for one in group])[1]
            ordered = [one for _, one in sorted(zip(names, group, strict=True), key=lambda p: p[0])]
            for start in range(0, len(ordered), most):
                part = ordered[start : start + most]
                task = asyncio.ensure_future(self._send(part))
                self._tasks[task] = part
                task.add_done_callback(self._tasks.pop)

    async def _send(self, group: Sequence[_Joined]) -> None:
        request, names = request_of([one.question for one in group])
        text = request.text
        prompt = Prompt((Message("user", text),), text, task="decide", decisions=request)
        calls: Asked = []
        try:
            with asking(calls):
                reply = await self._ask(group[0].provider, prompt, group[0].role)
        except asyncio.CancelledError:
            for one in group:
                one.answer.cancel()
            raise
        except (Exception, Suspended) as error:  # noqa: BLE001 (whoever waits for it raises it)
            for one in group:
                if not one.answer.done():
                    one.answer.set_exception(error)
                    one.answer.exception()  # looked at: whoever waited may be gone
            return
        self._spending.add(reply, group[0].role)
        for one, name in zip(group, names, strict=True):
            if not one.answer.done():
                one.answer.set_result(((request, name, reply), calls))


def _read(answer: _Answer) -> Decision:
    request, name, reply = answer
    if reply.refused:
        raise refused_decision()
    return read_decision(request, name, reply.output)
