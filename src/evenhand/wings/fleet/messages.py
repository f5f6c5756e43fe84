"""What the driver of a fleet and its workers say to each other: tuples of plain data, in batches.

From the driver: `("trial", TrialOrder)`, `("answer", number, value, error)`, `("gate", account, seconds)`,
`("over",)` when there is nothing more to do.

From a worker: `("hello", Hello)` once it has the plan, `("ask", number, what, arguments)` for what it waits for,
`("tell", what, arguments)` for what it does not, `("result", index, result as JSON, its steps)`,
`("unsettled", index, error)`, `("alive",)` and at its end `("ended", why)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import field

from evenhand.core.plan import Plan
from evenhand.core.record import Record
from evenhand.core.run import CallEnd

Message = tuple[Any, ...]
BEAT_S = 1.0
"""A worker gives a sign of life so often."""

BuildPlan = Callable[[Mapping[str, Any]], AbstractContextManager[Plan]]
"""Builds the plan of what a run's record says was asked for; inside, it can be run."""


class WorkOrder(Record, frozen=True, kw_only=True):
    """What a worker is told when it starts.

    Attributes:
        build: Builds the plan; an importable function.
        limited: There is a budget, and money has to be set aside for each call.
        cached: The driver has a cache, and is asked for what others were answered.
        attempts: How often a call is sent at most; None for as often as always.
        time_limit_s: For one call of a user's function; None for what the plan says.
        seats: Trials that it may have under way.
        names: Environment variables that it should have.
    """

    build: BuildPlan
    record: Mapping[str, Any]
    limited: bool
    cached: bool
    attempts: int | None
    time_limit_s: float | None
    seats: int
    names: tuple[str, ...] = ()


class Hello(Record, frozen=True, kw_only=True):
    """What a worker says once it has the plan.

    Attributes:
        size: How many trials it has.
        version: The worker's Evenhand.
        missing: The environment variables that it should have, and has not.
        problem: Why it has no plan; empty where it has.
        hosts: Where its models are asked, as `hosts_of` has them.
    """

    fingerprint: str = ""
    size: int = 0
    version: str = ""
    missing: tuple[str, ...] = ()
    problem: str = ""
    hosts: tuple[str, ...] = ()


def hosts_of(plan: Plan) -> tuple[str, ...]:
    """The hosts that a plan's models are asked at, in order, without ports; empty where none is asked over HTTP."""
    accounts = (provider.account.partition(" #") for provider in plan.providers)
    return tuple(sorted({_host(address) for address, mark, _ in accounts if mark}))


def _host(address: str) -> str:
    try:
        return urlsplit(f"//{address}").hostname or address
    except ValueError:  # no address at all: calls will say so
        return address


class TrialOrder(Record, frozen=True):
    """A trial to settle.

    Attributes:
        index: Its place in the plan.
        known: The replies that it has received before, by request and number, which are not paid for again.
        kept: What the trials that it comes after kept, by their places.
        limit_s: Seconds that it may take; None for as long as it does.
        out_of_time: What to say when they are over.
    """

    index: int
    known: tuple[tuple[str, int, CallEnd], ...] = ()
    kept: Mapping[int, Any] = field(default_factory=dict[int, Any])
    limit_s: float | None = None
    out_of_time: str = ""


class LinkDown(ConnectionError):
    """The worker behind a link is gone."""


class Link(Protocol):
    """The way to one worker. Messages arrive in the order in which they were sent, each once, or not at all."""

    @property
    def name(self) -> str:
        """Where the worker is, for people."""
        ...

    async def receive(self) -> list[Message]:
        """What the worker has said since the last call; waits until there is something.

        Raises:
            LinkDown: It is gone.
        """
        ...

    def send(self, messages: list[Message]) -> None:
        """Says something to it. Nothing happens where it is gone."""
        ...

    def kill(self) -> None:
        """Ends it at once."""
        ...


class Cluster(Protocol):
    """Starts workers."""

    async def start(self, order: WorkOrder) -> Link:
        """A new worker, which says hello when it has the plan.

        Raises:
            StoreError: There is no room for one, or nothing answers.
        """
        ...

    async def close(self) -> None:
        """Ends all that was started."""
        ...
