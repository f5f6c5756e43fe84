"""The process above a command's own: it outlives whatever user code does, and its exit code is the one that counts.

How this works: before anything heavy is imported the command forks. The child does all the work; the parent, the
guardian, waits. Only a child that says so has ended in order, with `finish`, on a page of memory that both share. An
end without that word, with whatever exit code, is an end without a verdict: the program that `exec` put in the child's
place, or the C library's `exit`. The guardian then says what was running, and exits with 3.

Signals: a terminal sends Ctrl-C to both, so the guardian passes on only what did not come from the kernel. `kill` of
the whole group reaches the child twice; `Echoes` tells the second from a second Ctrl-C. A child that stops stops the
guardian, so that a shell's job control works. A guardian that is killed with SIGKILL takes the child with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

NO_VERDICT = 3
"""The exit code of a command that ended without a verdict."""
UNHEARD_S = 2.0
"""Without a beat for so long, a request to stop is not heard by the command itself."""
ECHO_S = 0.5
"""A signal that comes both directly and from the guardian within so many seconds is one."""

LOOK_S = 0.5
"""How often the guardian looks whether the command still turns."""

_SIZE = 12288
_CODE, _BEAT, _HELD, _GOES_ON, _ONE_BY_ONE, _COUNTS, _LIMIT, _WHY, _RUNNING, _CRUMBS, _EARLIER = (
    (0, 4, 5, 6, 7, 16, 96, 128, 2048, 4096, 8192)
)  # fmt: skip
"""Where on the page stand: that it ended and how, the number of the last beat, that it is held, that a new process may
go on with its run, that it runs one trial at a time, how often each signal was passed on, how long it may be held, why
it ends, what is running, the path of the breadcrumbs, and that of the process before."""
_PASSED_ON = {
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGTSTP")
}  # fmt: skip
_WATCHED = {*_PASSED_ON, signal.SIGCHLD, signal.SIGALRM}
_ASKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
"""Whoever sends these knows why the command ended."""
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU}
"""These need not come of the code that was running."""
_NAMED = 3


class _Guarded:
    """What the child knows of its guardian."""

    page: mmap.mmap | None = None
    pid: int = 0


_guarded = _Guarded()


def guard(tell: Callable[[str], object]) -> None:
    """Forks: returns in the child, and never in the parent. Does nothing where other threads are running already.

    Args:
        tell: Called in the guardian with what to say of an end without a verdict.
    """
    if _guarded.page is not None or not _is_alone():
        return
    page = mmap.mmap(-1, _SIZE)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # then nobody could wait for a child
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    parent = os.getpid()
    while True:
        lifeline, other_end = os.pipe()
        try:
            child = os.fork()
        except OSError:  # there are as many processes as may be: it goes on without a guardian
            os.close(lifeline)
            os.close(other_end)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return
        if not child:
            break
        os.close(lifeline)
        _wait(child, page, tell)
        # It would end this process, where there can be no other one.
        signal.setitimer(signal.ITIMER_REAL, 0)
        if signal.SIGALRM in signal.sigpending():
            signal.sigwait({signal.SIGALRM})
        os.close(other_end)
    os.close(other_end)
    _guarded.page, _guarded.pid = page, os.getpid()
    _die_with(lifeline, parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_guarded() -> bool:
    """Whether this process has a guardian."""
    return _guarded.page is not None and os.getpid() == _guarded.pid


def finish(code: int) -> None:
    """Says that the command has ended in order, with this exit code, whatever runs after it."""
    page = _guarded.page
    if page is not None and is_guarded():
        page[_CODE : _CODE + 2] = bytes((1, code & 0xFF))


@contextlib.contextmanager
def running(what: str, trial: int = -1) -> Iterator[None]:
    """Inside, this is what the guardian names if the process ends, though it stands in no breadcrumbs.

    Args:
        what: A function, or a file that is being imported.
        trial: Its trial's place in the plan; -1 for none.
    """
    before = _write(_RUNNING, f"{trial}\t{what}", _CRUMBS - _RUNNING)
    try:
        yield
    finally:
        _write(_RUNNING, before, _CRUMBS - _RUNNING)


def note_running(what: str) -> None:
    """Notes what is running, until something else is noted."""
    _write(_RUNNING, f"-1\t{what}", _CRUMBS - _RUNNING)


def note_end(why: str) -> bool:
    """Notes why the process is about to end, for the guardian to say; whether there is one."""
    _write(_WHY, why, _RUNNING - _WHY)
    return is_guarded()


def note_breadcrumbs(path: str) -> str:
    """Notes where the breadcrumbs of a run are; empty for nowhere. Returns what was noted before."""
    return _write(_CRUMBS, path, _SIZE - _CRUMBS)


@contextlib.contextmanager
def may_be_held(limit_s: float) -> Iterator[None]:
    """Inside, the guardian ends this process if for so long it has no beat."""
    if _guarded.page is None or not is_guarded():
        yield
        return
    beat()
    _write(_LIMIT, f"{limit_s:g}", _WHY - _LIMIT)
    try:
        yield
    finally:
        _write(_LIMIT, "", _WHY - _LIMIT)


def beat() -> None:
    """Shows the guardian that code can run."""
    page = _guarded.page
    if page is not None:
        page[_BEAT] = (page[_BEAT] + 1) & 0xFF


def is_held() -> None:
    """Tells the guardian that code can run, and that the run can't go on all the same."""
    page = _guarded.page
    if page is not None:
        page[_HELD] = 1


