"""Keeps the list of a remote's runs new, for a viewer that is served for weeks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from evenhand.cli.streams import tell
from evenhand.wings.viewer.listing import Runs

EVERY_S = 60.0


async def refresh(runs: Runs, read: Callable[[], Sequence[Path] | None]) -> None:
    """Reads the remote again and again, until it is cancelled. While it can't be read, the list stays as it is."""
    problem = ""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            files = await asyncio.to_thread(read)
            problem = ""
        except Exception as error:  # noqa: BLE001 (a remote's library raises what it likes: the viewer stays up)
            if problem != str(error):  # said once
                problem = str(error)
                tell(f"the list of runs stays as it is: {problem}")
            continue
        if files is not None:
            runs.show_only(files)
