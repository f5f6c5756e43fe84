"""Where user files find what they import: in their own folders first, whatever other folders' files imported before.

How this works: two folders may each have a `prompts.py`, and Python knows modules by their plain names alone. So before
a file is imported, its folders go to the front of `sys.path`, and modules that files of other folders imported under a
name that is in these folders, too, are forgotten. Who has imported one keeps it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

_folders: set[Path] = set()
"""Where files were imported from. Only what comes from these is ever set aside."""


def look_first_in(*folders: Path, then: Path | None = None) -> None:
    """Lets imports look into these folders before all others, the first of them first.

    Args:
        then: After them; what was imported from there is its own, and never set aside.
    """
    own = (*folders, then) if then else folders
    for folder in reversed(own):
        if folder in folders:
            _set_aside(folder, own)
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        sys.path.insert(0, str(folder))


def _set_aside(folder: Path, own: tuple[Path, ...]) -> None:
    """Forgets what files of folders that are not our own imported from beside them under a name that `folder` has."""
    _folders.add(folder)
    names = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/*.py")
    }
    for name in names & sys.modules.keys():
        home = _home(sys.modules[name])
        if home in _folders and home not in own:
            for known in [k for k in sys.modules if k == name or k.startswith(f"{name}.")]:
                del sys.modules[known]


def _home(module: ModuleType) -> Path | None:
    """The folder that a module or a package lies in."""
    inside = list(getattr(module, "__path__", ()))
    file = inside[0] if inside else getattr(module, "__file__", None)
    return Path(file).resolve().parent if file else None
