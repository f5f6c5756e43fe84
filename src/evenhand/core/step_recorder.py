"""The steps of a trial while it happens: noted when they begin, completed when they end, from whichever thread.

How replayed steps are timed: their answers come at once, so what they would have taken is added to the clock. Each task
has a clock of its own, as tasks go on side by side. Whoever started tasks that have ended has waited for the longest.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from msgspec.structs import replace

from evenhand.core.errors import EvenhandError
from evenhand.core.message import Reply
from evenhand.core.provider import Provider, Request
from evenhand.core.step import Step, record_of
from evenhand.core.timeline import (
    Conversations,
    StepNote,
    kind_asked,
    steps_from,
    told,
    who_answered,
)

_inside: ContextVar[tuple[StepLog, int] | None] = ContextVar("evenhand_step", default=None)
"""The step that code is within, of which trial's; None outside of any."""

elsewhere: list[Callable[[StepLog], int | None]] = []
"""Who else knows which of a trial's steps code is in: OpenTelemetry's current span, where spans are taken as steps."""

REPLAYED = ("cache", "journal", "replay")


_Runner = asyncio.Task[Any] | threading.Thread


class Chain:
    """Steps that come one after the other: those of one task, or of one thread.

    Args:
        runner: The task or thread.
        skipped_s: What the replayed answers would have taken that it has waited for.
    """

    __slots__ = ("_started", "runner", "skipped_s")

    def __init__(self, runner: _Runner, skipped_s: float = 0.0) -> None:
        self.runner = runner
        self._started: list[Chain] = []
        self.skipped_s = skipped_s

    def here(self) -> Chain:
        """The chain of the task or thread that this is called in: this one, or one that it has started."""
        runner = _runner()
        self.catch_up()
        if runner is self.runner:
            return self
        one = next((one for one in self._started if one.runner is runner), None)
        if one is None:
            one = Chain(runner, self.skipped_s)
            self._started.append(one)
        one.catch_up()
        return one

    def catch_up(self) -> None:
        """Waits for what it has started and has ended; of a thread nobody can tell."""
        going_on: list[Chain] = []
        for one in self._started:
            one.catch_up()
            if isinstance(one.runner, asyncio.Task) and not one.runner.done():
                going_on.append(one)
            else:
                self.skipped_s = max(self.skipped_s, one.skipped_s)
            if not isinstance(one.runner, asyncio.Task):
                going_on.append(one)
        self._started = going_on


def _runner() -> _Runner:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        task = None
    return task or threading.current_thread()


_chain: ContextVar[tuple[StepLog, Chain] | None] = ContextVar("evenhand_chain", default=None)
"""The steps of the task that code is in, or that started it, and whose log they are in."""


