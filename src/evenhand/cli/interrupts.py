"""Requests to end that come before a command begins, or once it has ended: the process ends at once.

Ctrl-C raises KeyboardInterrupt wherever Python is. While modules are imported, nobody could catch it everywhere.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # importing `typing` takes long, and Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_python_exit = os._exit
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Process:
    """What a request to end does."""

    is_ours = False
    code = 130
    word = b"interrupted\n"


_process = _Process()


def end_at_once() -> None:
    """From now on, Ctrl-C ends this process, as long as nobody has anything to finish."""
    # A handler of somebody else's, or none at all as in the background of a shell, stays.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _process.is_ours = True
        signal.signal(signal.SIGINT, _end)


def end_as_usual() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt: there is a command to be interrupted."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_with(code: int) -> None:
    """From now on, any request to end does that, with this exit code: there is nothing left but to leave."""
    if _process.is_ours:
        _process.code, _process.word = code, b""
        for number in _REQUESTS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    try:  # noqa: SIM105 (contextlib may not be imported yet)
        # Not sys.stderr: a signal may come while it is being written to.
        os.write(2, _process.word)
    except OSError:  # nobody reads it
        pass
    # It may be being imported, in this very moment.
    finish = getattr(sys.modules.get("evenhand.engine.guardian"), "finish", None)
    if finish is not None:
        finish(_process.code)
    _python_exit(_process.code)


if "".join(sys.argv[:1]).endswith(f"{os.sep}evenhand"):
    end_at_once()  # this is the command itself, and there is still more to be imported
