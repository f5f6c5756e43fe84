"""A worker of a fleet: builds the plan, settles the trials that it is sent, and has the driver keep what comes of it.

How this works: a worker runs the same engine as any run. Its trials come from the driver instead of the plan's order
(`Incoming`), its calls go through a desk whose journal, cache, limits and budget are the driver's (`far`). The plan is
walked up to the trial that is wanted; what lies behind is remembered for a while, and walked again where it is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from asyncio import sleep
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, UsageError, first_line
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.scratch import ScratchFolder
from evenhand.core.secrets import known
from evenhand.core.version import __version__
from evenhand.engine.code import CodeHost
from evenhand.engine.process import own_process
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.engine.runner import Runner
from evenhand.engine.session import Session
from evenhand.engine.surroundings import run_surrounded
from evenhand.engine.tasks import run_to_end
from evenhand.engine.trial import LiveTrial
from evenhand.wings.fleet.far import (
    DriverLine,
    FarAnswers,
    FarBudget,
    FarDesk,
    FarJournal,
    FarLimits,
    Open,
)
from evenhand.wings.fleet.messages import BEAT_S, Hello, Message, TrialOrder, WorkOrder, hosts_of

REMEMBERED = 100_000
"""So many trials that were walked past stay at hand."""


class Walk:
    """Finds trials of a plan by their places."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._trials: Iterator[PlannedTrial] = iter(())
        self._next = plan.size  # nothing has been begun
        self._near: OrderedDict[int, PlannedTrial] = OrderedDict()

    def at(self, index: int) -> PlannedTrial:
        """The trial at this place.

        Raises:
            UsageError: The plan has none: its files have changed since it was counted.
        """
        if (near := self._near.get(index)) is not None:
            return near
        # A plan can only be walked forward: for a trial further back it begins anew.
        if index < self._next:
            self._trials, self._next = self._plan.trials(), 0
        for planned in self._trials:
            self._next = planned.index + 1
            self._near[planned.index] = planned
            if len(self._near) > REMEMBERED:
                self._near.popitem(last=False)
            if planned.index == index:
                return planned
        raise UsageError(
            f"the plan has no trial {index}", hint="Its files changed while it was run."
        )


class Incoming:
    """The trials that the driver sends. Implements `evenhand.engine.backing.TrialSource`."""

    def __init__(self, walk: Walk, open_: Open) -> None:
        self._walk = walk
        self._open = open_
        self._waiting: deque[int] = deque()
        self._callers: deque[asyncio.Future[None]] = deque()
        self._ended = False

    def add(self, index: int) -> None:
        """A trial has come."""
        self._waiting.append(index)
        self._wake(1)

    async def next(self) -> PlannedTrial | None:
        while not self._waiting:
            if self._ended:
                return None
            caller: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._callers.append(caller)
            await caller
        planned = self._walk.at(self._waiting.popleft())
        # Comparing, and waiting for others, is the driver's.
        return replace(planned, contest=None, alone=False)

    def done(self, planned: PlannedTrial) -> None:
        self._open.orders.pop(planned.index, None)

    def end(self) -> None:
        self._ended = True
        self._wake(len(self._callers))

    def _wake(self, count: int) -> None:
        while count and self._callers:
            caller = self._callers.popleft()
            # One that was cancelled takes no trial, and another one is woken in its place.
            if not caller.done():
                caller.set_result(None)
                count -= 1


class FarRunner(Runner):
    """Settles the trials that a worker is sent."""

    line: DriverLine
    open: Open

    def _limit(self, trial: LiveTrial) -> None:
        order = self.open.orders.get(trial.planned.index)
        if order is not None and order.limit_s is not None:
            trial.limit_s, trial.out_of_time = order.limit_s, order.out_of_time

    def _kept_by(self, index: int) -> Any:
        # Another worker may have settled that one: its value comes with the order.
        return next(
            (order.kept[index] for order in self.open.orders.values() if index in order.kept), None
        )

    def _unsettled(self, trial: LiveTrial, error: EvenhandError) -> None:
        # Whether the run has to end is the driver's to say.
        self.line.say(("unsettled", trial.planned.index, error))


