"""Which front door a path is for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.library import Library

_CONFIG = "promptfooconfig."


def prompts_meant(paths: Sequence[str]) -> tuple[Library, list[str]] | None:
    """The prompts that these paths stand for, all of one repository; None where one of them stands for none.

    A folder with a promptfoo config is promptfoo's, whatever else it holds.
    """
    from evenhand.doors.prompt_directories.library import prompts_at

    library, ids = None, dict[str, None]()
    for text in paths:
        path = Path(text)
        if path.is_dir() and any(path.glob(f"{_CONFIG}*")):
            return None
        prompts = prompts_at(path) if path.exists() else None
        if prompts is None or (library is not None and prompts[0] != library):
            return None
        library = prompts[0]
        ids.update(dict.fromkeys(prompts[1]))
    return (library, list(ids)) if library is not None else None
