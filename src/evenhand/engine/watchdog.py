"""Names the code that blocks the event loop.

How this works: the loop notes the time twice a second; a thread looks at the note. When it is more than a second old,
the thread reads the stack of the loop's thread and reports the innermost frame that is not a library's, once per place.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

BEAT_S = 0.25
PATIENCE_S = 1.0
_HERE = str(Path(__file__).parents[1])


@contextlib.contextmanager
def watching(report: Callable[[str], None], patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Inside, whatever keeps the running loop from turning is reported.

    Args:
        report: Called from another thread, with e.g. `event loop blocked for 2.3 s in my_eval.py:41 (answer)`.
        patience_s: How long the loop may stand still.
    """
    loop = asyncio.get_running_loop()
    beaten = [time.monotonic()]
    stop = threading.Event()
    handle: list[asyncio.TimerHandle] = []

    def beat() -> None:
        beaten[0] = time.monotonic()
        handle[:] = [loop.call_later(BEAT_S, beat)]

    beat()
    watcher = threading.Thread(
        target=_watch,
        args=(threading.get_ident(), beaten, stop, report, patience_s),
        name="evenhand-watchdog",
        daemon=True,
    )
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        handle[0].cancel()


def _watch(
    ident: int,
    beaten: list[float],
    stop: threading.Event,
    report: Callable[[str], None],
    patience_s: float,
) -> None:
    seen: set[str] = set()
    while not stop.wait(BEAT_S):
        late = time.monotonic() - beaten[0]
        if late < patience_s + BEAT_S:
            continue
        place = _place(sys._current_frames().get(ident))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] (documented)
        if place not in seen:
            seen.add(place)
            report(f"event loop blocked for {late:.1f} s in {place}")


def _place(frame: FrameType | None) -> str:
    innermost = own = None
    while frame is not None:
        name = frame.f_code.co_filename
        spot = f"{Path(name).name}:{frame.f_lineno} ({frame.f_code.co_name})"
        innermost = innermost or spot
        library = (
            name.startswith((_HERE, "<frozen")) or "site-packages" in name or "/lib/python" in name
        )
        if not library:
            own = own or spot
        frame = frame.f_back
    return own or innermost or "unknown"