class Worker:
    """Works for a driver until that says that it is over.

    Args:
        send: Takes batches of messages to the driver; any thread may call it.
    """

    def __init__(self, order: WorkOrder, send: Callable[[list[Message]], None]) -> None:
        self._order = order
        self._send = send
        self._early: list[Message] = []
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = threading.Event()
        self._stopped = False
        self._take: Callable[[list[Message]], None] = lambda _: None

    def deliver(self, messages: list[Message]) -> None:
        """Takes messages of the driver's. Any thread may call it."""
        with self._lock:
            if self._loop is None:
                self._early += messages
                return
            loop = self._loop
        with contextlib.suppress(RuntimeError):  # it has ended in this very moment
            loop.call_soon_threadsafe(self._take, messages)

    def run(self) -> None:
        """Works, and returns when it is over."""
        beats = threading.Thread(target=self._beat, name="evenhand-beat", daemon=True)
        beats.start()
        why = ""
        try:
            # Before anything can fail: messages of errors must show no key.
            known.learn_environment(os.environ)
            with own_process():
                why = run_to_end(self._work())
        except EvenhandError as error:
            why = str(error)
        except BaseException as error:  # noqa: BLE001 (whatever it is, the driver has to hear of it)
            why = first_line(error)
        finally:
            self._over.set()
            self._send([("ended", why)])

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            self._send([("alive",)])

    async def _work(self) -> str:
        order = self._order
        opened = contextlib.ExitStack()
        try:
            plan = opened.enter_context(order.build(order.record))
            missing = _missing(order.names)
            hello = Hello(
                fingerprint=plan.fingerprint,
                size=plan.size,
                version=__version__,
                missing=missing,
                hosts=hosts_of(plan),
            )
        except EvenhandError as error:
            hello = Hello(version=__version__, missing=_missing(order.names), problem=str(error))
            self._send([("hello", hello)])
            return ""
        line = DriverLine(self._send, asyncio.get_running_loop())
        line.say(("hello", hello))
        with opened, ScratchFolder("worker") as folder:
            await self._settle(plan, line, Path(folder) / "worker.running")
        return ""

    async def _settle(self, plan: Plan, line: DriverLine, crumbs: Path) -> None:
        order = self._order
        open_ = Open()
        journal, incoming = FarJournal(line, open_), Incoming(Walk(plan), open_)
        policy = RetryPolicy() if order.attempts is None else RetryPolicy(attempts=order.attempts)
        limits, budget = FarLimits(line, policy), FarBudget(line, limited=order.limited)

        def note(text: str) -> None:
            line.tell("say", text)

        host = CodeHost(order.time_limit_s or plan.options.time_limit_s, crumbs)
        desk = FarDesk(
            journal=journal,
            cache=FarAnswers(line) if order.cached else None,
            limits=limits,
            budget=budget,
            host=host,
            delay_s=plan.options.delay_s,
        )
        desk.line = line
        session = Session(
            plan=plan,
            journal=journal,
            desk=desk,
            limits=limits,
            budget=budget,
            host=host,
            concurrency=order.seats,
            note=note,
        )
        runner = FarRunner(session, source=incoming)
        runner.line, runner.open = line, open_

        def take(messages: list[Message]) -> None:
            for kind, *rest in messages:
                if kind == "answer":
                    line.answered(*rest)
                elif kind == "trial":
                    trial: TrialOrder = rest[0]
                    journal.expect(trial)
                    incoming.add(trial.index)
                elif kind == "gate":
                    limits.account(rest[0]).close_for(rest[1])
                else:
                    incoming.end()

        # What came before the loop ran is taken in its order, and nothing gets in between.
        with self._lock:
            self._take, self._loop = take, asyncio.get_running_loop()
            early, self._early = self._early, []
        take(early)
        try:
            await run_surrounded(runner, session, (crumbs,))
        finally:
            await sleep(0)  # lets the last batch go


def _missing(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if not os.environ.get(name))