@contextlib.contextmanager
def another_may_go_on() -> Iterator[None]:
    """Inside, a process that is held is followed by one that does the same, and gets the `unfinished` breadcrumbs."""
    page = _guarded.page
    if page is None or not is_guarded():
        yield
        return
    page[_GOES_ON] = 1
    try:
        yield
    finally:
        page[_GOES_ON] = 0


def unfinished() -> tuple[str, bool]:
    """What the process before left, as it was held: the path of its breadcrumbs, and whether to go on one by one.

    The path is empty where there was none. It is told once.
    """
    page = _guarded.page
    return _write(_EARLIER, "", _SIZE - _EARLIER), page is not None and page[_ONE_BY_ONE] == 1


def _write(start: int, text: str, size: int) -> str:
    page = _guarded.page
    if page is None or not is_guarded():
        return ""
    before = _read(page, start)
    data = os.fsencode(text)[: size - 1]
    page[start : start + len(data) + 1] = data + b"\0"
    return before


def _read(page: mmap.mmap, start: int) -> str:
    end = page.find(b"\0", start)
    return os.fsdecode(page[start:end])


def without_echoes(handle: Callable[[int, float], None]) -> Callable[[int, float], None]:
    """A signal's handler that is not called again for one that came from its sender and from the guardian, too."""
    passed_on = 0
    times: dict[bool, float] = {}

    def take(number: int, limit_s: float) -> None:
        nonlocal passed_on
        from_guardian = _guarded.page is not None and _guarded.page[_COUNTS + number] != passed_on
        if from_guardian:
            passed_on = (passed_on + 1) & 0xFF
        now = time.monotonic()
        if now - times.pop(not from_guardian, -ECHO_S) < ECHO_S:
            return
        times[from_guardian] = now
        handle(number, limit_s)

    return take


def _is_alone() -> bool:
    """Whether this process has one thread: a fork would leave the others, and the locks they hold, behind."""
    if len(sys._current_frames()) > 1:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] (no public name)
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 (pathlib may not be loaded)
    except OSError:
        return True


def _die_with(lifeline: int, parent: int) -> None:
    """Has this process killed when the other end of the pipe, which its guardian holds, is closed."""
    number = getattr(fcntl, "F_SETSIG", None)
    if number is not None:
        # The kernel sends the signal, also while C code holds the interpreter.
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, number, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if os.getppid() != parent:  # it was killed before that
            os.kill(os.getpid(), signal.SIGKILL)
        return
    import threading  # noqa: PLC0415 (not where the kernel does it)

    def watch() -> None:
        with contextlib.suppress(OSError):  # user code has closed it
            if os.read(lifeline, 1) == b"":
                os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="evenhand-lifeline", daemon=True).start()


def _wait(child: int, page: mmap.mmap, tell: Callable[[str], object]) -> None:
    """The guardian: waits for the child, passes signals on, and exits as it should have.

    Returns where the child was held, and another one is to go on.
    """
    hold, warned = None, False
    requests: list[int] = []
    try:
        while True:
            number, from_kernel = _next_signal()
            limit = _read(page, _LIMIT)
            if number == signal.SIGCHLD:
                _look_after(child, page, tell)
            elif number and not from_kernel:
                page[_COUNTS + number] = (page[_COUNTS + number] + 1) & 0xFF
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)
            if number in _ASKED:
                requests.append(number)
            if not limit:
                hold = None
                continue
            if hold is None:
                from evenhand.engine.holding import Hold  # noqa: PLC0415 (not before each run)

                hold = Hold(child)
            held = hold.is_held(page[_BEAT], float(limit)) or page[_HELD]
            still = hold.still_s() > UNHEARD_S or page[_HELD]
            if still and requests == [signal.SIGINT] and not warned:
                warned = True
                tell(
                    "evenhand: your code blocks the run, so it can't stop yet; Ctrl-C again to stop it now"
                )
            if still and (len(requests) > 1 or requests not in ([], [signal.SIGINT])):
                line, _ = hold.end(Path(_read(page, _CRUMBS)), hold.still_s())
                tell(f"evenhand: stopped: {line}")
                os.waitpid(child, 0)
                _die_of(requests[-1])
            if held:
                line, known = hold.end(Path(_read(page, _CRUMBS)), float(limit))
                os.waitpid(child, 0)
                _follow(page, tell, line, known=known)
                return
    except BaseException:  # noqa: BLE001 (nothing of what went wrong here may look like a verdict)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        os._exit(NO_VERDICT)


