"""What a program of the user's prints until it ends, whatever it leaves running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

_LOOK_S = 0.05


async def printed_until_end(
    process: asyncio.subprocess.Process, sent: bytes | None = None
) -> tuple[bytes, bytes]:
    """What a program prints, and its messages. When it ends or is waited for no more, all that it started ends, too.

    What it leaves running may hold its output open: its own end counts, and not that of its output.

    Args:
        process: The program, which leads a session of its own.
        sent: What it reads; None for nothing.
    """
    talk = asyncio.create_task(process.communicate(sent))
    try:
        while process.returncode is None and not talk.done():
            await asyncio.wait((talk,), timeout=_LOOK_S)
        # What it left running holds the output open, and `talk` would wait for its end.
        end_with_children(process)
        return await talk
    finally:
        end_with_children(process)
        talk.cancel()
        await process.wait()


def end_with_children(process: asyncio.subprocess.Process) -> None:
    """Ends a process, and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


_TRACEBACK = "Traceback (most recent call last):"


def complaint_of(errors: bytes | str, most: int = 500) -> str:
    r"""The end of what a program wrote to its standard error, in whole lines; of a Python traceback, what was raised.

    Args:
        most: About so many characters.

    >>> complaint_of(b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: 3\n')
    'KeyError: 3'
    >>> complaint_of("first line\nsecond line", most=15)
    'second line'
    """
    text = errors.decode("utf-8", "replace") if isinstance(errors, bytes) else errors
    lines = text.strip().splitlines()
    if _TRACEBACK in lines:
        last = len(lines) - 1 - lines[::-1].index(_TRACEBACK)
        raised = (n for n in range(last + 1, len(lines)) if not lines[n].startswith((" ", "\t")))
        lines = lines[next(raised, 0) :]
        whole = "\n".join(lines)
        return whole if len(whole) <= most else f"{whole[:most]}…"
    while len(lines) > 1 and sum(map(len, lines)) + len(lines) > most:
        lines = lines[1:]
    whole = "\n".join(lines)
    return whole if len(whole) <= most else f"…{whole[-most:]}"
