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