def _follow(page: mmap.mmap, tell: Callable[[str], object], line: str, *, known: bool) -> None:
    """Says what held the child. Ends with that, where no other one is to go on.

    Args:
        known: Whether it is known which call it was. If not, the next one runs trials one by one, to find out.
    """
    hint = "Look for a loop without an end; run what can take so long in a process of its own."
    crumbs = _read(page, _CRUMBS)
    if not page[_GOES_ON]:
        tell(
            f"evenhand: ended without a verdict: {line}\n  {hint}\n"
            "  Replies received so far are saved: `evenhand resume` continues the run."
        )
        os._exit(NO_VERDICT)
    how = "without it" if known else "one trial at a time, to see which it is"
    tell(f"evenhand: {line}; it is given up, and the run goes on {how}\n  {hint}")
    page[:] = bytes(_SIZE)
    data = os.fsencode(crumbs)
    page[_EARLIER : _EARLIER + len(data)] = data
    page[_ONE_BY_ONE] = not known


def _next_signal() -> tuple[int, bool]:
    """The next signal, and whether the kernel sent it: then a terminal did, to the child as well; 0 for none so far."""
    # Not `sigtimedwait`: if its time is over while the process is stopped, or the machine sleeps, Python returns
    # whatever is in memory there: a signal that never came.
    signal.setitimer(signal.ITIMER_REAL, LOOK_S)
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(_WATCHED)
        number, from_kernel = info.si_signo, info.si_code > 0
    else:
        number = signal.sigwait(_WATCHED)  # macOS does not say who sent it
        keys = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
        from_kernel = number in keys and os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    return (0, False) if number == signal.SIGALRM else (number, from_kernel)


def _look_after(child: int, page: mmap.mmap, tell: Callable[[str], object]) -> None:
    """Whatever children have ended; where it is the child, so does the guardian."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)  # as process 1, of orphans too
        except ChildProcessError:
            os._exit(NO_VERDICT)
        if pid == 0:
            return
        if pid == child and os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
        elif pid == child:
            _exit(page, status, tell)


def _exit(page: mmap.mmap, status: int, tell: Callable[[str], object]) -> NoReturn:
    """Exits as the child did, but never as if it had ended in order when it did not."""
    ended, code = page[_CODE : _CODE + 2]
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if not ended and number not in _ASKED:
        with contextlib.suppress(Exception):  # the exit code is what counts
            line = _last_words(page, status, number)
            if line:
                tell(line)
                sys.stderr.flush()
    if number and not (ended and number in _ASKED):  # else the command had its exit code already
        _die_of(number)
    os._exit(code or os.WEXITSTATUS(status) if ended else NO_VERDICT)


def _last_words(page: mmap.mmap, status: int, number: int) -> str:
    """What to say of this end. Leaves a note of it, with which `resume` sets aside what was running."""
    what = _read(page, _WHY)
    what = what or f"your code ended the process, with exit code {os.WEXITSTATUS(status)}"
    if number:
        what = f"{signal.Signals(number).name} ended the process"
    trial, _, name = _read(page, _RUNNING).partition("\t")
    names, crumbs = [name] if name else [], _read(page, _CRUMBS)
    if crumbs:
        from evenhand.engine.breadcrumbs import Word, blame  # noqa: PLC0415 (not before each run)

        more = Word(name, int(trial)) if name else None
        names = blame(Path(crumbs), "" if number in _FROM_OUTSIDE else what, more) or names
    if not names and number:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    named = f" while {', '.join(names[:_NAMED])}{more} was running" if names else ""
    saved = "\n  Replies received so far are saved: `evenhand resume` continues the run."
    return f"evenhand: ended without a verdict{named}: {what}{saved * bool(crumbs)}"


def _die_of(number: int) -> NoReturn:
    """Ends by the signal that the child ended by, as a shell wants to see it."""
    import resource  # noqa: PLC0415 (seldom)

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core is enough
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # process 1 has no such end
