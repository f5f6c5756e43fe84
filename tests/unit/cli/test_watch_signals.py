"""Ctrl-C, twice: the second one must not interrupt what the first one ends."""

from __future__ import annotations

import os
import signal

import pytest

from evenhand.cli.watch import _Ended, _signals  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_is_no_traceback(second: signal.Signals) -> None:
    """Programs that end a group of processes send two; so does whoever presses Ctrl-C twice."""
    before = signal.getsignal(signal.SIGINT)
    ended = False
    with _signals():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except _Ended:
            os.kill(os.getpid(), second)
            ended = True
    assert ended
    assert signal.getsignal(signal.SIGINT) is before
