"""Code that holds the interpreter's lock, so that nothing else of the run turns: seen from the guardian.

How this works: a thread of the run writes a beat on the page that both share. A loop in C (a regular expression that
backtracks, `sum` of what has no end) lets no other thread run, so the beats stop. After the time limit, the guardian
sends a signal that breaks into what the main thread does, as Python's own regular expressions look for signals. Where
that doesn't help, faulthandler, which needs no lock, writes down where each thread is; the thread that keeps a CPU busy
is the one. The guardian then ends the process, and a new one goes on with the run, without that trial.

A machine that is busy with something else stops the beats as well. So what counts is the CPU time of the process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path

SHARE = 0.8
"""Of the limit: so much CPU time has to be used without a beat."""
IDLE = 3.0
IDLE_S = 30.0
"""Without a CPU used, so many limits, and so many seconds at least, have to pass."""
GRACE_S = 1.0
ASIDE_S = 5.0
"""The guardian itself was stopped where it did not look for so long."""
_NAMED = 3
_THREAD = r"(?m)^(?:Current t|T)hread 0x([0-9a-f]+).*\n((?:  .*\n?)*)"
_FRAME = r'(?m)^  File "(.*)", line (\d+) in (.*)$'


_FIRST = int(getattr(signal, "SIGRTMIN", 0))
"""0 where there are none of these, as on macOS: there, nothing is broken into."""
BREAK = _FIRST + 5
"""The signal that breaks into the main thread's Python code."""
DUMP = _FIRST + 6
"""The signal that has faulthandler write down where each thread is."""


class Hold:
    """Whether a child's interpreter is held, and by what."""

    def __init__(self, child: int) -> None:
        self._child = child
        self._beat = -1
        self._broke_in = False
        self._looked_at = time.monotonic()
        self._again()

    def _again(self) -> None:
        self._since, self._cpu_s, self._broke_in = time.monotonic(), _cpu_s(self._child), False

    def still_s(self) -> float:
        """Seconds since the last beat that was seen."""
        return time.monotonic() - self._since

    def is_held(self, beat: int, limit_s: float) -> bool:
        """Whether the child's interpreter is held, and does not let go when it is told to.

        Args:
            beat: The number of its last beat.
            limit_s: How long it may be held.
        """
        now = time.monotonic()
        stopped, self._looked_at = now - self._looked_at > ASIDE_S, now
        if beat != self._beat or stopped:
            self._beat = beat
            self._again()
            return False
        still = self.still_s()
        if still < limit_s + GRACE_S * self._broke_in:
            return False
        busy = _cpu_s(self._child) - self._cpu_s
        if busy < limit_s * SHARE and still < max(limit_s * IDLE, IDLE_S):
            return False
        if not self._broke_in:
            self._broke_in = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, BREAK)
            self._since += max(0.0, still - limit_s)
            return False
        return True

    def end(self, crumbs: Path, limit_s: float) -> tuple[str, bool]:
        """Kills the child, and notes for `resume` what held it.

        Args:
            limit_s: How long it might be held.

        Returns:
            What to say of it, and whether it is known which call it was. Of async functions, many are under way in one
            thread.
        """
        # Not for each run: with these, the guardian would load half of what the run does.
        from evenhand.engine.breadcrumbs import last_words, note_held  # noqa: PLC0415

        dump = crumbs.with_suffix(".stack")
        with contextlib.suppress(OSError):
            dump.write_bytes(b"")
            os.kill(self._child, DUMP)
        busiest = _busiest(self._child)
        stacks = _stacks(dump)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        dump.unlink(missing_ok=True)
        words = [
            word for word in last_words(crumbs) if not word.waits or word.native == self._child
        ]
        guilty = [word for word in words if word.native == busiest] or words
        known = len(guilty) == 1
        place = _users_line(stacks, guilty[0].thread) if guilty else ""
        how = f"blocked the whole run for more than {limit_s:.3g} s{place and f', at {place}'}"
        if known:
            note_held(crumbs, guilty[0], f"it {how}")
        names = [" ".join(one.text.split()) for one in guilty]
        named = (
            f"one of {len(names)}: {', '.join(names[:_NAMED])}, …," if names[1:] else "".join(names)
        )
        return f"{named or 'code of yours'} {how}, and nothing could interrupt it", known


def _cpu_s(pid: int, task: str = "") -> float:
    """Seconds of CPU time that a process, or a thread of it, has used; 0 where nobody says."""
    try:
        with open(f"/proc/{pid}{task}/stat", "rb") as file:  # noqa: PTH123 (of the system)
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _busiest(pid: int) -> int:
    """The thread that uses a CPU, by the number that the kernel knows it by; 0 where none does."""

    def used() -> dict[int, float]:
        try:
            return {int(n): _cpu_s(pid, f"/task/{n}") for n in os.listdir(f"/proc/{pid}/task")}  # noqa: PTH208 (numbers)
        except OSError:
            return {}

    before = used()
    end = time.monotonic() + 2 * GRACE_S
    while time.monotonic() < end:
        time.sleep(0.1)
        for number, now in used().items():
            if now - before.get(number, now) >= 0.05:
                return number
    return 0


def _stacks(dump: Path) -> dict[int, list[tuple[str, str, str]]]:
    """The frames of each thread: file, line and function, the innermost first."""
    try:
        text = dump.read_text("utf-8", "replace")
    except OSError:
        return {}
    return {
        int(number, 16): re.findall(_FRAME, frames) for number, frames in re.findall(_THREAD, text)
    }


def _users_line(stacks: dict[int, list[tuple[str, str, str]]], thread: int) -> str:
    from evenhand.core.users_code import is_users  # noqa: PLC0415 (as above)

    for file, line, name in stacks.get(thread, ()):
        if is_users(file):
            return f"{Path(file).name}:{line} ({name})"
    return ""
