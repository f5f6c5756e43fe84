"""The folder `.evenhand`, which keeps runs and the cache, and keeps itself out of version control."""

from __future__ import annotations

import contextlib
from pathlib import Path

HOME = ".evenhand"
_IGNORE = "# Made by Evenhand: runs hold prompts and answers.\n*\n"


def make_folder(folder: Path) -> None:
    """Makes a folder, and those above it, for its owner alone. A `.evenhand` among them gets a .gitignore.

    One that was there already gets none: whoever deleted its .gitignore wants its runs committed.

    Raises:
        OSError: It cannot be made.
    """
    new = [
        place for place in (folder, *folder.parents) if place.name == HOME and not place.exists()
    ]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for home in new:
        # Another process may have been faster, and no run depends on it.
        with (
            contextlib.suppress(OSError),
            (home / ".gitignore").open("x", encoding="utf-8") as file,
        ):
            file.write(_IGNORE)
