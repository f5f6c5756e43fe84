"""What is said at the end of `python shop_evals.py`, which makes sets and runs none: it would end in silence."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_waiting: list[Path] = []
"""Files that Python was started with, and whose sets nobody has run."""


def remind_to_run(file: Path, names: Mapping[str, Any]) -> None:
    """Notes that a set was made in a file.

    Args:
        file: Where.
        names: The file's globals, which say whether it is the program.
    """
    if names.get("__name__") != "__main__" or _waiting or not file.is_file():
        return
    _waiting.append(file)
    atexit.register(_remind)


def forget_reminder() -> None:
    """Notes that somebody plans a run."""
    _waiting.clear()


def _remind() -> None:
    if _waiting and not hasattr(sys, "last_type"):  # or else it has ended with an exception
        name = _waiting[0].name
        sys.stderr.write(f"{name}: no eval was run\n  Run them: evenhand run {name}\n")
