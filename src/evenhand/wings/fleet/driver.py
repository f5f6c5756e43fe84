"""The driver of a fleet: it keeps the plan, the run file, the limits and the budget, and has workers settle trials.

How this works: the run is the same as any other, but that a trial is settled by a worker (see `worker`): it is sent
out, and its result comes home. Order, contests, conversations, deciding, progress, signals and the run file are where
they always are. What a worker does on the way is done at the `counter`.

A worker that is gone, or silent for too long, is given up: it is killed, what it was lent is taken back, its trials go
to others with all replies that it had received, and another worker takes its place. What it says after that, it says to
nobody. A trial whose workers died three times is an error: it may be what kills them.
"""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections import Counter as Tally
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError, EvenhandError, StoreError, UsageError, first_line
from evenhand.core.packed_steps import read_steps
from evenhand.core.plan import Plan
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.version import __version__
from evenhand.engine.backing import Backing, Crew, Terms
from evenhand.engine.trial import LiveTrial
from evenhand.store.decoding import read_result
from evenhand.wings.fleet.counter import Counter
from evenhand.wings.fleet.hands import Hand, WorkerLost
from evenhand.wings.fleet.messages import (
    BuildPlan,
    Cluster,
    Hello,
    LinkDown,
    Message,
    TrialOrder,
    WorkOrder,
    hosts_of,
)

PATIENCE_S = 20.0
"""A worker that gives no sign of life for so long is given up; a healthy one gives one each second."""
LAST_WORDS_S = 10.0
"""So long may a worker take to end when all is done."""
DEATHS = 3
"""A trial that so many workers died of is an error."""
IN_A_ROW = 10
"""So many deaths without a result between them end the run; before anything is sent, DEATHS do."""


class Fleet(Record, frozen=True, kw_only=True):
    """So many workers of a cluster. Implements `evenhand.engine.backing.Elsewhere`.

    Attributes:
        cluster: Starts them.
        build: Builds the plan there; an importable function.
        names: Environment variables that the workers need.
        seats: Trials that each worker has under way at most; None for as many as are under way at all.
        patience_s: See PATIENCE_S.
    """

    cluster: Cluster
    workers: int
    build: BuildPlan
    record: Mapping[str, Any]
    names: tuple[str, ...] = ()
    seats: int | None = None
    patience_s: float = PATIENCE_S

    @contextlib.asynccontextmanager
    async def started(self, plan: Plan, terms: Terms) -> AsyncIterator[Crew]:
        order = WorkOrder(
            build=self.build,
            record=self.record,
            limited=terms.limited,
            cached=terms.cached,
            attempts=terms.attempts,
            time_limit_s=terms.time_limit_s,
            seats=self.seats or terms.concurrency,
            names=self.names,
        )
        driver = Driver(fleet=self, plan=plan, order=order)
        try:
            await driver.start()
            yield driver
        finally:
            await driver.over()
            await self.cluster.close()


