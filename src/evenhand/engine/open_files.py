"""How many trials may be under way at once where few files may be open: a call takes a connection, which is one."""

from __future__ import annotations

import resource
from pathlib import Path

from evenhand.core.scripted import script_answers

SPARE = 16
"""Files that stay free for the run file, the cache, programs, and what code of the user's opens."""


def most_at_once() -> int:
    """The most calls at once for which enough files may be open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        left = limit - sum(1 for _ in Path("/dev/fd").iterdir()) - SPARE
    except OSError:  # not everywhere, or there isn't even one left to look with
        left = limit - 2 * SPARE
    # A script answers in this process: both ends of a connection are open here.
    return max(1, left // 2 if script_answers() else left)
