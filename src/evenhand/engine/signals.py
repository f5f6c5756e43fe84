"""The signals that end a run, while it is alive."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping

from evenhand.engine.guardian import without_echoes


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
    installed: list[signal.Signals] = []
    for number, limit_s in limits_s.items():
        # Only the main thread can have handlers; elsewhere (a notebook) an interrupt is the caller's business.
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, without_echoes(drain), number, limit_s)
            installed.append(number)
            # In its place; the loop still hears of the signal.
            signal.signal(number, insist)
    try:
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)
