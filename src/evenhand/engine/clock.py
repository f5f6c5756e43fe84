"""Time as limits count it: it stands still while a debugger waits for a command.

Pdb tells when it does (see `debugging`). A debugger of another kind (debugpy, PyCharm's) stops threads without a word:
while one is attached, no time is up.
"""

from __future__ import annotations

import sys
import time

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
