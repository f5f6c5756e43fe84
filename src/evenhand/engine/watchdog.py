"""Names the code that blocks the event loop.

How this works: the loop notes the time twice a second; a thread looks at the note. When it is more than a second old,
the thread reads the stack of the loop's thread and reports the innermost frame of the user's own code, once per place.
Where there is none, nothing is said: the machine is busy, and there is nothing that the user could do.
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
_DOOR = str(Path(__file__).with_name("door.py"))


@contextlib.contextmanager
def watching(report: Callable[[str], None], patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Inside, whatever keeps the running loop from turning is reported.

    Args:
        report: Called from another thread, with e.g. `my_eval.py:41 (answer) held up all other trials for 2.3 s: …`.
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
        if place and place not in seen:
            seen.add(place)
            report(
                f"{place} held up all other trials for {late:.1f} s: it is async and does not await.\n"
                "  Make it a plain function, or run what takes so long in asyncio.to_thread(…)."
            )


def _place(frame: FrameType | None) -> str:
    """The user's innermost frame; empty where the loop stands still for another reason, such as a busy machine."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name == _DOOR:  # what is further out started the loop, and waits for it
            return ""
        library = (
            name.startswith((_HERE, "<frozen", "<string>"))  # the last: classes that libraries make
            or "site-packages" in name
            or "/lib/python" in name
        )
        if not library:
            return f"{Path(name).name}:{frame.f_lineno} ({frame.f_code.co_name})"
        frame = frame.f_back
    return ""
