"""The signals that end a run, while it is alive."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from evenhand.engine.guardian import without_echoes

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None


class LateSignals:
    """Hears of the signals that come while no trial of a command's run is under way.

    While the run is being made or stored, the first one waits for that. Any other raises KeyboardInterrupt.

    Attributes:
        number: The last one; 0 for none.
        waits: The run is being made or stored.
        path: The run, once it is.
    """

    def __init__(self) -> None:
        self.number = 0
        self.waits = False
        self.path: Path | None = None
        self._before: dict[signal.Signals, Handler] = {}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """A signal comes."""
        del frame
        is_first, self.number = not self.number, number
        if not (self.waits and is_first):
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Around a run. It still hears of signals afterwards, until it is told to let go."""
        self.let_go()
        self.number, self.path, self.waits = 0, None, True
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                with contextlib.suppress(ValueError):  # not the main thread
                    signal.signal(number, self)
                    self._before[number] = before
        try:
            yield
        finally:
            self.waits = False

    def raise_now(self) -> None:
        """Ends what has to wait no longer, if a signal has come.

        Raises:
            KeyboardInterrupt: One has.
        """
        if self.number:
            raise KeyboardInterrupt

    def let_go(self) -> None:
        """Has signals do what they did before."""
        for number, before in self._before.items():
            if signal.getsignal(number) is self:
                signal.signal(number, before)
        self._before.clear()


late = LateSignals()
"""Of the command that this process is; it hears of nothing elsewhere."""


@contextlib.contextmanager
def heard(
    limits_s: Mapping[signal.Signals, float],
    drain: Callable[[int, float], None],
    insist: Callable[[int, object], None],
) -> Iterator[None]:
    """Has a run hear of these signals as long as the context lasts.

    Args:
        limits_s: The signals, each with the seconds in which what is under way may finish.
        drain: Told by the loop, with the signal and its seconds.
        insist: Told at once, also while the loop doesn't turn.
    """
    loop = asyncio.get_running_loop()
    installed: dict[signal.Signals, Handler] = {}
    for number, limit_s in limits_s.items():
        # Only the main thread can have handlers; elsewhere (a notebook) an interrupt is the caller's business.
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            before = signal.getsignal(number)
            loop.add_signal_handler(number, without_echoes(drain), number, limit_s)
            installed[number] = before
            # In its place; the loop still hears of the signal.
            signal.signal(number, insist)
    if late in installed.values() and late.number:  # it came while the run was being made
        loop.call_soon(drain, late.number, limits_s[signal.Signals(late.number)])
        late.number = 0
    try:
        yield
    finally:
        late.waits = late in installed.values()
        with contextlib.suppress(ValueError):  # as above
            signal.pthread_sigmask(signal.SIG_BLOCK, installed)
        for number, before in installed.items():
            loop.remove_signal_handler(number)
            if before is not None:
                signal.signal(number, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, installed)
