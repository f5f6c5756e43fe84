"""Workers that are scripts: what they say is put into their links by hand, on a loop that never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.engine.conftest import FakeTime

from evenhand import __version__
from evenhand.core.errors import StoreError
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.engine.backing import Backing, CallCounts
from evenhand.engine.budget import Budget
from evenhand.engine.rate_limits import Limits
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.store.encoding import write_result
from evenhand.wings.fleet.driver import Driver, Fleet
from evenhand.wings.fleet.messages import Hello, LinkDown, Message, WorkOrder

FINGERPRINT = "f"
SIZE = 8


class ScriptedLink:
    """The way to a worker that says what a test has it say."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[Message] = []
        self.killed = False
        self._says: asyncio.Queue[list[Message] | LinkDown] = asyncio.Queue()

    async def receive(self) -> list[Message]:
        said = await self._says.get()
        if isinstance(said, LinkDown):
            raise said
        return said

    def send(self, messages: list[Message]) -> None:
        self.heard += messages

    def kill(self) -> None:
        self.killed = True

    def says(self, *messages: Message) -> None:
        """The worker says this."""
        self._says.put_nowait(list(messages))

    def dies(self) -> None:
        """The worker is gone."""
        self._says.put_nowait(LinkDown("its process is gone"))

    def settles(self, index: int) -> None:
        """The worker has settled a trial."""
        result = TrialResult(
            index=index,
            case=f"c{index}",
            variant=0,
            repeat=0,
            outcome="pass",
            score=1.0,
            output=f"by {self.name}",
        )
        self.says(("result", index, write_result(result), ()))

    def orders(self) -> dict[int, Any]:
        """The trials that it was sent, by their places."""
        return {m[1].index: m[1] for m in self.heard if m[0] == "trial"}

    def answer(self, number: int) -> tuple[Any, Any]:
        """What it was answered, and the error; it was."""
        return next((m[2], m[3]) for m in self.heard if m[:2] == ("answer", number))


class ScriptedCluster:
    """Starts such workers, each of which says hello, as many as there is room for."""

    def __init__(self, hello: Hello | None = None, room: int = 100) -> None:
        self.links: list[ScriptedLink] = []
        self.hello = hello
        self.room = room

    async def start(self, order: WorkOrder) -> ScriptedLink:
        del order
        if len(self.links) == self.room:
            raise StoreError("there is no room")
        link = ScriptedLink(f"node {len(self.links)}")
        self.links.append(link)
        if self.hello is not None:
            link.says(("hello", self.hello))
        return link

    async def close(self) -> None:
        """Nothing is left."""


@dataclass
class FakeJournal:
    """What was written."""

    begun: list[CallStart] = field(default_factory=list[CallStart])
    ended: dict[int, CallEnd] = field(default_factory=dict[int, CallEnd])
    dropped: list[int] = field(default_factory=list[int])
    noted: list[CallStart] = field(default_factory=list[CallStart])
    resumed: bool = False

    async def begin(self, start: CallStart) -> int:
        self.begun.append(start)
        return len(self.begun)

    async def end(self, call: int, end: CallEnd) -> None:
        self.ended[call] = end

    def drop(self, call: int, attempts: int, wasted: int) -> None:
        self.dropped.append(call)

    def note(self, start: CallStart, end: CallEnd) -> None:
        self.noted.append(start)

    def replies(self, index: int) -> list[tuple[str, int, CallEnd]]:
        return [
            (start.key, start.nth, self.ended[number])
            for number, start in enumerate(self.begun, 1)
            if start.trial == index and number in self.ended
        ]


@dataclass
class Scene:
    """A driver with scripted workers, and what stands behind it."""

    loop: FakeTime
    journal: FakeJournal = field(default_factory=FakeJournal)
    notes: list[str] = field(default_factory=list[str])

    def backing(self, ceiling: int = 10, most_usd: float | None = None) -> Backing:
        """The journal, and accounts on the loop's clock."""
        note = self.notes.append
        limits = Limits(ceiling, ceiling, RetryPolicy(), self.loop.time)
        journal: Any = self.journal
        return Backing(
            journal=journal,
            cache=None,
            limits=limits,
            budget=Budget(most_usd, 0.0, note),
            counts=CallCounts(),
            note=note,
        )

    def driver(self, cluster: ScriptedCluster, workers: int = 2, seats: int = 4) -> Driver:
        """It has not started."""
        plan: Any = SimpleNamespace(providers=(), fingerprint=FINGERPRINT, size=SIZE)
        fleet = Fleet(cluster=cluster, workers=workers, build=_no_plan, record={}, seats=seats)
        return Driver(
            fleet=fleet,
            plan=plan,
            order=WorkOrder(
                build=_no_plan,
                record={},
                limited=False,
                cached=False,
                attempts=None,
                time_limit_s=None,
                seats=seats,
            ),
        )


def _no_plan(record: object) -> Any:
    raise AssertionError(record)


HELLO = Hello(fingerprint=FINGERPRINT, size=SIZE, version=__version__)


@pytest.fixture
def scene() -> Iterator[Scene]:
    """On a loop that never waits."""
    loop = FakeTime()
    yield Scene(loop)
    while tasks := asyncio.all_tasks(loop):
        for task in tasks:
            task.cancel()
        loop.run(asyncio.wait(tasks))
    loop.close()


def start_of(trial: int, key: str = "k") -> CallStart:
    """A call of a trial's."""
    return CallStart(trial, key, 0, "subject", "m", b"{}", None)


async def turns(count: int = 12) -> None:
    """Lets everybody do what they can."""
    for _ in range(count):
        await asyncio.sleep(0)


def live(index: int) -> Any:
    """A trial that has begun."""
    planned = SimpleNamespace(index=index, after=())
    given_up = lambda error: ("given up", str(error))  # noqa: E731
    return SimpleNamespace(planned=planned, limit_s=None, out_of_time="", given_up=given_up)