class StepLog:
    """What one trial's application has done so far.

    Args:
        task: What runs the trial; by default the task or thread that makes the log.
    """

    __slots__ = (
        "__weakref__",
        "_chains",
        "_clock",
        "_dropped",
        "_lock",
        "_notes",
        "_origin",
        "_read",
        "_reported",
        "_requests",
    )

    def __init__(self, task: asyncio.Task[Any] | None = None) -> None:
        self._lock = threading.Lock()
        self._notes: list[StepNote] = []
        self._dropped: set[int] = set()
        self._reported: set[int] = set()  # told afterwards, so their beginning is not known
        self._requests = Conversations()
        self._read = 0  # how many notes' requests have been read
        self._origin = time.monotonic()
        self._clock = Chain(task or _runner())
        self._chains: list[Chain] = []  # by place

    def now(self) -> float:
        """Seconds since the trial began, with what replayed answers took when they were first given."""
        return self._at(self._here())

    def _here(self) -> Chain:
        outer = _chain.get()
        around = outer[1] if outer is not None and outer[0] is self else self._clock
        own = around.here()
        if own is not around:
            _chain.set((self, own))
        return own

    def _at(self, own: Chain) -> float:
        return time.monotonic() - self._origin + own.skipped_s

    def _pass_over(self, place: int, seconds: float) -> None:
        """Moves the clock of a replayed step's chain on to its end."""
        own, began = self._chains[place], self._notes[place].step.started_s or 0.0
        own.skipped_s += max(0.0, began + seconds - self._at(own))

    def add(self, step: Step) -> int:
        """Notes a step that begins, and returns its place. It begins now, within the step that code is in.

        Raises:
            ValueError: Its parent is no earlier step.
        """
        with self._lock:
            place = len(self._notes)
            parent, began = step.parent, step.started_s
            if parent is None:
                parent = self.within()
            elif not 0 <= parent < place:
                raise ValueError(f"the parent of {step.name!r} is {parent}, no earlier step")
            if began is None:
                # A step that comes with its duration has just ended.
                began = self.now() - (step.duration_s or 0.0)
                if step.duration_s is not None:
                    self._end_before(began, parent)
                    self._reported.add(place)
            step = replace(step, parent=parent, started_s=began)
            self._notes.append(StepNote(step))
            self._chains.append(self._here())
            return place

    def _end_before(self, began: float, parent: int | None) -> None:
        """Moves the steps that were reported just before this one, afterwards as well: one came after the other."""
        for place in range(len(self._notes) - 1, -1, -1):
            note = self._notes[place]
            step, taken = note.step, note.step.duration_s or 0.0
            if place not in self._reported or step.parent != parent:
                return
            if (step.started_s or 0.0) + taken <= began:
                return
            began -= taken
            note.step = replace(step, started_s=began)

    def within(self) -> int | None:
        """The place of the step that the calling code is in; None for none of this trial's."""
        outer = _inside.get()
        place = outer[1] if outer is not None and outer[0] is self else None
        if not elsewhere:
            return place
        places = [] if place is None else [place]
        places += [other for look in elsewhere if (other := look(self)) is not None]
        return max(places, default=None)  # the one that began last is the innermost

    def __getitem__(self, place: int) -> Step:
        """The step at a place, as far as it is known."""
        return self._notes[place].step

    def stand_in(self, steps: Sequence[Step]) -> None:
        """Has recorded steps stand in the place of the step that code is in, such as the call of a whole agent."""
        around, now = self.within(), self.now()
        places: list[int] = []
        for step in steps:
            parent = around if step.parent is None else places[step.parent]
            began = now + (step.started_s or 0.0)
            places.append(self.add(replace(step, parent=parent, started_s=began)))
        if steps and around is not None:
            self.drop(around)

    def drop(self, place: int) -> None:
        """Takes a step back; what is part of it becomes part of what it was part of."""
        with self._lock:
            self._dropped.add(place)

    def holds_record(self, place: int) -> bool:
        """Whether a recorded call of a model or a tool is part of the step at a place, or is that step."""
        with self._lock:
            return any(
                note.step.record and place in (at, note.step.parent)
                for at, note in enumerate(self._notes)
            )

    def holds_tool(self, place: int) -> bool:
        """Whether a recorded call of a tool is part of the step at a place."""
        with self._lock:
            return any(
                note.step.parent == place and note.step.record.startswith("tool:")
                for note in self._notes
            )

    def change(self, place: int, **fields: Any) -> None:
        """Says more of a step."""
        with self._lock:
            note = self._notes[place]
            note.step = replace(note.step, **fields)

    def replayed(self, place: int, seconds: float | None, **fields: Any) -> None:
        """Says how a step ended when it was recorded, after so many seconds; None where that isn't known."""
        with self._lock:
            self._pass_over(place, seconds or 0.0)
        self.change(place, duration_s=seconds, **fields)

    def end(self, place: int, **fields: Any) -> None:
        """Says how a step ended, now."""
        began = self._notes[place].step.started_s or 0.0
        # Whoever reported the step may have given a beginning that is still to come.
        self.change(place, **{"duration_s": max(0.0, self.now() - began), **fields})

    @contextmanager
    def inside(self, place: int) -> Generator[None]:
        """Inside, what begins is part of the step at this place."""
        token = _inside.set((self, place))
        try:
            yield
        finally:
            _inside.reset(token)

    def calling(self, provider: Provider, request: Request, nth: int) -> Calling:
        """Around a call of a model, which is a step of its own; what begins meanwhile is part of it."""
        record = record_of("call", request.key, nth)
        kind = kind_asked(request.identity)
        with self._lock:
            self._look_through()
            place = len(self._notes)
            step = Step(
                kind, provider.id, started_s=self.now(), parent=self.within(), record=record
            )
            self._notes.append(StepNote(step, request=request.identity))
            self._chains.append(self._here())
        return Calling(self, place)

    def answered(self, place: int, reply: Reply) -> None:
        """Says what a model replied, in the step at this place."""
        seconds = reply.latency_s
        with self._lock:
            note = self._notes[place]
            if reply.origin in REPLAYED:
                self._pass_over(place, seconds or 0.0)
            if seconds is None:
                seconds = max(0.0, self.now() - (note.step.started_s or 0.0))
            note.step = replace(
                note.step,
                kind=who_answered(note.step.kind, reply),
                name=reply.model or note.step.name,
                result=told(reply),
                status="ok",
                duration_s=seconds,
                tokens_in=reply.usage.tokens_in,
                tokens_out=reply.usage.tokens_out,
                cost_usd=reply.cost_usd,
            )
            note.tool_calls, note.inner = reply.tool_calls, reply.steps

    def _look_through(self) -> None:
        """Reads the requests so far, in their order: each holds all that was said before it, and need not be kept."""
        for note in self._notes[self._read :]:
            self._requests.read(note)
            self._read += 1

    def steps(self) -> list[Step]:
        """All steps so far, those among them that a model's answer asked for."""
        with self._lock:
            self._look_through()
            return steps_from(self._left())

    def kept(self) -> tuple[Step, ...]:
        """What is to be kept of them: not what the run file has anyway."""
        with self._lock:
            left = self._left()
            if len(left) == 1 and left[0].step.record.startswith("call:"):
                return ()  # the call itself says all
            return tuple(map(_slim, (note.step for note in left)))

    def _left(self) -> list[StepNote]:
        """The notes of the steps that were not dropped."""
        if not self._dropped:
            return self._notes
        places: list[int | None] = []
        left: list[StepNote] = []
        for place, note in enumerate(self._notes):
            parent = None if note.step.parent is None else places[note.step.parent]
            if place in self._dropped:
                places.append(parent)
            else:
                places.append(len(left))
                left.append(replace(note, step=replace(note.step, parent=parent)))
        return left


class Calling:
    """A call of a model under way, as a step of its log. One that raises has failed."""

    __slots__ = ("_log", "_place", "_token")

    def __init__(self, log: StepLog, place: int) -> None:
        self._log, self._place = log, place

    def __enter__(self) -> Self:
        self._token = _inside.set((self._log, self._place))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        _inside.reset(self._token)
        if error is not None:
            message = error.message if isinstance(error, EvenhandError) else "given up"
            self._log.end(self._place, status="error", error=message)

    def answered(self, reply: Reply) -> Reply:
        """The reply, noted in the step."""
        self._log.answered(self._place, reply)
        return reply


def _slim(step: Step) -> Step:
    if not step.record:
        return step
    if step.record.startswith("tool:"):
        return replace(step, arguments=None, result=None, error="")
    bare = Step(step.kind, "", status=step.status, started_s=step.started_s, record=step.record)
    return replace(bare, parent=step.parent, duration_s=step.duration_s, agent=step.agent)
