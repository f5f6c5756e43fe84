"""In which role a trial calls models, for which expectation, and what calls that nobody lent a model for have come to.

An application asks models by itself, with its vendor's SDK. Its calls are found by a context variable, which follows
into the threads that plain functions run in and into the tasks that they start; `evenhand.recording` makes them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evenhand.core.errors import EvenhandError, ProviderError
from evenhand.core.message import CallRole
from evenhand.core.provider import Provider
from evenhand.engine.strangers import Strangers, Witness

phase: ContextVar[CallRole] = ContextVar("evenhand_phase", default="subject")
"""What a trial is doing: preparing, asking its subject, or judging."""


Asked = list[tuple[str, int]]
"""Calls of a trial, each by its request's key and its number among the trial's identical requests."""

asked: ContextVar[Asked | None] = ContextVar("evenhand_asked", default=None)
"""The calls that were made for the expectation that is being settled; None while none is."""


@contextmanager
def asking(calls: Asked) -> Iterator[None]:
    """Inside, calls are added to these."""
    token = asked.set(calls)
    try:
        yield
    finally:
        asked.reset(token)


def add_asked(calls: Iterable[tuple[str, int]]) -> None:
    """Has the expectation that is being settled, if any, rest on these calls, too."""
    mine = asked.get()
    if mine is not None:
        mine.extend(calls)


@contextmanager
def during(role: CallRole) -> Iterator[None]:
    """Inside, calls of the application's own have this role, unless it says another."""
    token = phase.set(role)
    try:
        yield
    finally:
        phase.reset(token)


class Home:
    """The loop that a run's trials live on, for as long as it lasts.

    Attributes:
        process: The process that it is in.
        strangers: What becomes of calls that belong to no trial; None where nobody looks.
    """

    __slots__ = ("_visitors", "loop", "over", "process", "strangers")

    def __init__(self, loop: asyncio.AbstractEventLoop, strangers: Strangers | None = None) -> None:
        self.loop = loop
        self.over = False
        self.process = os.getpid()
        self.strangers = strangers
        self._visitors: dict[str, Provider] = {}

    def look(self, trial: Witness) -> None:
        """A trial begins, is about to be judged, or to be over."""
        if self.strangers is not None:
            self.strangers.look(trial)

    def welcome(self, provider: Provider) -> None:
        """Remembers a provider that is in no plan, to close what it opened."""
        self._visitors[provider.account] = provider

    async def close(self) -> None:
        """Ends it: from now on an application's calls are no business of the run's."""
        self.over = True
        if self.strangers is not None:
            self.strangers.close()
        closing = (visitor.close() for visitor in self._visitors.values())
        await asyncio.gather(*closing, return_exceptions=True)


class OwnCalls:
    """The calls that one trial's application makes by itself.

    Attributes:
        tasks: Those under way.
        halted: What keeps the trial from a verdict, whatever the application makes of it.
        given_up: The requests that never got an answer, by key, for SDKs that would ask again at once.
        pending: What was asked in the background and isn't answered yet, by the address of its answer.
        unanswered: What the application got last, where that is no answer, and it hasn't asked again since.
    """

    __slots__ = ("given_up", "halted", "pending", "tasks", "unanswered")

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[object]] = set()
        self.halted: EvenhandError | None = None
        self.given_up: dict[str, ProviderError] = {}
        self.pending: dict[str, Provider] = {}
        self.unanswered: ProviderError | None = None

    async def over(self) -> None:
        """Waits for those that the application left running.

        Raises:
            EvenhandError: There can be no verdict.
        """
        if self.tasks:
            await asyncio.wait(self.tasks)
        error = self.halted or self.unanswered
        if error is not None:
            raise error

    def cancel(self) -> None:
        """Gives up those under way."""
        for task in self.tasks:
            task.cancel()