@dataclass(eq=False, kw_only=True)
class Driver:
    """Drives the workers of one run. Implements `evenhand.engine.backing.Crew`."""

    fleet: Fleet
    plan: Plan
    order: WorkOrder
    _hands: list[Hand] = field(default_factory=list[Hand])
    _listening: dict[Hand, asyncio.Task[None]] = field(
        default_factory=dict[Hand, "asyncio.Task[None]"]
    )
    _starting: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _deaths: Tally[int] = field(default_factory=Tally[int])
    _died: set[int] = field(default_factory=set[int])
    _in_a_row: int = 0
    _epoch: int = 0
    _backing: Backing | None = None
    _counter: Counter | None = None
    _problem: EvenhandError | None = None
    _closing: bool = False

    async def start(self) -> None:
        """Starts the workers, and waits until all of them have the plan.

        Raises:
            UsageError: One has another plan, or lacks something.
            StoreError: None could be started.
        """
        started = await asyncio.gather(
            *(self._one() for _ in range(self.fleet.workers)), return_exceptions=True
        )
        errors = [error for error in started if isinstance(error, BaseException)]
        if errors:
            raise errors[0]
        while self._problem is None and (
            self._starting or not all(hand.hello for hand in self._hands)
        ):
            await self._change()
        if self._problem is not None:
            raise self._problem

    def use(self, backing: Backing) -> None:
        self._backing = backing
        self._counter = Counter(backing, self._announce)

    async def __call__(self, trial: LiveTrial) -> TrialResult:
        """Has a worker settle a trial; see `evenhand.engine.backing.SettleElsewhere`."""
        index = trial.planned.index
        while True:
            hand = await self._free()
            future: asyncio.Future[TrialResult] = asyncio.get_running_loop().create_future()
            hand.trials[index] = future
            try:
                hand.say(("trial", self._order_of(trial)))
                result = await future
            except asyncio.CancelledError:
                hand.dropped = True
                raise
            except WorkerLost:
                self._deaths[index] += 1
                if self._deaths[index] >= DEATHS:
                    return trial.given_up(
                        CodeError(
                            f"{DEATHS} workers died while they were at work on it",
                            hint="It may take too much memory. `evenhand resume` tries it again, here or with a fleet.",
                        )
                    )
            else:
                self._in_a_row = 0
                return result
            finally:
                if hand.trials.get(index) is future:
                    del hand.trials[index]
                self._changed.set()

    def _order_of(self, trial: LiveTrial) -> TrialOrder:
        planned, backing = trial.planned, self._backing
        assert backing is not None  # noqa: S101 (trials come after `use`)
        again = backing.journal.resumed or planned.index in self._died
        values = {index: trial.kept(index) for index in planned.after}
        return TrialOrder(
            planned.index,
            tuple(backing.journal.replies(planned.index)) if again else (),
            {index: value for index, value in values.items() if value is not None},
            trial.limit_s,
            trial.out_of_time,
        )

    async def _free(self) -> Hand:
        """The worker with the fewest trials, once there is one.

        Raises:
            StoreError: None is left.
        """
        while True:
            if self._problem is not None:
                raise self._problem
            ready = [
                hand for hand in self._hands if hand.ready and len(hand.trials) < self.order.seats
            ]
            if ready:
                return min(ready, key=lambda hand: (len(hand.trials), hand.epoch))
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # Workers come and go

    async def _one(self) -> None:
        link = await self.fleet.cluster.start(self.order)
        self._epoch += 1
        hand = Hand(epoch=self._epoch, link=link)
        self._hands.append(hand)
        self._listening[hand] = asyncio.ensure_future(self._listen(hand))

    async def _listen(self, hand: Hand) -> None:
        why, taken_away = "it ended", False
        try:
            while hand.alive:
                async with asyncio.timeout(self.fleet.patience_s):
                    messages = await hand.link.receive()
                hand.spoke()
                for message in messages:
                    if message[0] == "ended":
                        why = message[1] or why
                        return
                    self._heard(hand, message)
        except TimeoutError:
            why = f"it gave no sign of life for {self.fleet.patience_s:g} s"
        except LinkDown as error:
            why, taken_away = str(error) or "its process is gone", True
        except EvenhandError as error:
            self._problem = self._problem or error
        except Exception as error:  # noqa: BLE001 (a driver that hears nothing would wait without end)
            self._problem = self._problem or _broken(error)
        finally:
            await self._lost(hand, why, taken_away=taken_away)

    def _heard(self, hand: Hand, message: Message) -> None:
        kind, *rest = message
        counter = self._counter
        if kind == "hello":
            self._greeted(hand, rest[0])
        elif kind == "result":
            future = hand.trials.get(rest[0])
            # A worker that was given up may still answer: its trial is another one's by now.
            if future is not None and not future.done():
                future.set_result(replace(read_result(rest[1]), steps=read_steps(rest[2])))
        elif kind == "unsettled":
            future = hand.trials.get(rest[0])
            if future is not None and not future.done():
                future.set_exception(rest[1])
        elif counter is not None and kind == "ask":
            counter.ask(hand, *rest)
        elif counter is not None and kind == "tell":
            counter.tell(hand, *rest)

    def _greeted(self, hand: Hand, hello: Hello) -> None:
        problem = self._unfit(hand, hello)
        if problem is None:
            hand.hello = hello
        else:
            self._problem = self._problem or problem
        self._changed.set()

    def _unfit(self, hand: Hand, hello: Hello) -> UsageError | None:
        nothing = "Nothing was sent." if self._backing is None else "The run stops."
        # Before the plan is compared: another version may well have another plan of the same files.
        if hello.version != __version__:
            return UsageError(
                f"the worker on {hand.name} has Evenhand {hello.version}, and this is {__version__}",
                hint=f"Install the same version on all nodes. {nothing}",
            )
        if hello.missing:
            names = ", ".join(hello.missing)
            return UsageError(
                f"the worker on {hand.name} lacks environment variables: {names}",
                hint=f"Values are never sent. Set them on the nodes before Ray is started there. {nothing}",
            )
        if hello.problem:
            return UsageError(
                f"the worker on {hand.name} has no plan: {hello.problem}",
                hint="On a cluster, workers have the files that are sent with the folder, and their nodes' packages."
                f" {nothing}",
            )
        if (hello.fingerprint, hello.size) != (self.plan.fingerprint, self.plan.size):
            return UsageError(
                f"the worker on {hand.name} has another plan: it read other files, or code and packages that differ",
                hint=f"Run from the folder that holds all of the plan's files; it is sent to the workers. {nothing}",
            )
        here = hosts_of(self.plan)
        if hello.hosts != here:
            there = " and ".join(hello.hosts) or "nobody"
            return UsageError(
                f"the worker on {hand.name} asks {there}, and this machine {' and '.join(here) or 'nobody'}",
                hint="Set the variables with addresses, e.g. OPENAI_BASE_URL, on the nodes before Ray is started there."
                f" {nothing}",
            )
        return None

    async def _lost(self, hand: Hand, why: str, *, taken_away: bool) -> None:
        """A worker is gone, or is given up."""
        was_alive, hand.alive = hand.alive, False
        # Dead before its permits and reservations go back: it must send nothing that nobody counts.
        hand.link.kill()
        if self._counter is not None:
            await self._counter.take_back(hand)
        if hand in self._hands:
            self._hands.remove(hand)
        self._listening.pop(hand, None)
        # Those who take them over get the replies that are in the journal.
        self._died.update(hand.trials)
        for future in hand.trials.values():
            if not future.done():
                future.set_exception(WorkerLost(why))
        if was_alive and not self._closing and not hand.over:
            self._replace(hand, why, taken_away=taken_away)
        self._changed.set()

    def _replace(self, hand: Hand, why: str, *, taken_away: bool) -> None:
        self._in_a_row += 1
        backing = self._backing
        at_first = DEATHS if taken_away else 1  # one that hangs or ends by itself would do so again
        if self._in_a_row >= (at_first if backing is None else IN_A_ROW):
            self._problem = self._problem or StoreError(
                f"the worker on {hand.name} is gone: {why}",
                hint="Nothing was sent."
                if backing is None
                else f"{IN_A_ROW} workers died in a row. `evenhand resume` continues without paying twice.",
            )
            return
        trials = len(hand.trials)
        what = f"; {trials} trial{'s'[: trials != 1]} under way go to others" if trials else ""
        if backing is not None:
            backing.note(f"the worker on {hand.name} is gone: {why}{what}")
        task = asyncio.ensure_future(self._again())
        self._starting.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, starting: asyncio.Task[None]) -> None:
        self._starting.discard(starting)
        self._changed.set()

    async def _again(self) -> None:
        """Starts a worker in the place of one that is gone; without it, the others go on."""
        try:
            await self._one()
        except EvenhandError as error:
            # Two that fail in the same turn must not each take the other for one that may yet succeed.
            self._starting.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            if self._backing is None:
                self._problem = self._problem or error
            else:
                self._backing.note(f"no worker takes its place: {error.message}")
            if not self._starting and not any(hand.alive for hand in self._hands):
                self._problem = self._problem or StoreError(
                    f"no worker is left: {error.message}",
                    hint="`evenhand resume` continues without paying twice, with another fleet or none.",
                )
        self._changed.set()

    def _announce(self, message: Message) -> None:
        for hand in self._hands:
            hand.say(message)

    async def over(self) -> None:
        """Tells all workers that it is over, and waits for what they still have to say."""
        self._closing = True
        for task in self._starting:
            task.cancel()
        for hand in self._hands:
            hand.over = True
            hand.say(("over",))
            hand.flush()
        # A copy: a worker that ends takes itself out.
        listening = list(self._listening.values())
        for hand, task in self._listening.items():
            if hand.dropped or hand.hello is None:  # nobody waits for what it is at work on
                task.cancel()
        if listening:
            _, late = await asyncio.wait(listening, timeout=LAST_WORDS_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)


def _broken(error: Exception) -> StoreError:
    """What to say of a mistake of ours: the run ends, and what was received is kept."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return StoreError(
        f"the fleet ends with an error of Evenhand's own: {first_line(error)}"
        f" ({Path(place.filename).name}:{place.lineno})",
        hint="`evenhand resume` continues without paying twice, with a fleet or none.",
    )
