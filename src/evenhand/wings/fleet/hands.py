"""A worker, as its driver knows it: what it has been lent, and what it is at work on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from evenhand.core.run import CallStart, TrialResult
from evenhand.engine.budget import Reservation
from evenhand.engine.pace import Permit
from evenhand.wings.fleet.messages import Hello, Link, Message

SILENT_S = 0.25
"""A worker takes a few milliseconds to say what it does with a permit. One that takes so long may be gone."""


class WorkerLost(Exception):
    """The worker of a trial is gone."""


@dataclass(eq=False, kw_only=True)
class Hand:
    """One worker from its start to its end. A worker that takes its place is another one, of a later epoch.

    Attributes:
        epoch: Which of all workers that there were.
        hello: What it said of its plan; None before.
        alive: What it says counts. Once it does not, it never does again.
        dropped: Nobody waits any more for a trial that it is at work on.
        over: It has been told that there is nothing more to do.
        trials: Those it is at work on.
        calls: Those it has begun and not ended.
        permits: Those it holds, with their accounts.
        reservations: Money that is set aside for it.
        claims: The answers that it has said it would ask for, by request and draw.
        waiting: What is being done for it that may take long, and need not be done where it is gone.
        writing: What is being written for it, and is finished whatever becomes of it.
    """

    epoch: int
    link: Link
    hello: Hello | None = None
    alive: bool = True
    dropped: bool = False
    over: bool = False
    trials: dict[int, asyncio.Future[TrialResult]] = field(
        default_factory=dict[int, "asyncio.Future[TrialResult]"]
    )
    calls: dict[int, CallStart] = field(default_factory=dict[int, CallStart])
    permits: dict[int, tuple[str, Permit]] = field(default_factory=dict[int, tuple[str, Permit]])
    reservations: dict[int, Reservation] = field(default_factory=dict[int, Reservation])
    claims: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    waiting: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])
    writing: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])
    batch: list[Message] = field(default_factory=list[Message])
    _lent_at: float | None = None
    _spoke: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return self.link.name

    @property
    def ready(self) -> bool:
        """Whether the worker takes trials."""
        return self.alive and self.hello is not None and not self.over

    @property
    def silent(self) -> bool:
        """Whether the worker has said nothing for a while since it was lent a permit."""
        return (
            self._lent_at is not None
            and asyncio.get_running_loop().time() - self._lent_at > SILENT_S
        )

    def lend(self) -> None:
        """The worker is lent a permit, and should say something soon."""
        if self._lent_at is None:
            self._lent_at = asyncio.get_running_loop().time()
            self._spoke.clear()

    def spoke(self) -> None:
        """The worker has said something."""
        self._lent_at = None
        self._spoke.set()

    async def speaks(self) -> None:
        """Waits until it says something."""
        await self._spoke.wait()

    def say(self, message: Message) -> None:
        """Puts a message into the next batch for it."""
        self.batch.append(message)
        if len(self.batch) == 1:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Sends the batch."""
        batch, self.batch = self.batch, []
        if batch and self.alive:
            self.link.send(batch)
