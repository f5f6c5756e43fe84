"""The time that an async function of the user's has.

How this works: it is awaited on the task of whoever calls it, which is cancelled when the time is up, as
`asyncio.timeout` does. A function may catch that and go on. Some seconds later whoever looks after it is told, and can
leave it behind. One timer serves for both, as it is started for each call.

Time stands still for limits while a debugger waits for a command. Pdb tells when it does (see `debugging`). A debugger
of another kind (debugpy, PyCharm's) stops threads without a word: while one is attached, no time is up.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import TracebackType

from evenhand.core.plan import RunOptions

AGAIN_S = 0.25
"""How often to look again whether a limit holds."""


class _Stop:
    open: bool = False
    since: float = 0.0
    stood_s: float = 0.0


_stop = _Stop()


def clock() -> float:
    """Seconds, as `time.monotonic`, but for those in which a debugger waited."""
    return (_stop.since if _stop.open else time.monotonic()) - _stop.stood_s


def stop() -> None:
    """Stops the clock; where it stands already, nothing."""
    if not _stop.open:
        _stop.since, _stop.open = time.monotonic(), True


def go_on() -> None:
    """Has the clock go on."""
    if _stop.open:
        _stop.stood_s += time.monotonic() - _stop.since
        _stop.open = False


def stands_still() -> bool:
    """Whether a debugger waits for a command."""
    return _stop.open


def left_until(end: float) -> float:
    """Seconds until the clock shows this; never none while time is not counted."""
    left = end - clock()
    return max(left, AGAIN_S) if _stop.open or "pydevd" in sys.modules else left


GRACE_S = 5.0
EARLY_S = 0.01
"""A timer may come so much before its time, as the loop has a clock of its own."""

_under_way: ContextVar[TimeLimit | None] = ContextVar("evenhand_time_limit", default=None)
"""The limit of the async function that is under way."""


def limit_of_trial(options: RunOptions, seconds: float) -> tuple[float | None, str]:
    """The seconds that a trial may take, and what to say where it takes longer: None and nothing for no limit.

    Args:
        options: The limits of each trial and of the run.
        seconds: How long the run has taken so far.
    """
    each, whole = options.trial_limit_s, options.run_limit_s
    if whole is not None and (each is None or whole - seconds < each):
        return whole - seconds, f"the run took longer than {whole:g} s"
    if each is not None:
        return each, f"it took longer than {each:g} s and was given up"
    return None, ""


class TimeLimit:
    """Seconds from now on for what the current task awaits.

    Args:
        stuck: Called where it goes on for some seconds more, though it was cancelled.
    """

    __slots__ = (
        "_ended",
        "_handle",
        "_loop",
        "_stuck",
        "_task",
        "_token",
        "_when",
        "expired",
        "seconds",
    )

    def __init__(self, seconds: float, stuck: Callable[[], None]) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (it is awaited)
        self.seconds = seconds
        self.expired = self._ended = False
        self._task, self._stuck = task, stuck
        self._loop = asyncio.get_running_loop()
        self._when = clock() + seconds
        self._handle = self._loop.call_later(seconds, self._up)
        self._token = _under_way.set(self)

    def end(self) -> None:
        """What was awaited has ended. Takes back the cancellation, where the time was up. Again, it does nothing."""
        if self._ended:
            return
        self._ended = True
        self._handle.cancel()
        _under_way.reset(self._token)
        if self.expired:
            self._task.uncancel()

    def is_up(self) -> bool:
        """Whether its time is over."""
        return not self._ended and left_until(self._when) <= 0

    def _up(self) -> None:
        left = left_until(self._when)
        if left > EARLY_S:
            self._handle = self._loop.call_later(left, self._up)
            return
        self.expired = True
        self._task.cancel()
        self._handle = self._loop.call_later(min(GRACE_S, self.seconds), self._stuck)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, the time does not count."""
        if self.expired or self._loop is not asyncio.get_running_loop():
            yield
            return
        self._handle.cancel()
        since = clock()
        try:
            yield
        finally:
            self._when += clock() - since
            self._handle = self._loop.call_later(self._when - clock(), self._up)


def is_time_up() -> bool:
    """Whether the async function that is under way has had its time, though the loop could not say so."""
    limit = _under_way.get()
    return limit is not None and limit.is_up()


@contextlib.contextmanager
def waiting_on_loop() -> Iterator[None]:
    """Around what an async function waits for until another trial is done: while it waits, its time limit does."""
    limit = _under_way.get()
    if limit is None:
        yield
        return
    with limit.paused():
        yield


class TrialClock:
    """As `asyncio.timeout`, by the clock that stands still while a debugger waits."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        self._end = clock() + self._seconds
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(self._seconds, self._up)
        await self._timeout.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._handle.cancel()
        return await self._timeout.__aexit__(kind, error, trace)

    def _up(self) -> None:
        left = left_until(self._end)
        if left > EARLY_S:
            self._handle = self._loop.call_later(left, self._up)
        else:
            self._timeout.reschedule(self._loop.time())

    def expired(self) -> bool:
        """Whether its time was up."""
        return self._timeout.expired()


class Unlimited:
    """As `asyncio.timeout(None)`, which has a price for each trial."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *raised: object) -> None: ...

    def expired(self) -> bool:
        """False: without a limit, time is never up."""
        return False


UNLIMITED = Unlimited()
